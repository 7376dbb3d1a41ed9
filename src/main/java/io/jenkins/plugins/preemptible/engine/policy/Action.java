package io.jenkins.plugins.preemptible.engine.policy;

/**
 * One thing that the policy wants done, or explains.
 *
 * <ol>
 *   <li>{@link Suspend}, {@link EndSlice} and {@link Rerun} free an executor for somebody; {@link Resume} gives one to a
 *       suspended stage; {@link Reserve} keeps the next one for it. Each is carried out on its own.
 *   <li>{@link Wait} says of one that waits why nothing happens for it.
 *   <li>Whoever carries them out looks again first: the snapshot may be old by then.
 * </ol>
 */
public sealed interface Action {

    Reason reason();

    /** The waiting item or suspended stage that it is about or for; null for {@link Suspend} of a drained agent. */
    String claimant();

    /** An executor on that agent is taken from a running stage and kept for the claimant. */
    sealed interface Freeing extends Action {
        String stageId();

        String forItem();

        String agent();

        /** How long the stage stays frozen in its agent's memory before it is dumped; 0 = dumped at once, or not at all. */
        default long sealAfterMillis() {
            return 0;
        }

        /** Whether the stage cannot be dumped and is only frozen. */
        default boolean frozenOnly() {
            return false;
        }

        @Override
        default String claimant() {
            return forItem();
        }
    }

    /**
     * Suspend a running stage, so that its executor goes to that item.
     *
     * @param forItem null when the agent is drained: the executor is for nobody
     * @param sealAfterMillis how long it stays frozen in its agent's memory before it is dumped: what the preemptor is
     *     expected to need, where memory and limits allow; 0 = dumped at once
     * @param frozenOnly it cannot be dumped: it is frozen, for a bounded time
     */
    record Suspend(
            String stageId, String forItem, String agent, long sealAfterMillis, Reason reason, boolean frozenOnly)
            implements Freeing {

        /** One that can be dumped. */
        public Suspend(String stageId, String forItem, String agent, long sealAfterMillis, Reason reason) {
            this(stageId, forItem, agent, sealAfterMillis, reason, false);
        }

        /** Dumped at once. */
        public Suspend(String stageId, String forItem, String agent, Reason reason) {
            this(stageId, forItem, agent, 0, reason);
        }
    }

    /** The same, for one of equal priority, at the end of the stage's time slice. */
    record EndSlice(String stageId, String forItem, String agent, long sealAfterMillis, Reason reason)
            implements Freeing {

        /** Dumped at once. */
        public EndSlice(String stageId, String forItem, String agent, Reason reason) {
            this(stageId, forItem, agent, 0, reason);
        }
    }

    /** End a running stage that allows it, and run it again from its beginning later. */
    record Rerun(String stageId, String forItem, String agent, Reason reason) implements Freeing {}

    /** Resume a suspended stage on that agent. */
    record Resume(String stageId, String agent, Reason reason) implements Action {
        @Override
        public String claimant() {
            return stageId;
        }
    }

    /** Keep the next executor of that agent that becomes idle for a suspended stage. */
    record Reserve(String stageId, String agent, Reason reason) implements Action {
        @Override
        public String claimant() {
            return stageId;
        }
    }

    /** Nothing happens for this waiting item or suspended stage, and why. */
    record Wait(String itemOrStageId, Reason reason) implements Action {
        @Override
        public String claimant() {
            return itemOrStageId;
        }
    }
}
