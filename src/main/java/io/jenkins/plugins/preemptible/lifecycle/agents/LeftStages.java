package io.jenkins.plugins.preemptible.lifecycle.agents;

import hudson.FilePath;
import hudson.model.Computer;
import hudson.model.Node;
import hudson.slaves.WorkspaceList;
import io.jenkins.plugins.preemptible.agent.MovingStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.ExactLease;
import io.jenkins.plugins.preemptible.lifecycle.stage.LeftAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.io.IOException;
import java.util.List;

/** Removes from an agent what a stage has left there: processes, image, and the temporary folders with their secrets. */
public final class LeftStages {

    private LeftStages() {}

    /**
     * Cleans one agent. The workspace itself stays, as that of any build that has ended.
     *
     * @return false when another build has the workspace, and with it the temporary folders, which are left alone then
     * @throws IOException when the agent is offline or fails
     */
    public static boolean clean(StageRecord stage, Node agent) throws IOException, InterruptedException {
        return clean(stage, agent, temporary(stage, agent));
    }

    /** The same for one of another name than the agent that the stage has left. */
    public static boolean clean(StageRecord stage, Node agent, List<String> temporary)
            throws IOException, InterruptedException {
        Computer computer = agent.toComputer();
        FilePath workspace = agent.createPath(stage.workspace());
        if (computer == null || workspace == null) {
            throw new IOException("the agent " + agent.getDisplayName() + " is offline");
        }
        WorkspaceList.Lease lease = computer.getWorkspaceList().allocate(workspace);
        try {
            return clean(stage, agent, temporary, ExactLease.isOf(workspace, lease));
        } finally {
            lease.release();
        }
    }

    /** The same, where it is known whether the workspace is leased for this stage. */
    public static boolean clean(StageRecord stage, Node agent, boolean leased)
            throws IOException, InterruptedException {
        return clean(stage, agent, temporary(stage, agent), leased);
    }

    private static List<String> temporary(StageRecord stage, Node agent) {
        return LeftAgents.temporary(stage, agent.getNodeName());
    }

    private static boolean clean(StageRecord stage, Node agent, List<String> temporary, boolean leased)
            throws IOException, InterruptedException {
        MovingStage.on(agent, stage.id()).leave(leased ? temporary : List.of());
        return leased || temporary.isEmpty();
    }
}
