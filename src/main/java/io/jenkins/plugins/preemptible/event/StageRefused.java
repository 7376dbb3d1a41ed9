package io.jenkins.plugins.preemptible.event;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import java.util.Arrays;
import java.util.stream.Stream;

/**
 * Something that was wanted of a stage could not be done. The stage is as it was before.
 *
 * @param atMillis when, in milliseconds since 1970
 * @param phase what was wanted
 * @param reason constant of {@link FailureReason}, for a move of {@link MoveObstacle}, or a word of the agent's
 * @param sentence the same for people
 */
public record StageRefused(StageRef stage, long atMillis, Phase phase, String reason, String sentence) {

    private static final String OTHER = "OTHER";

    /** By which it is counted: the reason is the agent's word, and only those that the engine has are counted by name. */
    public String countedReason() {
        Stream<String> obstacles = Arrays.stream(phase == Phase.MOVE ? MoveObstacle.values() : new MoveObstacle[0])
                .map(Enum::name);
        Stream<String> failures = Arrays.stream(FailureReason.values()).map(Enum::name);
        return Stream.concat(obstacles, failures)
                .filter(reason::equals)
                .findFirst()
                .orElse(OTHER);
    }

    /** What was wanted of the stage. */
    public enum Phase {
        SUSPEND,
        SEAL,
        RESUME,
        /** On another agent; it stays suspended. */
        MOVE
    }
}
