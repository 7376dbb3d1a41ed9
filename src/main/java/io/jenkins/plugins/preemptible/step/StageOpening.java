package io.jenkins.plugins.preemptible.step;

import hudson.FilePath;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.lifecycle.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.StageRegistry;
import java.io.IOException;
import org.jenkinsci.plugins.workflow.steps.StepContext;

/**
 * The first act of a stage on its agent: its sandbox.
 *
 * <ol>
 *   <li>Asks the agent whether it can suspend stages at all, and opens the sandbox there.
 *   <li>An agent that cannot is no error: the stage runs as under {@code node}, and the build log says why it will not
 *       be suspended.
 *   <li>Either way the stage's record is published and saved.
 * </ol>
 */
final class StageOpening {

    private StageOpening() {}

    static void open(StageRecord stage, Node node, FilePath workspace, StepContext context) throws InterruptedException {
        AgentStage.Sandbox sandbox;
        try {
            workspace.mkdirs();
            sandbox = AgentStage.on(node, stage.id()).open(workspace, stage.name());
        } catch (IOException | RuntimeException x) {
            sandbox = new AgentStage.Sandbox(null, x.toString());
        }
        stage.opened(sandbox.enterCommand(), sandbox.refusal());
        StageRegistry.get().add(stage);
        if (sandbox.refusal() != null) {
            StageLog.line(
                    context,
                    "This stage runs, but cannot be suspended on " + node.getDisplayName() + ": " + sandbox.refusal());
        }
    }
}
