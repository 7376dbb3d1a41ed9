package io.jenkins.plugins.preemptible.lifecycle;

import hudson.Extension;
import hudson.model.Computer;
import hudson.model.Node;
import hudson.model.TaskListener;
import hudson.slaves.ComputerListener;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;

/**
 * Looks for stages as soon as the agent is back that is to have them in its memory only, or that had them when it was taken for
 * lost: a host that restarted has lost them.
 */
@Extension
public final class ReturnedAgents extends ComputerListener {

    @Override
    public void onOnline(Computer computer, TaskListener listener) {
        Node node = computer.getNode();
        if (node == null) {
            return;
        }
        for (StageRecord stage : StageRegistry.get().all()) {
            if (stage.node().equals(node.getNodeName())
                    && stage.state() == StageState.SUSPENDED
                    && (stage.memoryOnly() || stage.rolledBack())) {
                Sealing.takeUp(stage.id());
            }
        }
    }
}
