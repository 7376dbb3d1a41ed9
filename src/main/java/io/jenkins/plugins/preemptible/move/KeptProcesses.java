package io.jenkins.plugins.preemptible.move;

import hudson.model.Computer;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import io.jenkins.plugins.preemptible.lifecycle.agents.LeftStages;
import io.jenkins.plugins.preemptible.lifecycle.luggage.StageLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import jenkins.model.Jenkins;

/**
 * The processes that a stage was thought to have lost when it went back to its checkpoint: from there it would run twice.
 *
 * <ol>
 *   <li>{@link #areBack}: the stage's own agent has them again. What runs there is frozen, and the stage keeps it.
 *   <li>{@link #endUnderOtherNames}: their host has connected as another agent. The stage cannot go on there; they are ended.
 * </ol>
 *
 * Under the stage's operation lock; blocks.
 */
final class KeptProcesses {

    private static final Logger LOGGER = Logger.getLogger(KeptProcesses.class.getName());

    private KeptProcesses() {}

    /** False also where the agent is away or does not answer. */
    static boolean areBack(StageRecord stage) throws InterruptedException {
        Node own = Nodes.named(stage.node());
        if (!stage.rolledBack() || own == null || Nodes.rootOf(stage.node()) == null) {
            return false;
        }
        try {
            AgentStage.Held held = AgentStage.on(own, stage.id()).hold();
            return held == AgentStage.Held.FROZEN || held == AgentStage.Held.BUSY;
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> "it is not known what the agent of " + stage + " has");
            return false;
        }
    }

    /** Of a stage that is to be restored now. An agent that fails at it is cleaned when it connects again. */
    static void endUnderOtherNames(StageRecord stage) throws InterruptedException {
        SealedLuggage sealed = stage.luggage();
        HostTraits lost = sealed == null ? null : sealed.host();
        if (!stage.rolledBack() || lost == null || lost.token().isEmpty()) {
            return;
        }
        List<Node> there = Stream.of(Jenkins.get().getComputers())
                .filter(computer -> isOn(computer, lost.token()))
                .map(Computer::getNode)
                .filter(Objects::nonNull)
                .toList();
        if (there.stream().anyMatch(node -> node.getNodeName().equals(stage.node()))) {
            // Agents that share its folder: what is there is for its own one to find.
            return;
        }
        for (Node node : there) {
            try {
                LeftStages.clean(stage, node, StageLuggage.temporary(stage));
            } catch (IOException | RuntimeException x) {
                LOGGER.log(Level.WARNING, x, () -> "cannot end what " + node.getNodeName() + " has of " + stage);
            }
        }
    }

    private static boolean isOn(Computer computer, String token) {
        HostTraits traits = AgentTraits.of(computer);
        return traits != null && traits.token().equals(token);
    }
}
