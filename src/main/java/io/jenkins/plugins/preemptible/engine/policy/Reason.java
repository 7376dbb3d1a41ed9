package io.jenkins.plugins.preemptible.engine.policy;

/**
 * Why the policy decided as it did, each with one sentence for people.
 *
 * <ol>
 *   <li>Every {@link Action} carries one.
 *   <li>The same constants go to the build log, the queue item and the REST data.
 *   <li>A sentence says what holds, not who: the action names stage, item and agent.
 * </ol>
 */
public enum Reason {
    /** Suspend. */
    HIGHER_PRIORITY_WAITS("An item of higher priority waits, and no fitting executor is idle."),
    /** Suspend. */
    TIME_SLICE_USED_UP("The stage used up its time slice, and an item of equal priority waits."),
    /** Resume. */
    EXECUTOR_IDLE("A fitting executor is idle, and no better item waits for it."),
    /** Keep a suspended stage. */
    BETTER_ITEM_WAITS("An item with a better claim waits for the executor."),
    /** Keep a suspended stage. */
    NO_IDLE_EXECUTOR("No executor that the stage may use is idle."),
    /** Keep a suspended stage. */
    RESTORE_REQUESTED_ALREADY("The stage is in the queue already, to be resumed."),
    /** Keep. */
    AGENT_NOT_ACCEPTING("No fitting agent is online and accepts builds."),
    /** Keep a waiting item. */
    EXECUTOR_FREE_ALREADY("An idle executor fits: nothing has to be suspended."),
    /** Keep. */
    EXECUTOR_RESERVED("An executor was freed for the item already, and is kept for it."),
    /** Keep a waiting item: nothing preemptible runs where it fits. */
    NO_FITTING_STAGE("No preemptible stage runs on an agent that fits."),
    /** Keep a waiting item. */
    NO_LOWER_PRIORITY("Every preemptible stage that runs where the item fits has the same priority or a higher one."),
    /** Keep a waiting item. */
    TIME_SLICE_NOT_USED_UP("The stages of equal priority have not used up their time slices yet."),
    /** Keep a waiting item. */
    EXEMPT_TIME("The stages that could be suspended have not run undisturbed for the shortest time yet."),
    /** Keep a waiting item. */
    MOST_SUSPENSIONS_REACHED("The stages that could be suspended were suspended as often as is allowed."),
    /** Keep a waiting item. */
    NOT_CHECKPOINTABLE("The stages that could be suspended cannot be checkpointed."),
    /** Keep a waiting item. */
    SUSPEND_FAILED_LATELY("A suspension of the stage failed lately; it is not tried again yet."),
    /** Keep a waiting item. */
    VICTIM_TAKEN("The stages that could be suspended are suspended for other items already."),
    /** Keep. */
    SWITCHED_OFF("Preemption is switched off in the global configuration.");

    private final String sentence;

    Reason(String sentence) {
        this.sentence = sentence;
    }

    /** One sentence for people, with its full stop. */
    public String sentence() {
        return sentence;
    }
}
