package io.jenkins.plugins.preemptible.step;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Run;
import hudson.security.ACL;
import hudson.security.ACLContext;
import io.jenkins.plugins.preemptible.lifecycle.Ending;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageTimes;
import org.jenkinsci.plugins.workflow.steps.BodyExecutionCallback;
import org.jenkinsci.plugins.workflow.steps.StepContext;

/**
 * What happens when the body of a preemptible block has ended.
 *
 * <ol>
 *   <li>Workspace and executor, where they are ours, are given back at once.
 *   <li>The sandbox and whatever a suspension left are removed off this thread.
 *   <li>The step ends with the body's own result; how long one took that ended well is noted.
 * </ol>
 */
class StageBody extends BodyExecutionCallback {

    private static final long serialVersionUID = 1L;

    final String stageId;

    StageBody(String stageId) {
        this.stageId = stageId;
    }

    @Override
    public final void onSuccess(StepContext context, Object result) {
        StageRecord stage = StageRegistry.get().find(stageId);
        if (stage != null) {
            StageTimes.get().ended(stage, System.currentTimeMillis());
        }
        ended();
        context.onSuccess(result);
    }

    @Override
    public final void onFailure(StepContext context, Throwable failure) {
        ended();
        failed(context, failure);
    }

    /** Everything was given back. */
    void failed(StepContext context, Throwable failure) {
        context.onFailure(failure);
    }

    private void ended() {
        StageRecord stage = StageRegistry.get().find(stageId);
        Run<?, ?> run;
        // The build's own user need not be allowed to read it.
        try (ACLContext system = ACL.as2(ACL.SYSTEM2)) {
            run = stage == null ? null : Run.fromExternalizableId(stage.runId());
        }
        ended(stageId, run);
    }

    static void ended(String stageId, @CheckForNull Run<?, ?> run) {
        LiveStage live = LiveStage.find(stageId);
        if (live != null) {
            ended(live, run);
        }
    }

    /** Also for a stage that is no longer known by its id, since it was aborted while it was being opened. */
    static void ended(LiveStage live, @CheckForNull Run<?, ?> run) {
        // Before its lease is: no other one is kept from then on.
        live.markEnding();
        live.releaseLease();
        // First, so that who hears of its executor's end, such as a once-only agent, hears that the stage has ended
        // too.
        Ending.of(live, run);
        if (live.hold() instanceof OwnExecutorHold) {
            ((OwnExecutorHold) live.hold()).free();
        }
    }
}
