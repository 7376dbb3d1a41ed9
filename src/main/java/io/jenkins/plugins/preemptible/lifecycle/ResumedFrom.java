package io.jenkins.plugins.preemptible.lifecycle;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import java.util.Arrays;

/**
 * From what a stage was resumed, for people.
 *
 * <ol>
 *   <li>The constants have the names of the engine's tiers, and one for an attempt whose answer was lost.
 *   <li>{@link #words} is the end of a sentence: resumed from …
 *   <li>{@link #times} tells what of the resume took how long.
 * </ol>
 */
public enum ResumedFrom {
    FROZEN("the processes that were still frozen in the agent's memory"),
    LOCAL_IMAGE("the image that was kept on the agent"),
    ARCHIVE("the sealed image in the build's archive"),
    ALREADY_RUNNING("an earlier attempt, whose answer was lost");

    private final String words;

    ResumedFrom(String words) {
        this.words = words;
    }

    /** @param tier what the agent says, which may be anything */
    public static ResumedFrom of(@CheckForNull String tier) {
        return Arrays.stream(values())
                .filter(known -> known.name().equals(tier))
                .findFirst()
                .orElse(ARCHIVE);
    }

    public String words() {
        return words;
    }

    String times(AgentStage.Restore restore) {
        switch (this) {
            case FROZEN:
                return "thaw " + restore.restoreMillis() + " ms";
            case ARCHIVE:
                return "unpack " + restore.unpackMillis() + " ms, restore " + restore.restoreMillis() + " ms";
            default:
                return "restore " + restore.restoreMillis() + " ms";
        }
    }
}
