package io.jenkins.plugins.preemptible.move;

import hudson.model.Node;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.lifecycle.Restorer.PostponedException;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StrangeHost;
import java.io.IOException;

/**
 * The host of an agent that was asked to restore a stage and has not answered.
 *
 * <p>The stage may run there. Another host that connects by the agent's name knows nothing of that, see {@link StrangeHost}: it is
 * not asked for the stage, and no word of it counts.
 */
final class AskedHost {

    private AskedHost() {}

    /** @throws PostponedException when the agent is known to have another host now */
    static void requireNoOther(StageRecord stage, Node agent) throws IOException, InterruptedException {
        String now = AgentTraits.asked(agent).token();
        if (!stage.restoringHost().isEmpty()
                && !now.isEmpty()
                && !stage.restoringHost().equals(now)) {
            throw strange(agent);
        }
    }

    private static boolean isKnown(StageRecord stage, Node agent) throws IOException, InterruptedException {
        return !stage.restoringHost().isEmpty()
                && stage.restoringHost().equals(AgentTraits.asked(agent).token());
    }

    /**
     * After an answer that there was nothing to be resumed. The right host has no record, either, where it died before the restore
     * began: only its token tells.
     *
     * @throws PostponedException when that does not mean that no process of the stage is there
     */
    static void requireNothing(StageRecord stage, Node agent) throws IOException, InterruptedException {
        AgentStage.Held left = AgentStage.on(agent, stage.id()).hold();
        if (left == AgentStage.Held.FROZEN || left == AgentStage.Held.BUSY) {
            // Another call, whose answer was lost, may just have come to its end.
            throw new PostponedException("The agent is still at work on its processes.");
        }
        if (left == AgentStage.Held.UNKNOWN && OutlivesAgent.isAwaited(stage) && !isKnown(stage, agent)) {
            throw strange(agent);
        }
    }

    private static PostponedException strange(Node agent) {
        return new PostponedException(StrangeHost.sentenceOfAsked(agent.getNodeName()));
    }
}
