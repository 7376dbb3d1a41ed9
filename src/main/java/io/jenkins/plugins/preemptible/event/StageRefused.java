package io.jenkins.plugins.preemptible.event;

/**
 * Something that was wanted of a stage could not be done. The stage is as it was before.
 *
 * @param atMillis when, in milliseconds since 1970
 * @param phase what was wanted
 * @param reason constant of {@link io.jenkins.plugins.preemptible.engine.criu.FailureReason}, or a word of the agent's
 * @param sentence the same for people
 */
public record StageRefused(StageRef stage, long atMillis, Phase phase, String reason, String sentence) {

    /** What was wanted of the stage. */
    public enum Phase {
        SUSPEND,
        SEAL,
        RESUME
    }
}
