package io.jenkins.plugins.preemptible.engine.policy;

/**
 * One thing that the policy wants done, or explains.
 *
 * <ol>
 *   <li>{@link Suspend} and {@link Resume} are to be carried out, each on its own.
 *   <li>{@link Keep} says of one that waits why nothing happens for it.
 *   <li>Whoever carries them out looks again first: the snapshot may be old by then.
 * </ol>
 */
public sealed interface Action {

    Reason reason();

    /** Suspend a running stage, so that its executor on that agent goes to that item. */
    record Suspend(String stageId, String forItem, String agent, Reason reason) implements Action {}

    /** Let a suspended stage go on, on that agent. */
    record Resume(String stageId, String agent, Reason reason) implements Action {}

    /** Nothing happens for this waiting item or suspended stage, and why. */
    record Keep(String itemOrStageId, Reason reason) implements Action {}
}
