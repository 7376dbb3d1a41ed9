package io.jenkins.plugins.preemptible.event;

/**
 * A stage is over, well or not.
 *
 * @param atMillis when, in milliseconds since 1970
 * @param whileSuspended it ended without an executor: it was aborted, given up or lost
 * @param imageKept it could not be restored, and its sealed image stays among the artifacts
 */
public record StageEnded(StageRef stage, long atMillis, boolean whileSuspended, boolean imageKept) {

    /** Of one whose image nobody needs any more. */
    public StageEnded(StageRef stage, long atMillis, boolean whileSuspended) {
        this(stage, atMillis, whileSuspended, false);
    }
}
