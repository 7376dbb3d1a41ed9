package io.jenkins.plugins.preemptible.engine.policy;

/**
 * What becomes of running stages that cannot be dumped, when somebody better waits.
 *
 * <ol>
 *   <li>The preflight finds them, in their first seconds and later.
 *   <li>Most such obstacles come and go with a process of the stage.
 *   <li>Only a stage that says so itself is ever ended and run again.
 * </ol>
 */
public enum UndumpableStages {
    /** The other one waits until the obstacle is gone or the stage ended. */
    WAIT,
    /** A stage that allows it ({@code rerun: true}) is ended and run again from its beginning. */
    RERUN,
    /** A stage that was found to be such a one is left alone for good, also once the obstacle is gone. */
    NEVER_PREEMPT,
    /** A stage that can be frozen is kept in its agent's memory, for a bounded time: {@link FreezeOnly}. */
    FREEZE_ONLY
}
