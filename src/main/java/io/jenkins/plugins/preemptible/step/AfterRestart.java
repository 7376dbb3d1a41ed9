package io.jenkins.plugins.preemptible.step;

import hudson.FilePath;
import hudson.model.Computer;
import hudson.model.Queue;
import hudson.model.Result;
import hudson.model.TaskListener;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.RemovedAgent;
import io.jenkins.plugins.preemptible.lifecycle.Sealing;
import io.jenkins.plugins.preemptible.lifecycle.agents.LeasedWorkspaces;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsOnAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.LuggageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.lifecycle.suspend.FrozenStage;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.model.CauseOfInterruption;
import jenkins.model.Jenkins;
import org.jenkinsci.plugins.workflow.FilePathUtils;
import org.jenkinsci.plugins.workflow.steps.BodyExecution;
import org.jenkinsci.plugins.workflow.steps.FlowInterruptedException;

/**
 * Takes an own-executor stage up again after the controller was restarted.
 *
 * <ol>
 *   <li>Its workspace is leased again as soon as the agent is back; until then nobody else is dispatched there, or
 *       another build of the job could take it. A suspended stage needs no more.
 *   <li>A running stage asks for an executor on its agent at once and waits for it as long as {@code node} does.
 *   <li>A stage that was caught before its executor was given away runs on; one that was caught after that, or in the
 *       middle of a restore, is suspended, and {@link Sealing} sees to its image.
 * </ol>
 */
final class AfterRestart {

    private static final Logger LOGGER = Logger.getLogger(AfterRestart.class.getName());
    private static final long LONGEST_WAIT_MILLIS = TimeUnit.MINUTES.toMillis(5);
    private static final long POLL_MILLIS = 500;
    private static final long REMOVED_MILLIS = TimeUnit.SECONDS.toMillis(5);
    private static final long LEASE_MILLIS = TimeUnit.SECONDS.toMillis(5);

    private final LiveStage live;
    private final OwnExecutorExecution execution;

    AfterRestart(LiveStage live, OwnExecutorExecution execution) {
        this.live = live;
        this.execution = execution;
    }

    /** Returns soon; what has to wait for the agent does so without a thread. */
    void takeUp() throws InterruptedException {
        StageRecord stage = StageRegistry.get().find(live.id());
        if (stage == null) {
            return;
        }
        try {
            if (stage.state() == StageState.RUNNING) {
                // Before the agent is back: by then those who waited for its executors before must find this item.
                queue(stage);
            }
        } catch (IOException | RuntimeException x) {
            giveUp(stage, x);
            return;
        }
        // One that need not wait for its agent, once that is taken for lost, may go on before it is back.
        // So may one that another agent was asked to restore.
        boolean early = OutlivesAgent.isStored(stage) || stage.restoringOn() != null;
        StageRecord settled = early ? settled(stage) : stage;
        settle(settled == null ? stage : settled, System.nanoTime());
    }

