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
    TIME_SLICE_USED_UP("The stage used up its time slice, and an item of equal priority waits."),
    /** Suspend. */
    AGENT_IS_DRAINED("The agent is being drained: everything preemptible there is suspended."),
    /** Suspend, or reserve. */
    FROZEN_TIME_ENDS(
            "A stage that cannot be dumped has been frozen for almost as long as it may, and gets its executor back."),
    /** Not decided by the policy: a running stage goes back to its checkpoint. */
    PROCESSES_LOST("Its agent was lost, or its host lost the stage's processes: it goes back to its checkpoint."),
    /** Not decided by the policy: a user suspends or resumes a stage. */
    ASKED_BY_HAND("A user asked for it."),
    /** Rerun. */
    CHEAPER_TO_RUN_AGAIN("The stage may be rerun and has just begun: a rerun costs less than a suspension."),
    /** Rerun. */
    CANNOT_BE_DUMPED("The stage cannot be dumped, and may be rerun."),
    /** Resume. */
    EXECUTOR_IDLE("A fitting executor is idle, and no item with a better claim waits for it."),
    /** Resume on another agent. */
    IDLE_ELSEWHERE("No executor of the stage's own agent is idle, and another agent that fits has one."),
    /** Reserve. */
    WAITED_LONG("The stage has waited so long that it now has the best claim to this agent."),
    /** Reserve. */
    FROZEN_GOES_NEXT(
            "The stage cannot be dumped and may be frozen for a limited time only: it gets the next executor that no"
                    + " more urgent, short item needs."),
    /** Keep a suspended stage. */
    BETTER_ITEM_WAITS("An item with a better claim waits for the executor."),
    /** Keep a suspended stage. */
    NO_IDLE_EXECUTOR("No executor that the stage may use is idle."),
    /** Keep a suspended stage. */
    OWN_AGENT_FREE_SOON(
            "Its own agent is expected to have an idle executor before a move to another one would be through."),
    /** Keep a suspended stage. */
    RESTORE_REQUESTED_ALREADY("The stage is already in the queue, to be resumed."),
    /** Keep a suspended stage. */
    SUSPENDED_BY_HAND("The stage was suspended manually."),
    /** Keep. */
    AGENT_NOT_ACCEPTING("No fitting agent is online and accepts builds, or another plugin holds the item back."),
    /** Keep a suspended stage that is to leave its agent. */
    IMAGE_NOT_SEALED("It goes to another agent as soon as its image is sealed."),
    /** Keep a suspended stage that is to go to a certain agent. */
    WISHED_AGENT_CANNOT("The agent that it is to go to cannot take it now; the build's page says why."),
    /** Keep a suspended stage. */
    WISHED_AGENT_TRIED("It is being tried on the agent that it is to go to, or was refused there lately."),
    /** Keep a suspended stage. */
    OWN_AGENT_DRAINED("Its agent is drained, and no other one takes it: it is resumed when the drain is undone."),
    /** Keep. */
    EXECUTOR_FREE_ALREADY("A fitting executor is idle: nothing has to be suspended."),
    /** Keep a waiting item. */
    AGENT_ON_ITS_WAY("A fitting agent is being started: nothing has to be suspended."),
    /** Keep. */
    EXECUTOR_RESERVED("An executor is already reserved for the item."),
    /** Keep: nothing preemptible runs where it fits. */
    NO_FITTING_STAGE("No preemptible stage runs on a fitting agent."),
    /** Keep. */
    NO_LOWER_PRIORITY("All preemptible stages on fitting agents have the same priority or a higher one."),
    /** Keep. */
    TIME_SLICE_NOT_USED_UP("The stages of equal priority have not used up their time slices yet."),
    /** Keep. */
    OWNER_HAD_MORE("Its owner has used more executor time than the owners of the stages of equal priority."),
    /** Keep. */
    EXEMPT_TIME("The stages that could give way have not yet run undisturbed for the shortest time."),
    /** Keep. */
    UNDISTURBED_HOURS("Quiet hours: stages that have run for long are not suspended now."),
    /** Keep. */
    QUIETING_DOWN("Jenkins is about to shut down and starts nothing, so a suspension would free an executor in vain."),
    /** Keep. */
    ENDS_SOON("A stage that could give way is expected to end before a suspension would pay off."),
    /** Keep. */
    MOST_SUSPENSIONS_REACHED("The stages that could give way have been suspended as often as is allowed."),
    /** Keep. */
    TOO_MANY_SUSPENDED("As many stages are suspended as is allowed, on the agent or in total."),
    /** Keep. */
    MEMORY_SHORT(
            "The stages that could give way would stay in memory, and their agents have less free than the memory floor."),
    /** Keep. */
    IMAGE_TOO_LARGE("The stages that could give way use more memory than an image may have."),
    /** Keep. */
    NO_ROOM_FOR_IMAGE(
            "The disk of the controller has no room for an image, and the agent has too little memory to do without."),
    /** Keep. */
    FROZEN_SHARE_REACHED(
            "The stages that could give way cannot be dumped, and stages that are frozen only may hold no more of"
                    + " their agents' memory."),
    /** Keep. */
    FROZEN_LATELY(
            "The stages that could give way cannot be dumped, were frozen recently, and have not run as long since."),
    /** Keep a waiting item. */
    FROZEN_TIME_TOO_SHORT(
            "The stages that could give way cannot be dumped, and the item is expected to need longer than they"
                    + " may stay frozen."),
    /** Keep. */
    NOT_CHECKPOINTABLE("The stages that could give way cannot be suspended."),
    /** Keep. */
    NEVER_PREEMPT("The builds of the stages that could give way are exempt from preemption."),
    /** Keep. */
    SUSPEND_FAILED_LATELY("A suspension of the stage failed recently; the next attempt comes later."),
    /** Keep. */
    OTHER_STEP_RUNS(
            "A step other than sh runs in a stage that could give way: it is suspended when that step has ended."),
    /** Keep. */
    VICTIM_TAKEN("The stages that could give way are already being suspended for others."),
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
