package io.jenkins.plugins.preemptible.lifecycle;

import hudson.Extension;
import hudson.model.PeriodicWork;
import hudson.model.Result;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.view.Messages;
import java.util.concurrent.TimeUnit;
import jenkins.model.CauseOfInterruption;
import org.jenkinsci.plugins.workflow.steps.BodyExecution;
import org.jenkinsci.plugins.workflow.steps.FlowInterruptedException;

/**
 * Ends stages that have had executors for as long as their steps allow.
 *
 * <ol>
 *   <li>Looks at the running stages every second, in memory.
 *   <li>The time of suspensions and of resumptions does not count; a stage is never ended while it is suspended.
 *   <li>Ends the body as the {@code timeout} step does: its build is aborted, unless the Pipeline catches that.
 * </ol>
 */
@Extension
public final class ActiveTimeouts extends PeriodicWork {

    @Override
    public long getRecurrencePeriod() {
        return TimeUnit.SECONDS.toMillis(1);
    }

    @Override
    protected void doRun() {
        long now = System.currentTimeMillis();
        for (StageRecord stage : StageRegistry.get().all()) {
            if (stage.activeTimeoutMillis() > 0
                    && stage.state() == StageState.RUNNING
                    && stage.executorMillis(now) > stage.activeTimeoutMillis()) {
                StageThreads.submitFor(stage.node(), "ending " + stage + " at its time-out", () -> end(stage.id()));
            }
        }
    }

    private static void end(String stageId) throws InterruptedException {
        LiveStage live = LiveStage.find(stageId);
        BodyExecution body = live == null ? null : live.body();
        if (body == null) {
            return;
        }
        live.operation().lockInterruptibly();
        try {
            StageRecord stage = StageRegistry.get().find(stageId);
            if (stage == null || stage.state() != StageState.RUNNING || live.ending() || live.aborting()) {
                return;
            }
            live.markAborting();
            Exceeded cause = new Exceeded(stage.name(), stage.activeTimeoutMillis());
            StageLog.line(live.context(), cause.getShortDescription() + ".");
            body.cancel(new FlowInterruptedException(Result.ABORTED, false, cause));
        } finally {
            live.operation().unlock();
        }
    }

    /** Why the stage ended. */
    public static final class Exceeded extends CauseOfInterruption {
        private static final long serialVersionUID = 1L;
        private final String stage;
        private final long millis;

        Exceeded(String stage, long millis) {
            this.stage = stage;
            this.millis = millis;
        }

        @Override
        public String getShortDescription() {
            return Messages.ActiveTimeouts_Exceeded(stage, StageLog.time(millis));
        }
    }
}
