package io.jenkins.plugins.preemptible.queue.snapshot;

import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.queue.QueueTaskDispatcher;
import io.jenkins.plugins.preemptible.lifecycle.agents.OtherPlugins;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import org.jenkinsci.plugins.durabletask.executors.ContinuedTask;

/**
 * Agents that are kept for what ran there before a restart of the controller, as {@link ContinuedTask} wants it.
 *
 * <ol>
 *   <li>Each such item that is buildable keeps all others off the agents that it fits.
 *   <li>Its dispatcher walks through the whole queue for each question: it is asked once an agent, and only while there is
 *       such an item.
 * </ol>
 *
 * Of one moment, for one thread.
 */
final class ContinuedItems {

    private final boolean any;
    private final Map<Node, Boolean> held = new HashMap<>();

    ContinuedItems(Collection<Queue.BuildableItem> buildable) {
        any = buildable.stream().anyMatch(ContinuedItems::continues);
    }

    static boolean continues(Queue.BuildableItem item) {
        return item.task instanceof ContinuedTask task && task.isContinued();
    }

    /** Whether the agent is kept for another item. */
    boolean keepOff(Node node, Queue.BuildableItem item) {
        return any && !continues(item) && held.computeIfAbsent(node, key -> isHeld(key, item));
    }

    private static boolean isHeld(Node node, Queue.BuildableItem item) {
        return QueueTaskDispatcher.all().stream()
                .filter(OtherPlugins::isOfContinuedTasks)
                .anyMatch(dispatcher -> dispatcher.canTake(node, item) != null);
    }
}
