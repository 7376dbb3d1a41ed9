package io.jenkins.plugins.preemptible.lifecycle.agents;

import hudson.Extension;
import hudson.FilePath;
import hudson.model.Computer;
import hudson.model.TaskListener;
import hudson.remoting.Channel;
import hudson.slaves.ComputerListener;
import hudson.slaves.WorkspaceList;
import io.jenkins.plugins.preemptible.lifecycle.stage.ExactLease;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;

/**
 * Leases the workspaces of suspended stages on their own agents, so that no other build gets them.
 *
 * <ol>
 *   <li>Jenkins keeps leases in memory, with each agent: one that was removed and is added again has none.
 *   <li>They are taken before the agent takes builds; after a restart of the controller {@code AfterRestart} sees to it.
 *   <li>A stage whose workspace a build has all the same is not resumed before it has it again.
 * </ol>
 */
@Extension
public final class LeasedWorkspaces extends ComputerListener {

    @Override
    public void preOnline(Computer computer, Channel channel, FilePath root, TaskListener listener)
            throws InterruptedException {
        for (StageRecord stage : StageRegistry.get().all()) {
            LiveStage live = LiveStage.find(stage.id());
            if (live != null
                    && stage.suspended()
                    && stage.form() == StageRecord.Form.OWN
                    && stage.node().equals(computer.getName())
                    && live.leaseOn(computer) == null) {
                lease(live, computer, new FilePath(channel, stage.workspace()));
            }
        }
    }

    /** @return false when another build has the workspace */
    public static boolean lease(LiveStage live, Computer computer, FilePath workspace) throws InterruptedException {
        WorkspaceList.Lease lease = ExactLease.take(computer, workspace);
        if (lease != null) {
            live.lease(lease, computer);
        }
        return lease != null;
    }
}
