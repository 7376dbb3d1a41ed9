package io.jenkins.plugins.preemptible.acceptance.faults;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a stage's record on the controller's disk says.
 *
 * @param node the agent on which it runs, or was suspended
 * @param workspace by the path that its processes know
 * @param moves how often it was resumed on another agent
 * @param byHand whether a user wants it suspended
 * @param withWorkspace whether its workspace is sealed beside its image
 * @param checkpointed whether a checkpoint of it was sealed
 */
record RecordedStage(
        String id,
        String runId,
        String state,
        boolean frozen,
        int suspensions,
        String node,
        String workspace,
        int moves,
        boolean byHand,
        boolean withWorkspace,
        boolean checkpointed) {

    /** Empty for a file that is just replaced or removed. */
    static Optional<RecordedStage> read(Path file) {
        try {
            String xml = Files.readString(file);
            return Optional.of(new RecordedStage(
                    value(xml, "id"),
                    value(xml, "runId"),
                    value(xml, "state"),
                    value(xml, "frozen").equals("true"),
                    Integer.parseInt("0" + value(xml, "suspensions")),
                    value(xml, "node"),
                    value(xml, "workspace"),
                    Integer.parseInt("0" + value(xml, "moves")),
                    value(xml, "byHand").equals("true"),
                    xml.contains("<luggage>"),
                    xml.contains("<made>")));
        } catch (IOException gone) {
            return Optional.empty();
        }
    }

    private static String value(String xml, String name) {
        Matcher value = Pattern.compile("<" + name + ">([^<]*)</" + name + ">").matcher(xml);
        return value.find() ? value.group(1) : "";
    }

    boolean at(Moment moment) {
        return switch (moment) {
            case RUNNING -> state.equals("RUNNING");
            case SUSPENDING -> state.equals("SUSPENDING");
            case FROZEN -> state.equals("SUSPENDED") && frozen;
            case SEALED -> state.equals("SUSPENDED") && !frozen;
            case RESUMING -> state.equals("RESUMING");
            case RESUMED -> state.equals("RUNNING") && suspensions > 0;
            case ENDED -> state.equals("ENDED") || state.equals("FAILED");
        };
    }

    boolean suspended() {
        return state.equals("SUSPENDED") || state.equals("RESUMING");
    }

    /** Whether the loss of its agent must not be its end. */
    boolean outlivesAgent() {
        return checkpointed || suspended() && !frozen && withWorkspace;
    }

    /** For the figures. */
    String shownState() {
        return state.equals("SUSPENDED") ? frozen ? "SUSPENDED, frozen" : "SUSPENDED, sealed" : state;
    }
}
