package io.jenkins.plugins.preemptible.step;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.lifecycle.agents.AgentWarmUp;
import io.jenkins.plugins.preemptible.lifecycle.agents.HowSuspended;
import io.jenkins.plugins.preemptible.lifecycle.agents.KeptAgents;
import io.jenkins.plugins.preemptible.lifecycle.agents.UnknownStages;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageContainers;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import org.jenkinsci.plugins.workflow.steps.StepContext;

/**
 * The first act of a stage on its agent: its sandbox.
 *
 * <ol>
 *   <li>Asks the agent whether it can suspend stages at all, and opens the sandbox there. While the stage begins, the
 *       agent rehearses a suspension, so that the first preemptor does not wait for classes.
 *   <li>An agent that cannot is no error: the stage runs as under {@code node}, and the build log says why it will not
 *       be suspended.
 *   <li>Inside of a container block the sandbox is made in that container, where it can be; else beside it, and the build log
 *       says why what runs there can be frozen only.
 *   <li>The stage's record is saved before its sandbox is made, so that one which a restart of the controller leaves
 *       behind is found and removed: by the next opening on the same agent, or as a leftover of another one.
 * </ol>
 */
final class StageOpening {

    private StageOpening() {}

    static void open(StageRecord stage, boolean closeConnections, Node node, FilePath workspace, StepContext context)
            throws InterruptedException {
        open(stage, closeConnections, node, workspace, context, null);
    }

    /** @param around the container that stands around the block, and in which the stage has to live; null for none */
    static void open(
            StageRecord stage,
            boolean closeConnections,
            Node node,
            FilePath workspace,
            StepContext context,
            @CheckForNull ContainerRef around)
            throws InterruptedException {
        SliceAsked.say(stage, node, context);
        StageRegistry registry = StageRegistry.get();
        StageRecord cutOff = registry.find(stage.id());
        if (cutOff != null && !cutOff.node().equals(stage.node())) {
            registry.ended(stage.id());
        }
        stage.opened(null, "its sandbox is just being made");
        registry.add(stage);
        AgentStage.Sandbox sandbox = make(stage, closeConnections, node, workspace, around);
        StageRecord opened = registry.update(stage.id(), s -> {
            s.opened(sandbox.enterCommand(), sandbox.refusal());
            s.memoryOnly(sandbox.memoryOnly());
        });
        if (opened == null) {
            // Aborted meanwhile, and cleaned perhaps before the sandbox was there: the caller ends it once more.
            registry.add(stage);
        }
        if (stage.checkpoints() != null && !PreemptibleConfiguration.get().isMoveStages()) {
            StageLog.line(
                    context,
                    "No checkpoint of this stage is made (checkpointEvery) until an administrator allows that stages resume"
                            + " on other agents.");
        }
        if (sandbox.refusal() != null) {
            StageLog.line(
                    context,
                    "This stage runs, but cannot be suspended on " + node.getDisplayName() + ": " + sandbox.refusal());
        } else if (sandbox.notInside() != null) {
            StageLog.line(context, sandbox.notInside());
        }
    }

    private static AgentStage.Sandbox make(
            StageRecord stage,
            boolean closeConnections,
            Node node,
            FilePath workspace,
            @CheckForNull ContainerRef around)
            throws InterruptedException {
        String notKept = KeptAgents.whyNot(node);
        if (notKept != null) {
            HowSuspended.opened(stage.node(), false, null, notKept);
            return AgentStage.Sandbox.refused(notKept);
        }
        try {
            workspace.mkdirs();
            AgentStage agent = AgentStage.on(node, stage.id());
            AgentStage.Sandbox sandbox = agent.open(
                    workspace,
                    stage.name(),
                    closeConnections,
                    UnknownStages.originOf(stage),
                    around,
                    StageContainers.marks(stage));
            HowSuspended.opened(stage.node(), sandbox.memoryOnly(), sandbox.enterCommand(), sandbox.refusal());
            if (sandbox.refusal() == null) {
                AgentWarmUp.begin(node);
            }
            return sandbox;
        } catch (IOException | RuntimeException | Error x) {
            // Also an Error: remoting throws what the agent says that it has thrown.
            return AgentStage.Sandbox.refused(String.valueOf(x.getMessage()));
        }
    }
}
