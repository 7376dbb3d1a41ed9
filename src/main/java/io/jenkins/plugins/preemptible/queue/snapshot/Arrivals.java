package io.jenkins.plugins.preemptible.queue.snapshot;

import hudson.model.Computer;
import hudson.model.Label;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.slaves.NodeProvisioner;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.AgentState;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import jenkins.model.Jenkins;

/**
 * Agents that are on their way: nobody has to be suspended for an item that one of them will take.
 *
 * <ol>
 *   <li>What clouds are starting, by the label that it was asked for, as {@link NodeProvisioner} plans it.
 *   <li>Agents that exist and are just being connected.
 *   <li>They get names that no agent can have, and count as so many idle executors.
 * </ol>
 *
 * Read off the queue's lock, for one snapshot.
 */
final class Arrivals {

    /** No agent's name may have a slash. */
    private static final String PREFIX = "arriving/";

    private final List<Snapshot.Agent> agents = new ArrayList<>();
    /** Names of planned agents by the label for which they are planned; null = for items without one. */
    private final Map<Label, Set<String>> planned = new HashMap<>();
    /** Names of agents that are being connected, with their nodes. */
    private final Map<String, Node> connecting = new HashMap<>();

    Arrivals(Jenkins jenkins) {
        plan(null, jenkins.unlabeledNodeProvisioner);
        for (Label label : jenkins.getLabels()) {
            plan(label, label.nodeProvisioner);
        }
        for (Computer computer : jenkins.getComputers()) {
            Node node = computer.getNode();
            if (node != null && computer.isConnecting() && computer.isOffline() && node.isAcceptingTasks()) {
                String name = PREFIX + "connecting/" + node.getNodeName();
                connecting.put(name, node);
                agents.add(onItsWay(name, node.getNumExecutors()));
            }
        }
    }

    private void plan(Label label, NodeProvisioner provisioner) {
        int number = 0;
        for (NodeProvisioner.PlannedNode node : provisioner.getPendingLaunches()) {
            String name = PREFIX + (label == null ? "" : label.getName()) + "/" + number++;
            planned.computeIfAbsent(label, key -> new HashSet<>()).add(name);
            agents.add(onItsWay(name, node.numExecutors));
        }
    }

    private static Snapshot.Agent onItsWay(String name, int executors) {
        return new Snapshot.Agent(name, Set.of(), Math.max(0, executors), true, AgentState.ON_ITS_WAY, -1, 0, 0, 0);
    }

    List<Snapshot.Agent> agents() {
        return agents;
    }

    /** Those of them that will take the item. */
    Set<String> fitting(Queue.BuildableItem item) {
        Label label = item.getAssignedLabel();
        Set<String> fitting = new HashSet<>(planned.getOrDefault(label, Set.of()));
        connecting.forEach((name, node) -> {
            if ((label == null || label.contains(node)) && node.canTake(item) == null) {
                fitting.add(name);
            }
        });
        return fitting;
    }
}
