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
    /** End a slice. */
    TIME_SLICE_USED_UP("The stage used up its time slice, and somebody of equal priority waits."),
    /** Suspend. */
    AGENT_IS_DRAINED("The agent is being drained: everything preemptible there is suspended."),
    /** Not decided by the policy: somebody suspends, or lets go on, a stage himself. */
    ASKED_BY_HAND("Somebody asked for it by hand."),
    /** Rerun. */
    CHEAPER_TO_RUN_AGAIN("The stage allows it and has just begun: running it again costs less than suspending it."),
    /** Rerun. */
    CANNOT_BE_DUMPED("The stage cannot be dumped, and allows to be run again."),
    /** Resume. */
    EXECUTOR_IDLE("A fitting executor is idle, and no better item waits for it."),
    /** Reserve. */
    WAITED_LONG("The stage has waited so long that its claim is the best for this agent by now."),
    /** Keep a suspended stage. */
    BETTER_ITEM_WAITS("Somebody with a better claim waits for the executor."),
    /** Keep a suspended stage. */
    NO_IDLE_EXECUTOR("No executor that the stage may use is idle."),
    /** Keep a suspended stage. */
    RESTORE_REQUESTED_ALREADY("The stage is in the queue already, to be resumed."),
    /** Keep a suspended stage. */
    SUSPENDED_BY_HAND("Somebody suspended the stage by hand; it goes on when somebody says so."),
    /** Keep. */
    AGENT_NOT_ACCEPTING("No agent that fits is online and takes work, or another plugin holds this back."),
    /** Keep. */
    EXECUTOR_FREE_ALREADY("An idle executor fits: nothing has to be suspended."),
    /** Keep a waiting item. */
    AGENT_ON_ITS_WAY("An agent that fits is just being started: nothing has to be suspended."),
    /** Keep. */
    EXECUTOR_RESERVED("An executor is kept for it already."),
    /** Keep: nothing preemptible runs where it fits. */
    NO_FITTING_STAGE("No preemptible stage runs on an agent that fits."),
    /** Keep. */
    NO_LOWER_PRIORITY("Every preemptible stage that runs where it fits has the same priority or a higher one."),
    /** Keep. */
    TIME_SLICE_NOT_USED_UP("The stages of equal priority have not used up their time slices yet."),
    /** Keep. */
    OWNER_HAD_MORE("Its owner has had more executor time than the owners of the stages of equal priority."),
    /** Keep. */
    EXEMPT_TIME("The stages that could be suspended have not run undisturbed for the shortest time yet."),
    /** Keep. */
    UNDISTURBED_HOURS("At this hour long stages are not suspended."),
    /** Keep. */
    QUIETING_DOWN("Jenkins prepares to shut down and starts nothing: whoever gave way would wait as well."),
    /** Keep. */
    ENDS_SOON("A stage that could be suspended is expected to end sooner than a suspension would pay."),
    /** Keep. */
    MOST_SUSPENSIONS_REACHED("The stages that could be suspended were suspended as often as is allowed."),
    /** Keep. */
    TOO_MANY_SUSPENDED("As many stages are suspended as is allowed, on the agent or in all."),
    /** Keep. */
    MEMORY_SHORT(
            "The stages that could be suspended would stay in their agents' memory, of which less than the floor is free."),
    /** Keep. */
    IMAGE_TOO_LARGE("The stages that could be suspended have more memory than an image may have."),
    /** Keep. */
    NO_ROOM_FOR_IMAGE(
            "The controller's disk is too full for an image, and the agent has too little memory to do without."),
    /** Keep. */
    NOT_CHECKPOINTABLE("The stages that could be suspended cannot be checkpointed."),
    /** Keep. */
    NEVER_PREEMPT("Somebody said that the builds of the stages that could be suspended are never preempted."),
    /** Keep. */
    SUSPEND_FAILED_LATELY("A suspension of the stage failed lately; it is not tried again yet."),
    /** Keep. */
    VICTIM_TAKEN("The stages that could be suspended are suspended for others already."),
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
