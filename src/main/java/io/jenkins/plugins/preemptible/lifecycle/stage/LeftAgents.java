package io.jenkins.plugins.preemptible.lifecycle.stage;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The agents that may hold something of a stage which is elsewhere: its image, its processes, its temporary folders.
 *
 * <p>Noted before anything of the stage is brought there, dropped when it is clean. Saved with the stage's record, as plain
 * lists and maps. Changes as in {@link StageChanges}.
 */
public final class LeftAgents {

    private LeftAgents() {}

    /**
     * Such agents, without the stage's own and without one that was asked to restore it.
     *
     * @return absolute paths of the temporary folders, by the agents' names
     */
    public static Map<String, List<String>> of(StageRecord stage) {
        Map<String, List<String>> left = new LinkedHashMap<>();
        if (stage.left != null) {
            left.putAll(stage.left);
            left.remove(stage.node);
            left.remove(stage.restoringOn);
        }
        return left;
    }

    /** The temporary folders that it has on that agent, which may have been asked to restore it; absolute paths. */
    public static List<String> temporary(StageRecord stage, String agent) {
        return stage.left == null ? List.of() : List.copyOf(stage.left.getOrDefault(agent, List.of()));
    }

    /** Something of it is on that agent, or is about to be. */
    public static Consumer<StageRecord> holds(String agent, List<String> temporary) {
        return stage -> {
            Map<String, List<String>> left = copy(stage);
            left.put(agent, new ArrayList<>(temporary));
            stage.left = left;
        };
    }

    /** An image of it is on that agent, or is about to be; what is known of that agent besides stays. */
    public static Consumer<StageRecord> holdsImage(String agent) {
        return stage -> {
            Map<String, List<String>> left = copy(stage);
            left.putIfAbsent(agent, new ArrayList<>());
            stage.left = left;
        };
    }

    /** After {@link #holdsImage}: it has not come there. What else is known of that agent stays. */
    public static Consumer<StageRecord> holdsNoImage(String agent) {
        return stage -> {
            Map<String, List<String>> left = copy(stage);
            left.remove(agent, List.of());
            stage.left = left.isEmpty() ? null : left;
        };
    }

    /** Nothing of it is left there. */
    public static Consumer<StageRecord> cleaned(String agent) {
        return stage -> {
            Map<String, List<String>> left = copy(stage);
            left.remove(agent);
            stage.left = left.isEmpty() ? null : left;
        };
    }

    private static Map<String, List<String>> copy(StageRecord stage) {
        return stage.left == null ? new LinkedHashMap<>() : new LinkedHashMap<>(stage.left);
    }
}
