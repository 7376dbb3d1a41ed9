package io.jenkins.plugins.preemptible.engine.policy;

import io.jenkins.plugins.preemptible.engine.policy.Snapshot.Agent;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.RunningStage;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * The running stages that may have to give way, each at most once.
 *
 * <ol>
 *   <li>Of worse priority: the worst first, then what costs least for the executor time that it wins, then the one that
 *       started last.
 *   <li>Of equal priority: only those whose slice is used up, first those of the owner that had most executor time.
 *       They are suspended, never run again: two equals would throw each other's work away for ever.
 *   <li>What cannot be dumped comes last, of worse priority only, and for nobody that is expected to outlast it.
 *   <li>When none is left, the most hopeful of the obstacles is the answer: first those that time removes.
 * </ol>
 *
 * Each list is walked once per {@link Fit} and priority: what was passed over is not looked at again.
 */
final class Victims {

    /** A preemptor that is expected to need no longer than this lets its victim stay frozen in memory. */
    static final long LONGEST_WITHOUT_IMAGE_MILLIS = 120_000;

    private static final Comparator<Candidate> MOST_SERVED_FIRST = Comparator.comparing(
                    (Candidate candidate) -> candidate.usedMillis, Comparator.reverseOrder())
            .thenComparing(candidate -> candidate.stage.runningSinceMillis())
            .thenComparing(candidate -> candidate.stage.id());

    /** Candidates in an order, and how far they are used up. */
    private static final class Walk {
        final List<Candidate> order;
        int next;

        Walk(List<Candidate> order) {
            this.order = order;
        }

        /** The first that still can be had; what cannot is passed over for good. */
        Candidate first(Predicate<Candidate> available) {
            while (next < order.size() && !available.test(order.get(next))) {
                next++;
            }
            return next < order.size() ? order.get(next) : null;
        }
    }

    private record FitAndPriority(Fit fit, int priority) {}

    /** @param inTime it should end before a stage that is frozen only needs its executor back */
    private record Asked(Fit fit, int priority, boolean inTime) {}

    private final Snapshot snapshot;
    private final List<Agent> agents;
    private final List<List<Candidate>> byAgent = new ArrayList<>();
    private final int[] suspendedOn;
    /** How many bytes more may be frozen on an agent of stages that cannot be dumped. */
    private final long[] frozenRoom;

    private int suspended;
    private final Map<Fit, Walk> worse = new HashMap<>();
    private final Map<Fit, Walk> dumpedForUrgent = new HashMap<>();
    private final Map<Fit, Walk> frozenForUrgent = new HashMap<>();
    private final Map<Fit, Walk> frozenOnly = new HashMap<>();
    private final Map<Fit, Walk> ending = new HashMap<>();
    private final Map<FitAndPriority, Walk> equals = new HashMap<>();
    private final Map<Asked, Reason> obstacles = new HashMap<>();

    Victims(Snapshot snapshot, Fit.Table fits) {
        this.snapshot = snapshot;
        this.agents = fits.agents;
        this.suspendedOn = agents.stream().mapToInt(Agent::suspended).toArray();
        this.frozenRoom = agents.stream()
                .mapToLong(
                        agent -> snapshot.limits().freezeOnly().roomBytes(agent.totalBytes(), agent.frozenOnlyBytes()))
                .toArray();
        this.suspended = snapshot.agents().stream().mapToInt(Agent::suspended).sum();
        agents.forEach(agent -> byAgent.add(new ArrayList<>()));
        for (RunningStage stage : snapshot.running()) {
            int agent = fits.number(stage.agent());
            // On a drained agent they are suspended for nobody.
            if (agent >= 0 && !fits.isDrained(agent)) {
                byAgent.get(agent).add(new Candidate(stage, agent, agents.get(agent), snapshot));
            }
        }
    }

    /** So many more are suspended by this decision, whatever the limits say, on agents that take nothing. */
    void alsoSuspended(int count) {
        suspended += count;
    }

