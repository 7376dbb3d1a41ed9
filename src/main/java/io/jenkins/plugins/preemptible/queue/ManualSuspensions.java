package io.jenkins.plugins.preemptible.queue;

import hudson.model.Queue;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.MoveWish;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.lifecycle.suspend.Suspension;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;

/**
 * Suspends stages for no preemptor: those that a user suspends or moves, and those of drained agents.
 *
 * <ol>
 *   <li>Every look at the queue compares what is wanted with what is, so a stage that could not be suspended at one
 *       moment is at a later one, also after a restart of the controller.
 *   <li>The suspension itself is that of any stage; no executor is kept for anybody.
 *   <li>What is not wanted any more by then is given back.
 * </ol>
 *
 * Called by one look at a time; returns at once.
 */
final class ManualSuspensions {

    /** Stages with a suspension that was handed to a thread and has not ended. */
    private static final Set<String> UNDERWAY = ConcurrentHashMap.newKeySet();

    private ManualSuspensions() {}

    /** Begins to suspend all running stages that a user wants suspended, or on another agent. */
    static void carryOut() {
        if (!PreemptibleConfiguration.get().isEnabled()) {
            return;
        }
        for (StageRecord stage : StageRegistry.get().all()) {
            if (isAsked(stage) && stage.state() == StageState.RUNNING && stage.whyNotSuspendable() == null) {
                begin(stage.id(), stage.node(), Reason.ASKED_BY_HAND, () -> wanted(stage.id()));
            }
        }
    }

    /** Begins to suspend one stage of a drained agent. */
    static void drain(String stageId, String agent, Reason reason) {
        begin(
                stageId,
                agent,
                reason,
                () -> PreemptibleConfiguration.get().isEnabled()
                        && DrainedAgents.get().contains(agent));
    }

    private static boolean wanted(String stageId) {
        StageRecord stage = StageRegistry.get().find(stageId);
        return stage != null && isAsked(stage) && PreemptibleConfiguration.get().isEnabled();
    }

    private static boolean isAsked(StageRecord stage) {
        return stage.byHand() || MoveWish.suspends(stage);
    }

    private static void begin(String stageId, String agent, Reason reason, BooleanSupplier wanted) {
        LiveStage live = LiveStage.find(stageId);
        if (live == null
                || live.ending()
                || live.retryAfterMillis() > System.currentTimeMillis()
                || !UNDERWAY.add(stageId)) {
            return;
        }
        StageThreads.submitOn(agent, "suspending stage " + stageId + " manually", () -> {
            boolean freed = false;
            try {
                freed = wanted.getAsBoolean()
                        && Suspension.run(stageId, new Suspension.Request(null, null, reason, wanted, () -> {}))
                                .isPresent();
            } finally {
                UNDERWAY.remove(stageId);
                Queue.getInstance().scheduleMaintenance();
                Preemption.soon(freed ? 50 : 500);
            }
        });
    }
}
