package io.jenkins.plugins.preemptible.step;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.EnvVars;
import hudson.model.Computer;
import hudson.model.Node;
import hudson.model.TaskListener;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.util.stream.Collectors;
import jenkins.model.Jenkins;
import org.jenkinsci.plugins.workflow.steps.EnvironmentExpander;

/**
 * The environment of the agent that a stage has moved to, for the steps that begin there.
 *
 * <ol>
 *   <li>Without effect as long as the stage is on the agent where it began: that agent's variables are a fixed part of its
 *       body.
 *   <li>Comes before what {@code withEnv} and others set around or inside of the stage.
 * </ol>
 */
final class MovedEnvironment extends EnvironmentExpander {

    private static final long serialVersionUID = 1L;

    private final String stageId;
    /** Where it began. */
    private final String node;

    MovedEnvironment(String stageId, String node) {
        this.stageId = stageId;
        this.node = node;
    }

    @Override
    public void expand(@NonNull EnvVars env) throws IOException, InterruptedException {
        StageRecord stage = StageRegistry.get().find(stageId);
        Computer computer = stage == null || stage.node().equals(node)
                ? null
                : Jenkins.get().getComputer(stage.node());
        Node agent = computer == null ? null : computer.getNode();
        if (agent != null) {
            env.overrideAll(of(computer, agent, TaskListener.NULL));
        }
    }

    /** What an agent adds to the environment of whatever runs there. */
    static EnvVars of(Computer computer, Node node, TaskListener listener) throws IOException, InterruptedException {
        EnvVars env = computer.getEnvironment();
        env.overrideExpandingAll(computer.buildEnvironment(listener));
        env.put("NODE_NAME", node.getNodeName().isEmpty() ? node.getSelfLabel().getName() : node.getNodeName());
        env.put(
                "NODE_LABELS",
                node.getAssignedLabels().stream().map(Object::toString).collect(Collectors.joining(" ")));
        return env;
    }
}