    private void settle(StageRecord before, long began) throws InterruptedException {
        // It may have gone back to its checkpoint meanwhile, and need this agent no more.
        StageRecord known = StageRegistry.get().find(before.id());
        StageRecord stage = known == null ? before : known;
        FilePath workspace = FilePathUtils.find(stage.node(), stage.workspace());
        if (live.ending()) {
            return;
        }
        boolean isElsewhere = known == null || !known.node().equals(before.node()) && known.moves() != before.moves();
        if (isElsewhere) {
            StageRegistry.get().firstTurnDone(stage.id());
            return;
        }
        try {
            if (workspace == null) {
                if (tooLong(stage, TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began))) {
                    throw new IOException("the agent did not come back");
                }
                // One that was removed is hardly added again, and nobody is dispatched there before it is.
                long pause = RemovedAgent.isGone(stage) ? REMOVED_MILLIS : POLL_MILLIS;
                StageThreads.scheduleFor(stage.node(), "taking up " + stage, pause, () -> settle(before, began));
                return;
            }
            boolean leased = leased(stage, workspace);
            if (!stage.rolledBack()) {
                // The controller may have stopped after it was resumed, and before its steps were told.
                StepsOnAgent.follow(live);
            }
            StageRecord settled = settled(stage);
            StageRegistry.get().firstTurnDone(stage.id());
            if (!leased) {
                // Another build has it: what lies there is not the stage's any more.
                StageRegistry.get().update(stage.id(), LuggageChanges.missed(false));
            }
            Sealing.takeUp(stage.id());
            Queue.getInstance().scheduleMaintenance();
            if (!leased) {
                leaseLater(stage);
            }
            if (settled != null && !settled.suspended()) {
                if (before.state() != StageState.RUNNING) {
                    queue(settled);
                }
                StageThreads.schedule("looking for the executor of " + stage, LONGEST_WAIT_MILLIS, this::awaited);
            }
        } catch (IOException | RuntimeException x) {
            giveUp(stage, x);
        }
    }

    /** What is being resumed, elsewhere, was not cut off by the restart: its state is not this agent's to change. */
    private StageRecord settled(StageRecord stage) throws InterruptedException {
        if (!live.operation().tryLock()) {
            return StageRegistry.get().find(stage.id());
        }
        try {
            StageRecord now = StageRegistry.get().find(stage.id());
            return now == null ? null : Interrupted.settle(now);
        } finally {
            live.operation().unlock();
        }
    }

    /** A suspended stage waits; {@code RemovedAgent} ends it when Jenkins does not know its agent any more. */
    private static boolean tooLong(StageRecord stage, long waitedMillis) {
        return !stage.suspended() && waitedMillis > LONGEST_WAIT_MILLIS;
    }

    private void giveUp(StageRecord stage, Exception why) {
        LOGGER.log(Level.WARNING, why, () -> "cannot take up " + stage);
        StageRegistry.get().firstTurnDone(stage.id());
        BodyExecution body = live.body();
        if (body != null) {
            body.cancel(new FlowInterruptedException(Result.ABORTED, false, new AgentNotBack(stage.node())));
        }
    }

    /** @return false when another build has the workspace of a suspended stage, which can wait for its end */
    private boolean leased(StageRecord stage, FilePath workspace) throws IOException, InterruptedException {
        Computer computer = Jenkins.get().getComputer(stage.node());
        if (computer == null) {
            throw new IOException("the agent is gone");
        }
        if (live.leaseOn(computer) != null || LeasedWorkspaces.lease(live, computer, workspace)) {
            return true;
        }
        if (!stage.suspended()) {
            throw new IOException("another build has taken the workspace " + stage.workspace());
        }
        return false;
    }

    /** Until it has it the stage is not resumed there; nobody else on that agent waits for it. */
    private void leaseLater(StageRecord stage) {
        StageThreads.scheduleFor(stage.node(), "leasing the workspace of " + stage, LEASE_MILLIS, () -> {
            StageRecord now = StageRegistry.get().find(stage.id());
            boolean needed = now != null && now.suspended() && now.node().equals(stage.node()) && !live.ending();
            FilePath workspace = needed ? FilePathUtils.find(now.node(), now.workspace()) : null;
            try {
                if (needed && (workspace == null || !leased(now, workspace))) {
                    leaseLater(now);
                }
            } catch (IOException x) {
                LOGGER.log(Level.FINE, x, () -> now + " needs no workspace there");
            }
        });
    }

    private void queue(StageRecord stage) throws IOException, InterruptedException {
        TaskListener listener = live.context().get(TaskListener.class);
        if (listener != null) {
            listener.getLogger().println("Waiting for an executor on " + stage.node() + " before going on");
        }
        if (Queue.getInstance().schedule2(execution.task(stage, true), 0).getItem() == null) {
            throw new IOException("the queue does not take the stage");
        }
    }

    private void awaited() {
        StageRecord stage = StageRegistry.get().find(live.id());
        if (stage != null
                && stage.state() == StageState.RUNNING
                && !live.ending()
                && !live.busy()
                && live.hold().executor(stage) == null) {
            giveUp(stage, new IOException("no executor became free"));
        }
    }

    /** Why a stage whose agent did not come back ended. */
    public static final class AgentNotBack extends CauseOfInterruption {
        private static final long serialVersionUID = 1L;
        private final String node;

        AgentNotBack(String node) {
            this.node = node;
        }

        @Override
        public String getShortDescription() {
            return Messages.AfterRestart_AgentNotBack(node);
        }
    }

    /** Stages whose suspension or restore was cut off by the restart. */
    static final class Interrupted {

        private Interrupted() {}

        static StageRecord settle(StageRecord stage) throws InterruptedException {
            switch (stage.state()) {
                case SUSPENDING:
                    FrozenStage.thaw(stage.id());
                    return StageRegistry.get().find(stage.id());
                case RESUMING:
                    return StageRegistry.get().cutOff(stage.id());
                default:
                    return stage;
            }
        }
    }
}
