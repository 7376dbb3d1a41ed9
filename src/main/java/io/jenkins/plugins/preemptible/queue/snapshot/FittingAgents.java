package io.jenkins.plugins.preemptible.queue.snapshot;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Util;
import hudson.model.Label;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.slaves.NodeProperty;
import io.jenkins.plugins.preemptible.lifecycle.agents.OtherPlugins;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.security.core.Authentication;

/**
 * Which agents fit waiting items as far as Jenkins itself is concerned: labels, permissions, what takes work at all.
 *
 * <ol>
 *   <li>Items with the same label that run as the same user are alike, and Jenkins is asked about one of them.
 *   <li>An agent that looks at more of an item than that, by a class or a property of its own, is counted as fitting by
 *       its label here; {@link Vetoes} asks it about each item.
 *   <li>Of a thousand agents that have nothing to give, one that fits is enough to know.
 * </ol>
 *
 * Made anew for each evaluation, so that no change of an agent is missed. For one thread, off the queue's lock.
 */
final class FittingAgents {

    /** Classes of nodes and of their properties that look at an item themselves. */
    private static final Map<Class<?>, Boolean> ASKING = new ConcurrentHashMap<>();

    private record Alike(@CheckForNull Label label, Authentication identity, boolean continues) {}

    /**
     * Agents for items that are alike.
     *
     * @param giving those that have something to give, as far as they fit
     * @param names of these, of those on their way, and of a busy one when there are none of both
     */
    record Candidates(List<Node> giving, Set<String> arriving, Set<String> names) {}

    private final Collection<Node> giving;
    private final Collection<Node> busy;
    private final Arrivals arrivals;
    private final ContinuedItems continued;
    private final Set<Node> asking = new HashSet<>();
    private final Map<Alike, Candidates> known = new HashMap<>();

    /**
     * @param giving agents that take work and have an idle executor, or a stage that may give way or return
     * @param busy agents that take work and have neither
     */
    FittingAgents(Collection<Node> giving, Collection<Node> busy, Arrivals arrivals, ContinuedItems continued) {
        this.giving = giving;
        this.busy = busy;
        this.arrivals = arrivals;
        this.continued = continued;
        giving.stream().filter(FittingAgents::looksAtItems).forEach(asking::add);
        busy.stream().filter(FittingAgents::looksAtItems).forEach(asking::add);
    }

    private static boolean looksAtItems(Node node) {
        return ASKING.computeIfAbsent(node.getClass(), type -> overrides(Node.class, type))
                || node.getNodeProperties().stream()
                        .anyMatch(property -> ASKING.computeIfAbsent(
                                property.getClass(), type -> overrides(NodeProperty.class, type)));
    }

    private static boolean overrides(Class<?> base, Class<?> type) {
        return Util.isOverridden(base, type, "canTake", Queue.BuildableItem.class)
                || Util.isOverridden(base, type, "canTake", Queue.Task.class);
    }

    /** @param identity as whom the item will run */
    Candidates of(Queue.BuildableItem item, @CheckForNull Label label, Authentication identity) {
        return known.computeIfAbsent(
                new Alike(label, identity, ContinuedItems.continues(item)), alike -> candidates(item, label));
    }

    private Candidates candidates(Queue.BuildableItem item, @CheckForNull Label label) {
        List<Node> fitting =
                giving.stream().filter(node -> takes(node, item, label)).toList();
        Set<String> arriving = arrivals.fitting(item);
        Set<String> names = new HashSet<>(arriving);
        fitting.forEach(node -> names.add(node.getNodeName()));
        if (names.isEmpty()) {
            busy.stream()
                    .filter(node -> takes(node, item, label))
                    .findFirst()
                    .ifPresent(node -> names.add(node.getNodeName()));
        }
        return new Candidates(fitting, arriving, Set.copyOf(names));
    }

    private boolean takes(Node node, Queue.BuildableItem item, @CheckForNull Label label) {
        if (label != null ? !label.contains(node) : node.getMode() == Node.Mode.EXCLUSIVE) {
            return false;
        }
        return (asks(node) || node.canTake(item) == null) && !continued.keepOff(node, item);
    }

    /** Whether the agent looks at more of an item than its label and its user. */
    boolean asks(Node node) {
        return asking.contains(node);
    }

    /** A busy agent that fits and lets the item take it; null when there is none. */
    @CheckForNull
    String busyFor(Queue.BuildableItem item, @CheckForNull Label label, OtherPlugins others) {
        return busy.stream()
                .filter(node -> takes(node, item, label))
                .filter(node -> !asks(node) || node.canTake(item) == null)
                .filter(node -> others.letTake(node, item))
                .findFirst()
                .map(Node::getNodeName)
                .orElse(null);
    }
}
