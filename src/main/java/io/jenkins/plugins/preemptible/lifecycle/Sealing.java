package io.jenkins.plugins.preemptible.lifecycle;

import hudson.model.Result;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.AbortedStage;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StageMarks;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageClock;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.view.Messages;
import java.io.IOException;
import jenkins.model.CauseOfInterruption;
import org.jenkinsci.plugins.workflow.steps.BodyExecution;
import org.jenkinsci.plugins.workflow.steps.FlowInterruptedException;

/**
 * Makes the image of a frozen stage whose executor is somebody else's already.
 *
 * <ol>
 *   <li>Dumps and seals on the agent at idle priority, archives the image with the build, saves that there is one; only
 *       then the frozen tree is killed.
 *   <li>A failure loses nothing: the stage stays frozen in its agent's memory, and is resumed from there when it gets an
 *       executor. It is tried {@value SealingSteps#MOST_ATTEMPTS} times.
 *   <li>A stage that is resumed, ends or is aborted meanwhile takes precedence: none of these waits for this.
 *   <li>An image that was tried on the agent and cannot be restored is not stored: the stage stays in memory only.
 *   <li>A stage whose agent makes no images is only looked for, after a restart or an outage; nothing is sealed. So is one
 *       that went back to an earlier state, in case its agent is back with its processes.
 * </ol>
 *
 * The steps are in {@link SealingSteps}; here is when and on which thread they are taken. Holds the stage's {@code operation} lock only to save its end, and {@link LiveStage#sealing} all along, so that no
 * second suspension begins before the first one's image is made or given up.
 */
public final class Sealing {

    private final LiveStage live;
    private final SealingSteps steps;

    private Sealing(LiveStage live, StageRecord stage, boolean uncertain) {
        this.live = live;
        this.steps = new SealingSteps(
                live,
                stage.suspensions(),
                uncertain,
                StageRegistry.get(),
                StageAgent.Agents.OF_JENKINS,
                new JenkinsSealSide(live),
                StageClock.SYSTEM);
    }

    /**
     * Begins; the stage's executor has just been given away. Returns at once.
     *
     * @param delayMillis how long it stays in its agent's memory alone, since it is expected to be resumed before
     */
    public static void begin(LiveStage live, StageRecord stage, long delayMillis) {
        Sealing sealing = new Sealing(live, stage, false);
        if (delayMillis == 0) {
            start(sealing);
        } else {
            StageThreads.schedule("sealing the image of stage " + live.id(), delayMillis, () -> start(sealing));
        }
    }

    /**
     * Takes a suspended stage up again after a restart of the controller: one that is frozen is sealed now, one that
     * runs on its agent although it is to be suspended is frozen first. Returns at once.
     */
    public static void takeUp(String stageId) {
        LiveStage live = LiveStage.find(stageId);
        StageRecord stage = StageRegistry.get().find(stageId);
        if (live != null && stage != null && stage.state() == StageState.SUSPENDED) {
            start(new Sealing(live, stage, true));
            // The nodes inside of it that were marked are not known after a restart.
            StageMarks.byHandChanged(live);
        }
    }

    private static void start(Sealing sealing) {
        if (sealing.live.beginSealing()) {
            sealing.again(0);
        } else if (sealing.steps.wanted() != null) {
            // The last one is still at it, or has just seen that it is not wanted any more.
            StageThreads.schedule(
                    "sealing the image of stage " + sealing.live.id(), SealingSteps.LOOK_MILLIS, () -> start(sealing));
        }
    }

    private void again(long delayMillis) {
        if (delayMillis == 0) {
            StageThreads.sealOn(StageThreads.agentOf(live.id()), "sealing the image of stage " + live.id(), this::run);
        } else {
            // In steps: a stage that is resumed meanwhile may be suspended again as soon as this has ended.
            long stepMillis = Math.min(delayMillis, SealingSteps.LOOK_MILLIS);
            StageThreads.schedule("sealing the image of stage " + live.id(), stepMillis, () -> {
                if (steps.wanted() == null) {
                    end();
                } else {
                    again(delayMillis - stepMillis);
                }
            });
        }
    }

    private void end() {
        steps.close();
        live.endSealing();
    }

    private void run() throws InterruptedException {
        long retryMillis = 0;
        try {
            retryMillis = steps.attempt();
        } finally {
            if (retryMillis == 0) {
                end();
            }
        }
        if (retryMillis > 0) {
            again(retryMillis);
        }
    }

    /**
     * The processes of a frozen stage are gone, and it has no image: it goes back to an earlier state, or ends. Under its
     * {@code operation} lock.
     *
     * @return whether it stays suspended, with another image
     * @throws IOException when that is not known yet; nothing has changed then
     */
    static boolean lost(LiveStage live) throws IOException, InterruptedException {
        StageRecord stage = StageRegistry.get().find(live.id());
        BodyExecution body = live.body();
        if (stage == null || body == null || live.ending() || live.aborting()) {
            return false;
        }
        if (Rollback.of(live, Rollback.Loss.GONE)) {
            return true;
        }
        live.markAborting();
        NotSealed cause = new NotSealed(stage.node(), stage.onMemoryOnlyAgent(), stage.thawByMillis() > 0);
        StageLog.line(live.context(), cause.getShortDescription() + ".");
        AbortedStage.endSteps(live.id());
        body.cancel(new FlowInterruptedException(Result.FAILURE, false, cause));
        return false;
    }

    /** Why a frozen stage ended whose agent lost its memory. */
    public static final class NotSealed extends CauseOfInterruption {
        private static final long serialVersionUID = 1L;
        private final String node;
        /** False in what versions that knew no such thing have saved. */
        private final boolean memoryOnly;

        /** False in what versions that knew no such thing have saved. */
        private final boolean frozenOnly;

        NotSealed(String node, boolean memoryOnly, boolean frozenOnly) {
            this.node = node;
            this.memoryOnly = memoryOnly;
            this.frozenOnly = frozenOnly;
        }

        @Override
        public String getShortDescription() {
            if (frozenOnly) {
                return Messages.Sealing_LostFrozenOnly(node);
            }
            return memoryOnly ? Messages.Sealing_LostInMemoryOnly(node) : Messages.Sealing_LostBeforeSealed(node);
        }
    }
}
