package io.jenkins.plugins.preemptible.queue.snapshot;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Computer;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.move.Misfit;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.lifecycle.agents.OtherPlugins;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.move.MoveTargets;
import jenkins.model.Jenkins;

/**
 * Why a suspended stage that is to leave its agent has no agent to go to at this moment.
 *
 * <ol>
 *   <li>A user has named an agent: what stands against that one.
 *   <li>Its own agent is drained: what stands against all others.
 *   <li>The policy says it only where it finds no agent. All other stages wait for their own one.
 * </ol>
 */
final class Nowhere {

    private Nowhere() {}

    /** @return null when it is the agent that does not accept it, or the stage is to go nowhere else */
    @CheckForNull
    static Reason why(StageRecord stage, LiveStage live, OtherPlugins others) {
        boolean moves = PreemptibleConfiguration.get().isMoveStages();
        if (moves && stage.moveTo() != null) {
            return wished(stage, live, others);
        }
        if (!DrainedAgents.get().contains(stage.node())) {
            return null;
        }
        if (moves && stage.form() == StageRecord.Form.OWN && stage.frozen() && !stage.memoryOnly()) {
            return Reason.IMAGE_NOT_SEALED;
        }
        boolean fits = MoveTargets.fitting(stage, live).stream()
                .anyMatch(agent -> !DrainedAgents.get().contains(agent));
        return fits ? Reason.NO_IDLE_EXECUTOR : Reason.OWN_AGENT_DRAINED;
    }

    @CheckForNull
    private static Reason wished(StageRecord stage, LiveStage live, OtherPlugins others) {
        String wish = stage.moveTo();
        if (wish == null) {
            return null;
        }
        Node agent = Nodes.named(wish);
        Misfit misfit = MoveTargets.obstacle(stage, live, agent);
        if (misfit != null) {
            return switch (misfit.obstacle()) {
                case NOT_SEALED -> Reason.IMAGE_NOT_SEALED;
                case AGENT_AWAY -> null;
                default -> Reason.WISHED_AGENT_CANNOT;
            };
        }
        Computer computer = Jenkins.get().getComputer(wish);
        if (computer == null || DrainedAgents.get().contains(wish)) {
            return null;
        }
        if (computer.countIdle() == 0) {
            return Reason.NO_IDLE_EXECUTOR;
        }
        return others.letTake(agent, stage, live) ? Reason.WISHED_AGENT_TRIED : null;
    }
}
