package io.jenkins.plugins.preemptible.step;

import hudson.Extension;
import hudson.model.Executor;
import hudson.model.ExecutorListener;
import hudson.model.Queue;
import hudson.security.ACL;
import hudson.security.ACLContext;
import io.jenkins.plugins.preemptible.lifecycle.Resumption;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.PlaceholderAccess;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.PlaceholderRelease;
import io.jenkins.plugins.preemptible.lifecycle.stage.ExecutorHold;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;

/**
 * The executor of the {@code node} block around a nested stage.
 *
 * <ol>
 *   <li>{@link #release} queues the block's placeholder again, held back by our veto, and completes its execution.
 *   <li>{@link #request} lifts the veto; the queue dispatches the placeholder like any other item.
 *   <li>Its arrival on the executor is heard by {@link Arrival}, which restores the stage; only the first turn after
 *       a restart of the controller wakes nothing.
 * </ol>
 */
final class NestedExecutorHold implements ExecutorHold {

    private final String stageId;

    NestedExecutorHold(String stageId) {
        this.stageId = stageId;
    }

    @Override
    public Executor executor(StageRecord stage) {
        return stage.placeholder() == null ? null : PlaceholderAccess.executor(stage.placeholder());
    }

    @Override
    public void release(StageRecord stage) throws IOException {
        PlaceholderRelease.run(stage);
    }

    /** The executor is the node block's, whose end Pipeline looks after. */
    @Override
    public void abandon() {}

    @Override
    public void request(StageRecord stage) {
        LiveStage live = LiveStage.find(stageId);
        if (live != null) {
            live.granted(true);
            Queue.getInstance().scheduleMaintenance();
        }
    }

    @Override
    public void withdraw(StageRecord stage) {
        LiveStage live = LiveStage.find(stageId);
        if (live != null) {
            live.granted(false);
        }
    }

    @Override
    public void takeUp(Executor executor) {
        LiveStage live = LiveStage.find(stageId);
        if (live != null) {
            StageThreads.submitFor(
                    StageThreads.agentOf(stageId), "resuming stage " + stageId, () -> Arrival.arrived(live, executor));
        }
    }

    /** Its executor is its node block's, which continues with what comes after it. */
    @Override
    public boolean canRunAgain() {
        return false;
    }

    @Override
    public void runAgain(String why) {
        throw new UnsupportedOperationException("a stage inside of node cannot be run again: " + stageId);
    }

    @Override
    public boolean requested(StageRecord stage) {
        LiveStage live = LiveStage.find(stageId);
        return live != null && live.granted();
    }

    /** Hears when a suspended stage's block has an executor again. */
    @Extension
    public static final class Arrival implements ExecutorListener {

        @Override
        public void taskStarted(Executor executor, Queue.Task task) {
            StageRecord stage = StageRegistry.get().ofPlaceholder(PlaceholderAccess.context(task));
            LiveStage live = stage == null ? null : LiveStage.find(stage.id());
            if (live == null || !stage.suspended() || StageRegistry.get().awaitsFirstTurn(stage.id())) {
                return;
            }
            live.hold().takeUp(executor);
        }

        private static void arrived(LiveStage live, Executor executor) throws InterruptedException, IOException {
            if (Resumption.run(live.id(), executor) == Resumption.Outcome.STAYS_SUSPENDED) {
                StageRecord stage = StageRegistry.get().find(live.id());
                if (stage != null) {
                    giveBack(stage);
                }
            }
        }

        private static void giveBack(StageRecord stage) throws IOException {
            try (ACLContext system = ACL.as2(ACL.SYSTEM2)) {
                PlaceholderRelease.run(stage);
            }
        }
    }
}
