package io.jenkins.plugins.preemptible.step;

import hudson.FilePath;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.lifecycle.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.StageThreads;
import java.io.IOException;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jenkinsci.plugins.workflow.steps.StepContext;

/**
 * The first act of a stage on its agent: its sandbox.
 *
 * <ol>
 *   <li>Asks the agent whether it can suspend stages at all, and opens the sandbox there. While the stage begins, the
 *       agent rehearses a suspension, so that the first preemptor does not wait for classes.
 *   <li>An agent that cannot is no error: the stage runs as under {@code node}, and the build log says why it will not
 *       be suspended.
 *   <li>Either way the stage's record is published and saved.
 * </ol>
 */
final class StageOpening {

    private static final Logger LOGGER = Logger.getLogger(StageOpening.class.getName());

    private StageOpening() {}

    static void open(
            StageRecord stage, boolean closeConnections, Node node, FilePath workspace, StepContext context)
            throws InterruptedException {
        AgentStage.Sandbox sandbox;
        try {
            workspace.mkdirs();
            AgentStage agent = AgentStage.on(node, stage.id());
            sandbox = agent.open(workspace, stage.name(), closeConnections);
            if (sandbox.refusal() == null) {
                StageThreads.submit("rehearsing on " + node.getDisplayName(), () -> rehearse(agent, node));
            }
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

    private static void rehearse(AgentStage agent, Node node) throws InterruptedException {
        // The controller's own part: a data key, which loads the library for sealing.
        ImageKey.generate();
        String failure;
        try {
            failure = agent.rehearse();
        } catch (IOException x) {
            LOGGER.log(Level.FINE, x, () -> "no rehearsal on " + node.getDisplayName() + ", which is most likely offline");
            return;
        }
        if (failure != null) {
            LOGGER.log(
                    Level.WARNING,
                    "{0} looks able to suspend stages, but a rehearsal failed there: {1}",
                    new Object[] {node.getDisplayName(), failure});
        }
    }
}
