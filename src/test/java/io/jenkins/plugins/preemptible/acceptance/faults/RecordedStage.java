package io.jenkins.plugins.preemptible.acceptance.faults;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What a stage's record on the controller's disk says. */
record RecordedStage(String id, String runId, String state, boolean frozen, int suspensions) {

    /** Empty for a file that is just replaced or removed. */
    static Optional<RecordedStage> read(Path file) {
        try {
            String xml = Files.readString(file);
            return Optional.of(new RecordedStage(
                    value(xml, "id"),
                    value(xml, "runId"),
                    value(xml, "state"),
                    value(xml, "frozen").equals("true"),
                    Integer.parseInt("0" + value(xml, "suspensions"))));
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

    /** For the figures. */
    String shownState() {
        return state.equals("SUSPENDED") ? frozen ? "SUSPENDED, frozen" : "SUSPENDED, sealed" : state;
    }
}
