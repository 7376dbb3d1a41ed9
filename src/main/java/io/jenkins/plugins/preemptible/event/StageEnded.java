package io.jenkins.plugins.preemptible.event;

/**
 * A stage is over, well or not.
 *
 * @param atMillis when, in milliseconds since 1970
 * @param whileSuspended it ended without an executor: it was aborted, given up or lost
 */
public record StageEnded(StageRef stage, long atMillis, boolean whileSuspended) {}