    /** Frees an executor for the claim, or says why none can be freed. */
    Action takeFor(Claim claim) {
        if (claim.urgent()) {
            return takeForUrgent(claim);
        }
        Candidate victim = worse.computeIfAbsent(claim.fit(), fit -> worstFirst(fit, Victims::isFree, false))
                .first(this::available);
        boolean ofEqual = false;
        boolean hadMore = false;
        if (victim == null || victim.stage.priority() <= claim.priority()) {
            victim = equals.computeIfAbsent(new FitAndPriority(claim.fit(), claim.priority()), this::mostServedFirst)
                    .first(this::available);
            // An owner's own stages take turns whatever it had.
            hadMore = victim != null && claim.usedMillis() > victim.usedMillis;
            ofEqual = victim != null && !hadMore;
            victim = ofEqual ? victim : frozenOnlyFor(claim);
        }
        if (victim == null) {
            return new Action.Wait(claim.id(), hadMore ? Reason.OWNER_HAD_MORE : obstacle(claim));
        }
        return endsSoon(claim, victim.cost.totalMillis())
                ? new Action.Wait(claim.id(), Reason.ENDS_SOON)
                : take(claim, victim, ofEqual ? Reason.TIME_SLICE_USED_UP : Reason.HIGHER_PRIORITY_WAITS);
    }

    private Candidate frozenOnlyFor(Claim claim) {
        if (!inTime(claim)) {
            return null;
        }
        Candidate last = frozenOnly
                .computeIfAbsent(claim.fit(), fit -> worstFirst(fit, Victims::isFree, true))
                .first(this::available);
        return last == null || last.stage.priority() <= claim.priority() ? null : last;
    }

    private boolean inTime(Claim claim) {
        return snapshot.limits().freezeOnly().hasTimeFor(claim.expectedMillis());
    }

    /**
     * Whatever may give way there does, of any priority, and however short it has run: what it gave way to has been served
     * meanwhile. Room for suspended ones is not asked for, since the claimant makes as much.
     */
    private Action takeForUrgent(Claim claim) {
        Candidate victim = dumpedForUrgent
                .computeIfAbsent(claim.fit(), fit -> worstFirst(fit, candidate -> candidate.forUrgent, false))
                .first(candidate -> isLeft(candidate) && candidate.rerun == null);
        if (victim == null) {
            victim = frozenForUrgent
                    .computeIfAbsent(claim.fit(), fit -> worstFirst(fit, candidate -> candidate.forUrgent, true))
                    .first(candidate -> isLeft(candidate) && !overShare(candidate));
        }
        return victim == null
                ? new Action.Wait(claim.id(), obstacle(claim))
                : take(claim, victim, Reason.FROZEN_TIME_ENDS);
    }

    private boolean isLeft(Candidate candidate) {
        return !candidate.taken && !candidate.awaited;
    }

    private Action take(Claim claim, Candidate victim, Reason reason) {
        victim.taken = true;
        String stage = victim.stage.id();
        String agent = victim.stage.agent();
        if (victim.rerun != null) {
            return new Action.Rerun(stage, claim.id(), agent, victim.rerun);
        }
        suspended++;
        suspendedOn[victim.agent]++;
        if (victim.frozenOnly) {
            frozenRoom[victim.agent] -= victim.stage.residentBytes();
            return new Action.Suspend(stage, claim.id(), agent, 0, reason, true);
        }
        long sealAfter = sealAfterMillis(claim, agents.get(victim.agent));
        return reason == Reason.TIME_SLICE_USED_UP
                ? new Action.EndSlice(stage, claim.id(), agent, sealAfter, reason)
                : new Action.Suspend(stage, claim.id(), agent, sealAfter, reason);
    }

    // Twice what it is expected to need: so most are through before the dump begins.
    private long sealAfterMillis(Claim claim, Agent agent) {
        boolean brief = claim.expectedMillis() > 0 && claim.expectedMillis() <= LONGEST_WITHOUT_IMAGE_MILLIS;
        boolean room =
                agent.freeBytes() >= 0 && agent.freeBytes() >= snapshot.limits().memoryFloorBytes();
        return brief && room ? 2 * claim.expectedMillis() : 0;
    }

    private boolean endsSoon(Claim claim, long millis) {
        Walk walk = ending.computeIfAbsent(claim.fit(), this::endingFirst);
        Candidate first = walk.first(candidate -> !candidate.taken && !candidate.awaited);
        if (first == null || !first.endsWithin(millis, snapshot.nowMillis())) {
            return false;
        }
        first.awaited = true;
        return true;
    }

