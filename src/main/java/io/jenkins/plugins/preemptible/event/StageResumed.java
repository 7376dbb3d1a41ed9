package io.jenkins.plugins.preemptible.event;

/**
 * A suspended stage runs again.
 *
 * @param atMillis when, in milliseconds since 1970
 * @param tookMillis from the arrival of the executor until then
 * @param suspendedMillis for how long it had no executor
 * @param tier FROZEN, LOCAL_IMAGE, ARCHIVE or ALREADY_RUNNING
 */
public record StageResumed(StageRef stage, long atMillis, long tookMillis, long suspendedMillis, String tier) {}
