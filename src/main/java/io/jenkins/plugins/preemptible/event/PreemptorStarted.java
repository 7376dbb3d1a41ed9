package io.jenkins.plugins.preemptible.event;

/**
 * An item for which a stage was suspended has its executor.
 *
 * @param victim the suspended stage
 * @param atMillis when, in milliseconds since 1970
 * @param waitedMillis from the decision until then
 */
public record PreemptorStarted(StageRef victim, long atMillis, long waitedMillis) {}