    private boolean available(Candidate candidate) {
        return isLeft(candidate) && (candidate.rerun != null || roomFor(candidate)) && !overShare(candidate);
    }

    // What nobody has measured might be anything.
    private boolean overShare(Candidate candidate) {
        long bytes = candidate.stage.residentBytes();
        return candidate.frozenOnly && (bytes < 0 || bytes > frozenRoom[candidate.agent]);
    }

    private boolean roomFor(Candidate candidate) {
        Limits limits = snapshot.limits();
        boolean onAgent =
                limits.mostSuspendedPerAgent() == 0 || suspendedOn[candidate.agent] < limits.mostSuspendedPerAgent();
        return onAgent && (limits.mostSuspended() == 0 || suspended < limits.mostSuspended());
    }

    private List<Candidate> on(Fit fit, Predicate<Candidate> which, Comparator<Candidate> order) {
        List<Candidate> candidates = new ArrayList<>();
        for (int agent : fit.agents) {
            for (Candidate candidate : byAgent.get(agent)) {
                if (which.test(candidate)) {
                    candidates.add(candidate);
                }
            }
        }
        candidates.sort(order);
        return candidates;
    }

    private static boolean isFree(Candidate candidate) {
        return candidate.protection == null;
    }

    private Walk worstFirst(Fit fit, Predicate<Candidate> which, boolean frozenOnly) {
        return new Walk(on(
                fit, candidate -> which.test(candidate) && candidate.frozenOnly == frozenOnly, Candidate.WORST_FIRST));
    }

    private Walk mostServedFirst(FitAndPriority key) {
        return new Walk(on(
                key.fit,
                candidate -> candidate.protection == null
                        && candidate.hadItsSlice
                        && !candidate.frozenOnly
                        && candidate.rerun == null
                        && candidate.stage.priority() == key.priority,
                MOST_SERVED_FIRST));
    }

    private Walk endingFirst(Fit fit) {
        long now = snapshot.nowMillis();
        return new Walk(on(
                fit,
                candidate -> candidate.stage.expectedEndMillis() > 0,
                Comparator.comparing((Candidate candidate) -> Math.abs(candidate.stage.expectedEndMillis() - now))
                        .thenComparing(candidate -> candidate.stage.id())));
    }

    private Reason obstacle(Claim claim) {
        return obstacles.computeIfAbsent(new Asked(claim.fit(), claim.priority(), inTime(claim)), key -> {
            Reason best = Reason.NO_FITTING_STAGE;
            for (int agent : key.fit.agents) {
                for (Candidate candidate : byAgent.get(agent)) {
                    best = ObstacleOrder.moreHopeful(best, obstacleBetween(key, candidate));
                }
            }
            return best;
        });
    }

    private Reason obstacleBetween(Asked asked, Candidate candidate) {
        int priority = asked.priority;
        int other = candidate.stage.priority();
        if (other < priority || (other == priority && candidate.withoutSlice)) {
            return Reason.NO_LOWER_PRIORITY;
        }
        if (candidate.protection != null
                && candidate.protection != Reason.EXEMPT_TIME
                && candidate.protection != Reason.OTHER_STEP_RUNS
                && candidate.protection != Reason.SUSPEND_FAILED_LATELY) {
            return candidate.protection;
        }
        if (other == priority && (candidate.frozenOnly || candidate.rerun == Reason.CANNOT_BE_DUMPED)) {
            return Reason.NOT_CHECKPOINTABLE;
        }
        // One that would rather be run again than suspended is not yet worth the end of its slice.
        if (other == priority && (!candidate.hadItsSlice || candidate.rerun != null)) {
            return Reason.TIME_SLICE_NOT_USED_UP;
        }
        if (candidate.protection != null) {
            return candidate.protection;
        }
        if (candidate.frozenOnly && !asked.inTime) {
            return Reason.FROZEN_TIME_TOO_SHORT;
        }
        if (!candidate.taken && overShare(candidate)) {
            return Reason.FROZEN_SHARE_REACHED;
        }
        return candidate.taken || candidate.awaited ? Reason.VICTIM_TAKEN : Reason.TOO_MANY_SUSPENDED;
    }
}
