package io.jenkins.plugins.preemptible.event;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import java.util.Arrays;

/**
 * Something that was wanted of a stage could not be done. The stage is as it was before.
 *
 * @param atMillis when, in milliseconds since 1970
 * @param phase what was wanted
 * @param reason constant of {@link FailureReason}, or a word of the agent's
 * @param sentence the same for people
 */
public record StageRefused(StageRef stage, long atMillis, Phase phase, String reason, String sentence) {

    private static final String OTHER = "OTHER";

    /** By which it is counted: the reason is the agent's word, and only those that the engine has are counted by name. */
    public String countedReason() {
        return Arrays.stream(FailureReason.values())
                .map(Enum::name)
                .filter(reason::equals)
                .findFirst()
                .orElse(OTHER);
    }

    /** What was wanted of the stage. */
    public enum Phase {
        SUSPEND,
        SEAL,
        RESUME
    }
}
