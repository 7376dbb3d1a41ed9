package io.jenkins.plugins.preemptible.lifecycle.agents;

import hudson.Extension;
import hudson.model.Computer;
import hudson.model.Node;
import hudson.model.TaskListener;
import hudson.slaves.ComputerListener;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.model.Jenkins;

/**
 * Has an agent rehearse a suspension, so that the first preemptor does not wait for classes.
 *
 * <ol>
 *   <li>As soon as it is connected, on a thread that nobody waits for; once more when a stage begins there, which does
 *       nothing where it was done.
 *   <li>Not on Windows, not without executors, and not while preemption is switched off.
 *   <li>An agent that passes its check and fails here is told to the administrator, and stages are still tried.
 * </ol>
 */
@Extension
public final class AgentWarmUp extends ComputerListener {

    private static final Logger LOGGER = Logger.getLogger(AgentWarmUp.class.getName());

    @Override
    public void onOnline(Computer computer, TaskListener listener) {
        Node node = computer.getNode();
        boolean isAgent = node != null && !(computer instanceof Jenkins.MasterComputer);
        if (isAgent
                && node.getNumExecutors() > 0
                && Boolean.TRUE.equals(computer.isUnix())
                && PreemptibleConfiguration.get().limits().enabled()) {
            begin(node);
        }
    }

    /** Returns at once. */
    public static void begin(Node node) {
        StageThreads.submitFor(node.getNodeName(), "rehearsing on " + node.getDisplayName(), () -> rehearse(node));
    }

    private static void rehearse(Node node) throws InterruptedException {
        // The controller's own part: a data key, which loads the library for sealing.
        ImageKey.generate();
        AgentStage.Rehearsed rehearsed;
        try {
            rehearsed = AgentStage.rehearse(node, PreemptibleConfiguration.get().isMoveStages());
        } catch (IOException x) {
            LOGGER.log(
                    Level.FINE, x, () -> "no rehearsal on " + node.getDisplayName() + ", which is most likely offline");
            return;
        }
        if (rehearsed == null) {
            return;
        }
        AgentStage.Sandbox can = rehearsed.sandbox();
        HowSuspended.opened(node.getNodeName(), can.memoryOnly(), can.enterCommand(), can.refusal());
        if (rehearsed.failure() != null) {
            LOGGER.log(
                    Level.WARNING,
                    "{0} looks able to suspend stages, but a rehearsal failed there: {1}",
                    new Object[] {node.getDisplayName(), rehearsed.failure()});
        }
    }
}
