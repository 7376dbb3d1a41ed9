package io.jenkins.plugins.preemptible.step;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Run;
import hudson.security.ACL;
import hudson.security.ACLContext;
import io.jenkins.plugins.preemptible.lifecycle.Ending;
import io.jenkins.plugins.preemptible.lifecycle.LiveStage;
import org.jenkinsci.plugins.workflow.steps.BodyExecutionCallback;
import org.jenkinsci.plugins.workflow.steps.StepContext;

/**
 * What happens when the body of a preemptible block has ended.
 *
 * <ol>
 *   <li>Workspace and executor, where they are ours, are given back at once.
 *   <li>The sandbox and whatever a suspension left are removed off this thread.
 *   <li>The step ends with the body's own result.
 * </ol>
 */
final class StageBody extends BodyExecutionCallback.TailCall {

    private static final long serialVersionUID = 1L;

    private final String stageId;
    private final String runId;

    StageBody(String stageId, String runId) {
        this.stageId = stageId;
        this.runId = runId;
    }

    @Override
    protected void finished(StepContext context) throws Exception {
        Run<?, ?> run;
        // The build's own user need not be allowed to read it.
        try (ACLContext system = ACL.as2(ACL.SYSTEM2)) {
            run = Run.fromExternalizableId(runId);
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
        live.releaseLease();
        if (live.hold() instanceof OwnExecutorHold) {
            ((OwnExecutorHold) live.hold()).free();
        }
        Ending.of(live, run);
    }
}
