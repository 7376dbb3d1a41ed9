package io.jenkins.plugins.preemptible.engine.policy;

import io.jenkins.plugins.preemptible.engine.policy.Snapshot.Limits;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.RunningStage;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The running stages that may be suspended, each at most once.
 *
 * <ol>
 *   <li>They are looked at worst priority first, then the one that started last.
 *   <li>A stage is taken when it must give way to the claim and nothing protects it.
 *   <li>When none is, the most hopeful of the obstacles is the answer: first those that time removes.
 * </ol>
 */
final class Victims {

    private static final Comparator<RunningStage> WORST_FIRST = Comparator.comparingInt(RunningStage::priority)
            .thenComparingLong(RunningStage::startedMillis)
            .reversed()
            .thenComparing(RunningStage::id);

    private static final List<Reason> MOST_HOPEFUL_FIRST = List.of(
            Reason.VICTIM_TAKEN,
            Reason.EXEMPT_TIME,
            Reason.SUSPEND_FAILED_LATELY,
            Reason.TIME_SLICE_NOT_USED_UP,
            Reason.MOST_SUSPENSIONS_REACHED,
            Reason.NOT_CHECKPOINTABLE,
            Reason.NO_LOWER_PRIORITY,
            Reason.NO_FITTING_STAGE);

    private final long now;
    private final Limits limits;
    private final List<RunningStage> worstFirst;
    private final Set<String> taken = new HashSet<>();

    Victims(Snapshot snapshot, Set<String> accepting) {
        this.now = snapshot.nowMillis();
        this.limits = snapshot.limits();
        this.worstFirst = snapshot.running().stream()
                .filter(stage -> accepting.contains(stage.agent()))
                .sorted(WORST_FIRST)
                .toList();
    }

    /** Suspends one stage for the claim, or says why none. */
    Action takeFor(Claim claim) {
        Reason obstacle = Reason.NO_FITTING_STAGE;
        for (RunningStage stage : worstFirst) {
            if (claim.agents().contains(stage.agent())) {
                Reason reason = obstacleBetween(claim, stage);
                if (reason == null) {
                    taken.add(stage.id());
                    return new Action.Suspend(stage.id(), claim.id(), stage.agent(), cause(claim, stage));
                }
                obstacle = moreHopeful(obstacle, reason);
            }
        }
        return new Action.Keep(claim.id(), obstacle);
    }

    private static Reason cause(Claim claim, RunningStage stage) {
        return stage.priority() > claim.priority() ? Reason.HIGHER_PRIORITY_WAITS : Reason.TIME_SLICE_USED_UP;
    }

    private static Reason moreHopeful(Reason one, Reason other) {
        return MOST_HOPEFUL_FIRST.indexOf(one) <= MOST_HOPEFUL_FIRST.indexOf(other) ? one : other;
    }

    private Reason obstacleBetween(Claim claim, RunningStage stage) {
        long slice = stage.timeSliceMillis() > 0 ? stage.timeSliceMillis() : limits.timeSliceMillis();
        long undisturbed = now - stage.runningSinceMillis();
        if (stage.priority() < claim.priority() || (stage.priority() == claim.priority() && slice == 0)) {
            return Reason.NO_LOWER_PRIORITY;
        }
        if (stage.whyNotPreemptible() != null) {
            return Reason.NOT_CHECKPOINTABLE;
        }
        if (limits.mostSuspensions() > 0 && stage.suspensions() >= limits.mostSuspensions()) {
            return Reason.MOST_SUSPENSIONS_REACHED;
        }
        if (stage.priority() == claim.priority() && undisturbed < slice) {
            return Reason.TIME_SLICE_NOT_USED_UP;
        }
        if (undisturbed < limits.exemptMillis()) {
            return Reason.EXEMPT_TIME;
        }
        if (now < stage.retryAfterMillis()) {
            return Reason.SUSPEND_FAILED_LATELY;
        }
        return taken.contains(stage.id()) ? Reason.VICTIM_TAKEN : null;
    }
}
