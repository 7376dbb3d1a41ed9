package io.jenkins.plugins.preemptible.lifecycle.stage;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** What changes of a stage's sealed workspace, and of the hosts that it has left; as {@link StageChanges}. */
public final class LuggageChanges {

    private LuggageChanges() {}

    /** Of a stage with a sealed image: whether its agent has answered that no process of it is left there. */
    public static Consumer<StageRecord> treeEnded(boolean ended) {
        return stage -> stage.luggage = stage.luggage == null ? null : stage.luggage.withTreeEnded(ended);
    }

    /**
     * Of a stage with a sealed image, of which its agent has answered that no process is left there: its workspace is stored, too.
     * Without effect where it was resumed meanwhile.
     *
     * @param suspension which one the image is of
     */
    public static Consumer<StageRecord> storedLate(int suspension, SealedLuggage luggage) {
        return stage -> {
            if (isMissed(stage, suspension)) {
                stage.luggage = luggage.withTreeEnded(true);
                stage.luggageMissed = false;
            }
        };
    }

    /** Of a suspended stage with a sealed image: whether its workspace is still to be stored. */
    public static Consumer<StageRecord> missed(boolean missed) {
        return stage -> stage.luggageMissed = missed;
    }

    /**
     * Whether the stage is suspended with a sealed image of that suspension, was not asked to be resumed since, and its
     * workspace is still to be stored.
     */
    public static boolean isMissed(@CheckForNull StageRecord stage, int suspension) {
        return stage != null
                && stage.state == StageState.SUSPENDED
                && stage.suspensions == suspension
                && !stage.frozen
                && stage.luggage == null
                && stage.imageKey != null
                && stage.luggageMissed;
    }

    /** Nothing of it is left on the host with that token. */
    public static Consumer<StageRecord> cleanedOn(String token) {
        return stage -> stage.leftHosts = stage.leftHosts().stream()
                .filter(left -> !left.equals(token))
                .collect(Collectors.toCollection(ArrayList::new));
    }

    /**
     * Notes what may be left on the host that it was sealed on, unless that is the one it runs on now: whatever is noted is
     * ended when its host connects.
     *
     * @param token of the host that it runs on now; empty when that is not known
     * @param own whether that host has connected as the stage's own agent
     */
    static void leaves(StageRecord stage, String token, boolean own) {
        HostTraits sealed = stage.luggage == null ? null : stage.luggage.host();
        boolean unknown = sealed == null || sealed.token().isEmpty() || own && token.isEmpty();
        Set<String> left = new LinkedHashSet<>(stage.leftHosts());
        if (!unknown) {
            left.add(sealed.token());
        }
        left.remove(token);
        stage.leftHosts = new ArrayList<>(left);
    }

    /** Notes what may be left on the host that was asked to restore it and has not answered. */
    static void leavesAsked(StageRecord stage) {
        if (stage.restoringOn != null && !stage.restoringHost().isEmpty()) {
            Set<String> left = new LinkedHashSet<>(stage.leftHosts());
            left.add(stage.restoringHost());
            stage.leftHosts = new ArrayList<>(left);
        }
    }
}
