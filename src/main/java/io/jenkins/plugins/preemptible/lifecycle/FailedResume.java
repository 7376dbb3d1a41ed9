package io.jenkins.plugins.preemptible.lifecycle;

import hudson.Extension;
import hudson.model.PeriodicWork;
import hudson.model.Result;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.AbortedStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.ImagePath;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.util.concurrent.TimeUnit;
import org.jenkinsci.plugins.workflow.steps.BodyExecution;
import org.jenkinsci.plugins.workflow.steps.FlowInterruptedException;

/**
 * A stage whose resume failed as often as it is tried without being asked: it stays suspended, and its image is kept.
 *
 * <ol>
 *   <li>{@link #again} resumes it, and tries that as often as before.
 *   <li>{@link #giveUp} fails the stage; image and key are kept as long as its build.
 *   <li>When nobody has decided within a week, it is given up.
 * </ol>
 *
 * From any thread, under no lock.
 */
public final class FailedResume {

    private static final long UNDECIDED_MILLIS =
            Long.getLong(FailedResume.class.getName() + ".undecidedMillis", TimeUnit.DAYS.toMillis(7));

    private FailedResume() {}

    /** @return false when the stage waits for no such decision; nothing has changed then */
    public static boolean again(String stageId) {
        boolean[] done = {false};
        StageRegistry.get().update(stageId, stage -> {
            done[0] = stage.whyNotResumed() != null;
            if (done[0]) {
                StageChanges.tryAgain().accept(stage);
            }
        });
        return done[0];
    }

    /** Returns at once. @return false when the stage waits for no such decision; nothing is done then */
    public static boolean giveUp(String stageId) {
        StageRecord stage = StageRegistry.get().find(stageId);
        if (stage == null || stage.whyNotResumed() == null) {
            return false;
        }
        StageThreads.submitFor(stage.node(), "giving up " + stage, () -> givenUp(stageId));
        return true;
    }

    private static void givenUp(String stageId) throws InterruptedException {
        LiveStage live = LiveStage.find(stageId);
        BodyExecution body = live == null ? null : live.body();
        if (body == null) {
            return;
        }
        live.operation().lockInterruptibly();
        try {
            StageRecord stage = StageRegistry.get().find(stageId);
            if (stage != null && stage.whyNotResumed() != null && !live.ending() && !live.aborting()) {
                end(live, body, stage.whyNotResumed());
            }
        } finally {
            live.operation().unlock();
        }
    }

    /** Fails the stage; its {@code operation} lock is held. */
    static void end(LiveStage live, BodyExecution body, String why) {
        StageRecord stage = StageRegistry.get().settle(live.id(), StageChanges.givenUp());
        StageLog.line(
                live.context(),
                "Given up: the stage fails."
                        + (stage != null && stage.imageKept()
                                ? " Its sealed image stays among the artifacts (" + ImagePath.of(stage)
                                        + ") and its key with the controller, as long as this build."
                                : ""));
        live.markAborting();
        AbortedStage.endSteps(live.id());
        body.cancel(new FlowInterruptedException(Result.FAILURE, false, new Resumption.NotRestored(why)));
    }

    /** Gives up what nobody has decided about. */
    @Extension
    public static final class Overdue extends PeriodicWork {
        @Override
        public long getRecurrencePeriod() {
            return Math.min(UNDECIDED_MILLIS, TimeUnit.MINUTES.toMillis(10));
        }

        @Override
        protected void doRun() {
            long now = System.currentTimeMillis();
            for (StageRecord stage : StageRegistry.get().all()) {
                if (stage.whyNotResumed() != null && now - stage.notResumedSinceMillis() > UNDECIDED_MILLIS) {
                    giveUp(stage.id());
                }
            }
        }
    }
}
