package io.jenkins.plugins.preemptible.checkpoint;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.Util;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.event.StageSuspended;
import io.jenkins.plugins.preemptible.lifecycle.Rollback;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StageMarks;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsInFlight;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsOnAgent;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.SuspendedSteps;
import io.jenkins.plugins.preemptible.lifecycle.stage.Checkpoints;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageCheckpoint;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.util.List;

/**
 * Gives a stage that has lost its processes the state of its last checkpoint.
 *
 * <ol>
 *   <li>The stage then counts as suspended, with the checkpoint as its image and workspace; one that has an executor gives it
 *       back. From there on it is resumed as any suspended stage whose agent is lost.
 *   <li>A checkpoint counts only while the Pipeline waits for the very steps that ran then: nothing can undo the end of a
 *       step.
 *   <li>An image of a later state, whole or not, is removed: its processes are not those that run on.
 * </ol>
 */
@Extension
public final class ToCheckpoint implements Rollback {

    @Override
    public boolean mayBePossible(StageRecord stage) {
        return stage.hasCheckpoint()
                && PreemptibleConfiguration.get().isMoveStages()
                && !stage.rolledBack()
                && !OutlivesAgent.isStored(stage);
    }

    @Override
    public boolean run(LiveStage live, Loss loss) throws IOException, InterruptedException {
        StageRecord stage = StageRegistry.get().find(live.id());
        if (stage == null || !mayBePossible(stage) || live.ending() || live.aborting()) {
            return false;
        }
        StepsInFlight steps = StepsInFlight.of(live);
        StageCheckpoint last = usable(stage, steps);
        if (last == null) {
            StageLog.line(live.context(), inVain(stage, loss));
            return false;
        }
        long now = System.currentTimeMillis();
        StageRecord back = StageRegistry.get().update(live.id(), Checkpoints.rolledBack(last, reason(stage), now));
        if (back == null) {
            return false;
        }
        StepsOnAgent.leave(live, stage.node());
        SuspendedSteps.waitForAgent(back);
        if (stage.holdsExecutor()) {
            giveBackExecutor(live, back);
            tell(back, now);
        } else {
            StageImages.discard(live);
        }
        StageLog.line(live.context(), begins(stage, loss) + " " + repeats(stage, last, now));
        if (stage.suspended()) {
            StageMarks.sealed(live, back);
        } else {
            StageMarks.suspended(live, back, steps.external());
        }
        return true;
    }

    @CheckForNull
    private static StageCheckpoint usable(StageRecord stage, StepsInFlight steps) {
        List<String> now = steps.ids();
        return steps.others().isEmpty()
                ? stage.checkpoints().made().stream()
                        .filter(each -> each.steps().equals(now))
                        .findFirst()
                        .orElse(null)
                : null;
    }

    /** One that was suspended has been told of before. */
    private static void tell(StageRecord back, long now) {
        StageListener.fire(listener -> listener.onSuspended(new StageSuspended(
                back.ref(),
                back.startedMillis(),
                now,
                0,
                Reason.PROCESSES_LOST.name(),
                Reason.PROCESSES_LOST.sentence(),
                null,
                null,
                0,
                0,
                false)));
    }

    private static void giveBackExecutor(LiveStage live, StageRecord back) {
        try {
            live.hold().release(back);
        } catch (IOException x) {
            // After a restart it has none yet, and waits for the one it had.
            live.hold().withdraw(back);
        }
    }

    private static String reason(StageRecord stage) {
        return stage.state() == StageState.RUNNING
                ? "Its agent was lost while it ran."
                : "Its agent was lost while it was being suspended.";
    }

    private static String begins(StageRecord stage, Loss loss) {
        if (loss == Loss.GONE) {
            return "The host of the agent '" + stage.node() + "' has lost this stage's processes. It is resumed";
        }
        String known = "What still runs there is ended when it connects.";
        if (stage.frozen()) {
            known = "It keeps this stage, which is frozen in its memory, if it is back before the stage runs again.";
        } else if (stage.suspended()) {
            known = "The last image of this stage needs that agent, since its workspace is not stored.";
        }
        return "The agent '" + stage.node() + "' is lost. " + known
                + " This stage is resumed on another agent that fits,";
    }

    private static String repeats(StageRecord stage, StageCheckpoint last, long nowMillis) {
        // What runs out of reach has gone on all the time.
        long repeatedMillis = Math.max(0, stage.executorMillis(nowMillis) - last.executorMillis());
        return "from its checkpoint of " + Util.getTimeSpanString(Math.max(0, nowMillis - last.atMillis())) + " ago: "
                + Util.getTimeSpanString(repeatedMillis) + " of work are repeated.";
    }

    private static String inVain(StageRecord stage, Loss loss) {
        String why = ", and no checkpoint of this stage is of use: its Pipeline has gone on since then.";
        if (loss == Loss.GONE) {
            return "The host of the agent '" + stage.node() + "' has lost this stage's processes" + why;
        }
        return "The agent '" + stage.node() + "' is lost" + why + " It waits for its agent as any "
                + (stage.suspended() ? "suspended stage" : "running step") + " does.";
    }
}
