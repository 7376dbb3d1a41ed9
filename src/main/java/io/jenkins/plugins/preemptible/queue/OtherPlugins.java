package io.jenkins.plugins.preemptible.queue;

import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.queue.QueueTaskDispatcher;
import java.util.stream.Stream;

/**
 * The dispatchers of other plugins, such as those that throttle builds or wait for a lock.
 *
 * <ol>
 *   <li>Each may keep an item off an agent, or off all of them.
 *   <li>{@link StageDispatcher} is left out: what it says follows from the decision, which asks here before.
 *   <li>What one of them throws is not caught here.
 * </ol>
 *
 * Off the queue's lock: nobody knows how long they take.
 */
final class OtherPlugins {

    private OtherPlugins() {}

    /** Whether none of them keeps the item off the node. */
    static boolean letTake(Node node, Queue.BuildableItem item) {
        return dispatchers().allMatch(dispatcher -> dispatcher.canTake(node, item) == null);
    }

    /** Whether none of them blocks the item. */
    static boolean letRun(Queue.Item item) {
        return dispatchers().allMatch(dispatcher -> dispatcher.canRun(item) == null);
    }

    private static Stream<QueueTaskDispatcher> dispatchers() {
        return QueueTaskDispatcher.all().stream().filter(dispatcher -> !(dispatcher instanceof StageDispatcher));
    }
}
