package io.jenkins.plugins.preemptible.simulation;

import hudson.model.Label;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.engine.simulation.workload.PastJob;
import io.jenkins.plugins.preemptible.engine.simulation.workload.SimAgent;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import jenkins.model.Jenkins;

/**
 * The agents that this controller has now, for a simulation of builds that it had.
 *
 * <ol>
 *   <li>The simulation knows labels, Jenkins knows expressions: each expression of the history becomes a label of the
 *       agents that it fits.
 *   <li>Builds that want no label go where Jenkins would let them: on agents that are not kept for others.
 *   <li>Builds that fit no agent of now, as those of a cloud that is empty, are left out and counted.
 * </ol>
 *
 * @param agents those with executors
 * @param jobs the history without what fits none of them
 */
record AgentsNow(List<SimAgent> agents, List<PastJob> jobs) {

    /** No label of Jenkins has a blank at its end. */
    private static final String NO_LABEL = "no label ";

    static AgentsNow of(List<PastJob> history) {
        Map<String, Set<String>> fitting = new HashMap<>();
        List<Node> nodes = new ArrayList<>(Jenkins.get().getNodes());
        nodes.add(Jenkins.get());
        nodes.removeIf(node -> node.getNumExecutors() < 1);
        history.stream().map(PastJob::label).distinct().forEach(label -> fitting.put(label, fitting(label, nodes)));
        List<SimAgent> agents = new ArrayList<>();
        for (Node node : nodes) {
            Set<String> labels = new HashSet<>();
            node.getAssignedLabels().forEach(label -> labels.add(label.getName()));
            fitting.forEach((label, names) -> {
                if (names.contains(name(node))) {
                    labels.add(label.isEmpty() ? NO_LABEL : label);
                }
            });
            agents.add(new SimAgent(name(node), labels, Math.min(node.getNumExecutors(), SimAgent.MOST_EXECUTORS), 0));
        }
        List<PastJob> jobs = history.stream()
                .filter(job -> !fitting.get(job.label()).isEmpty())
                .map(job -> job.label().isEmpty() ? labelled(job) : job)
                .toList();
        return new AgentsNow(List.copyOf(agents), jobs);
    }

    private static Set<String> fitting(String label, List<Node> nodes) {
        Set<String> names = new TreeSet<>();
        try {
            Label parsed = label.isEmpty() ? null : Label.parseExpression(label);
            for (Node node : nodes) {
                if (parsed == null ? node.getMode() == Node.Mode.NORMAL : parsed.matches(node)) {
                    names.add(name(node));
                }
            }
        } catch (IllegalArgumentException e) {
            // It fits none then: an expression of the past that Jenkins does not understand any more.
            return Set.of();
        }
        return names;
    }

    private static String name(Node node) {
        return node.getNodeName().isEmpty() ? "built-in node " : node.getNodeName();
    }

    private static PastJob labelled(PastJob job) {
        return new PastJob(
                job.name(),
                job.queuedMillis(),
                job.startedMillis(),
                job.endedMillis(),
                NO_LABEL,
                job.priority(),
                job.owner(),
                job.preemptible(),
                job.memoryBytes());
    }
}
