package io.jenkins.plugins.preemptible.queue;

import hudson.model.InvisibleAction;
import hudson.model.Queue;
import hudson.model.queue.FoldableAction;
import java.util.List;

/**
 * The priority that a build had when it was queued, kept with the build.
 *
 * <ol>
 *   <li>Put on the queue item as soon as Priority Sorter has settled its priority; Jenkins hands an item's actions on
 *       to its build.
 *   <li>Persisted there, so a stage finds its priority after a restart, when Priority Sorter has forgotten it.
 *   <li>Belongs to one build, so jobs of the same short name in two folders do not mix, as they do in Priority
 *       Sorter's own cache.
 * </ol>
 */
public final class RunPriorityAction extends InvisibleAction implements FoldableAction {

    private final int priority;

    RunPriorityAction(int priority) {
        this.priority = priority;
    }

    public int priority() {
        return priority;
    }

    @Override
    public void foldIntoExisting(Queue.Item item, Queue.Task owner, List<hudson.model.Action> otherActions) {
        // The item keeps the priority it was queued with, as in Priority Sorter.
    }
}
