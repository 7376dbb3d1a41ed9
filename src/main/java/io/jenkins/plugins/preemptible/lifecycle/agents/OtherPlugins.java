package io.jenkins.plugins.preemptible.lifecycle.agents;

import hudson.Util;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.queue.QueueTaskDispatcher;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jenkinsci.plugins.durabletask.executors.ContinuedTask;

/**
 * The dispatchers of other plugins that may keep items off agents, such as those that throttle builds.
 *
 * <ol>
 *   <li>Our own ({@link Ours}) are left out: what they say follows from the decision, which asks here before.
 *   <li>That of {@link ContinuedTask} is left out too: it walks through the whole queue for each question, and says the same
 *       of all items.
 *   <li>One that throws keeps the item off the agent, as it does for Jenkins' own queue.
 * </ol>
 *
 * Of one moment. Off the queue's lock: nobody knows how long they take.
 */
public final class OtherPlugins {

    /** A dispatcher of this plugin. */
    public interface Ours {}

    private static final Logger LOGGER = Logger.getLogger(OtherPlugins.class.getName());

    private static final ClassValue<Boolean> OF_ITEM = overriding(Node.class, Queue.BuildableItem.class);
    private static final ClassValue<Boolean> OF_TASK = overriding(Node.class, Queue.Task.class);

    /** Those that may keep anything off an agent. */
    private final List<QueueTaskDispatcher> dispatchers;

    private final boolean ofTaskOnly;

    private OtherPlugins(List<QueueTaskDispatcher> dispatchers) {
        this.dispatchers = dispatchers;
        this.ofTaskOnly = dispatchers.stream().noneMatch(dispatcher -> OF_ITEM.get(dispatcher.getClass()));
    }

    public static OtherPlugins now() {
        return new OtherPlugins(QueueTaskDispatcher.all().stream()
                .filter(dispatcher -> !(dispatcher instanceof Ours) && !isOfContinuedTasks(dispatcher))
                .filter(dispatcher -> OF_ITEM.get(dispatcher.getClass()) || OF_TASK.get(dispatcher.getClass()))
                .toList());
    }

    /** Looked up once for each class: this is asked at every look at the queue, and a class without it costs several exceptions. */
    private static ClassValue<Boolean> overriding(Class<?>... arguments) {
        return new ClassValue<>() {
            @Override
            protected Boolean computeValue(Class<?> type) {
                return Util.isOverridden(QueueTaskDispatcher.class, type, "canTake", arguments);
            }
        };
    }

    public static boolean isOfContinuedTasks(QueueTaskDispatcher dispatcher) {
        return dispatcher.getClass().getEnclosingClass() == ContinuedTask.class;
    }

    /** Whether there is nobody to ask {@link #letTake}. */
    public boolean none() {
        return dispatchers.isEmpty();
    }

    /** Whether the answers depend on an item's task, and on nothing else of the item. */
    public boolean ofTaskOnly() {
        return ofTaskOnly;
    }

    /** Whether none of them would keep the stage off an agent where it has not run before. */
    public boolean letTake(Node node, StageRecord stage, LiveStage live) {
        Queue.BuildableItem item = live.hold().asItem(stage, node);
        return item == null || letTake(node, item);
    }

    /** Whether none of them keeps the item off the node. */
    public boolean letTake(Node node, Queue.BuildableItem item) {
        return dispatchers.stream().allMatch(dispatcher -> lets(dispatcher, node, item));
    }

    private static boolean lets(QueueTaskDispatcher dispatcher, Node node, Queue.BuildableItem item) {
        try {
            return dispatcher.canTake(node, item) == null;
        } catch (RuntimeException | LinkageError x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot tell whether " + item + " may run on " + node);
            return false;
        }
    }

    /** Whether none of them blocks the item. What one throws is not caught. */
    public static boolean letRun(Queue.Item item) {
        return QueueTaskDispatcher.all().stream()
                .filter(dispatcher -> !(dispatcher instanceof Ours))
                .allMatch(dispatcher -> dispatcher.canRun(item) == null);
    }
}
