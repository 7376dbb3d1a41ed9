package io.jenkins.plugins.preemptible.lifecycle.agents;

import hudson.FilePath;
import hudson.model.Computer;
import hudson.model.Node;
import hudson.slaves.WorkspaceList;
import io.jenkins.plugins.preemptible.agent.MovingStage;
import io.jenkins.plugins.preemptible.lifecycle.luggage.StageLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.ExactLease;
import io.jenkins.plugins.preemptible.lifecycle.stage.LeftAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.io.IOException;
import java.util.List;

/**
 * Removes from an agent what a stage has left there: processes, image, and the temporary folders with their secrets. Where the
 * agent's process was killed while it unpacked the stage's workspace, what was there before comes back.
 */
public final class LeftStages {

    private LeftStages() {}

    /**
     * Cleans one agent. The workspace itself stays, as that of any build that has ended, unless it is half unpacked.
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
        return clean(stage.id(), agent, temporary, stage.workspace());
    }

    /** The same for one that has ended, and of which its own agent may hold the workspace half unpacked. */
    public static boolean putBack(StageRecord stage, Node agent) throws IOException, InterruptedException {
        return !LeftAgents.mayHold(stage, agent.getNodeName())
                || clean(stage.id(), agent, List.of(), stage.workspace());
    }

    /** The same for one of which nothing but that is known. */
    static boolean clean(String stageId, Node agent, List<String> temporary, String workspace)
            throws IOException, InterruptedException {
        Computer computer = agent.toComputer();
        FilePath path = agent.createPath(workspace);
        if (computer == null || path == null) {
            throw new IOException("the agent " + agent.getDisplayName() + " is offline");
        }
        WorkspaceList.Lease lease = computer.getWorkspaceList().allocate(path);
        try {
            return clean(stageId, agent, temporary, workspace, ExactLease.isOf(path, lease));
        } finally {
            lease.release();
        }
    }

    /** The same, where it is known whether the workspace is leased for this stage. */
    public static boolean clean(StageRecord stage, Node agent, boolean leased)
            throws IOException, InterruptedException {
        return clean(stage.id(), agent, temporary(stage, agent), stage.workspace(), leased);
    }

    private static List<String> temporary(StageRecord stage, Node agent) {
        return LeftAgents.of(stage).getOrDefault(agent.getNodeName(), List.of());
    }

    private static boolean clean(String stageId, Node agent, List<String> temporary, String workspace, boolean leased)
            throws IOException, InterruptedException {
        MovingStage there = MovingStage.on(agent, stageId);
        if (leased) {
            there.leave(temporary, StageLuggage.folders(workspace));
        } else {
            there.leave();
        }
        return leased;
    }
}
