package io.jenkins.plugins.preemptible.engine.policy;

import io.jenkins.plugins.preemptible.engine.policy.Snapshot.Agent;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.AgentState;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.RunningStage;
import java.util.Comparator;

/**
 * A running stage as one that may have to give way.
 *
 * <ol>
 *   <li>What protects it from everybody, what it would cost, and whether its slice is used up do not depend on the
 *       claim, and are found out once.
 *   <li>It is taken at most once, by a suspension or, where it allows that and it costs less, by being run again.
 *   <li>One that ends soon may be waited for, by one claim.
 * </ol>
 */
final class Candidate {

    static final Comparator<Candidate> WORST_FIRST = Comparator.comparing(
                    (Candidate candidate) -> candidate.stage.priority(), Comparator.reverseOrder())
            .thenComparingDouble(candidate -> candidate.costPerMillisWon)
            .thenComparing(candidate -> candidate.stage.startedMillis(), Comparator.reverseOrder())
            .thenComparing(candidate -> candidate.stage.id());

    final RunningStage stage;
    final int agent;
    final Cost cost;
    final double costPerMillisWon;
    /** What protects it from every claim; null when nothing does. */
    final Reason protection;
    /** Nothing protects it from a frozen stage whose time is up, for which the shortest undisturbed run does not count. */
    final boolean forUrgent;
    /** Why it would be run again rather than suspended; null when it would be suspended. */
    final Reason rerun;
    /** It cannot be dumped, but may be frozen for a time. */
    final boolean frozenOnly;
    /** Its slice is used up. */
    final boolean hadItsSlice;
    /** It never gives way to its equals. */
    final boolean withoutSlice;

    final long usedMillis;
    boolean taken;
    boolean awaited;

    Candidate(RunningStage stage, int number, Agent agent, Snapshot snapshot) {
        this.stage = stage;
        this.agent = number;
        this.frozenOnly = stage.whyNotPreemptible() != null
                && stage.freezable()
                && snapshot.limits().undumpable() == UndumpableStages.FREEZE_ONLY;
        this.cost = frozenOnly ? Cost.IN_MEMORY : Cost.of(stage, agent);
        this.costPerMillisWon = cost.perMillisWon(stage, snapshot.nowMillis());
        this.usedMillis = snapshot.usedMillis().getOrDefault(stage.owner(), 0L);
        long slice = snapshot.limits().slices().of(agent.labels(), stage.priority(), stage.timeSliceMillis());
        this.withoutSlice = slice == 0;
        this.hadItsSlice = slice > 0 && snapshot.nowMillis() - stage.runningSinceMillis() >= slice;
        this.rerun = rerun(snapshot);
        this.protection =
                agent.state() == AgentState.QUIETING_DOWN ? Reason.QUIETING_DOWN : protection(snapshot, agent);
        this.forUrgent = protection == null
                || protection == Reason.EXEMPT_TIME && snapshot.nowMillis() >= stage.retryAfterMillis();
    }

    private Reason rerun(Snapshot snapshot) {
        if (!stage.rerun()) {
            return null;
        }
        if (stage.whyNotPreemptible() != null) {
            return snapshot.limits().undumpable() == UndumpableStages.RERUN ? Reason.CANNOT_BE_DUMPED : null;
        }
        // Only what was never suspended has just begun; what it has done would be lost.
        boolean cheaper = stage.suspensions() == 0 && snapshot.nowMillis() - stage.startedMillis() < cost.totalMillis();
        return cheaper ? Reason.CHEAPER_TO_RUN_AGAIN : null;
    }

    private Reason protection(Snapshot snapshot, Agent agent) {
        Limits limits = snapshot.limits();
        long now = snapshot.nowMillis();
        if (stage.neverPreempt()) {
            return Reason.NEVER_PREEMPT;
        }
        if (stage.whyNotPreemptible() != null && rerun == null && !frozenOnly) {
            return Reason.NOT_CHECKPOINTABLE;
        }
        if (rerun == null && (frozenOnly ? shortOfMemory(agent, limits) : agent.shortOfMemory(limits))) {
            return Reason.MEMORY_SHORT;
        }
        if (frozenOnly && now - stage.runningSinceMillis() < stage.lastFrozenMillis()) {
            return Reason.FROZEN_LATELY;
        }
        boolean image = rerun == null && !frozenOnly && !agent.memoryOnly();
        if (image && limits.imageBytes() > 0 && stage.residentBytes() > limits.imageBytes()) {
            return Reason.IMAGE_TOO_LARGE;
        }
        if (rerun == null && !snapshot.roomForImages() && shortOfMemory(agent, limits)) {
            return Reason.NO_ROOM_FOR_IMAGE;
        }
        if (limits.mostSuspensions() > 0 && stage.suspensions() >= limits.mostSuspensions()) {
            return Reason.MOST_SUSPENSIONS_REACHED;
        }
        if (limits.undisturbed() != null && limits.undisturbed().protects(stage.startedMillis(), now)) {
            return Reason.UNDISTURBED_HOURS;
        }
        if (now - stage.runningSinceMillis() < limits.exemptMillis()) {
            return Reason.EXEMPT_TIME;
        }
        if (now >= stage.retryAfterMillis()) {
            return null;
        }
        return stage.otherStep() ? Reason.OTHER_STEP_RUNS : Reason.SUSPEND_FAILED_LATELY;
    }

    // There the image comes before the executor. What is unknown is found out when it is tried.
    private static boolean shortOfMemory(Agent agent, Limits limits) {
        return agent.freeBytes() >= 0 && agent.freeBytes() < limits.memoryFloorBytes();
    }

    /** Whether it is expected to end within that time; an expectation that time has proven wrong is none. */
    boolean endsWithin(long millis, long now) {
        return stage.expectedEndMillis() > 0 && Math.abs(stage.expectedEndMillis() - now) <= millis;
    }
}
