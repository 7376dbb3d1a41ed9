package io.jenkins.plugins.preemptible.queue;

import hudson.Extension;
import hudson.model.Job;
import hudson.model.Queue;
import hudson.model.Run;
import hudson.model.queue.QueueListener;
import io.jenkins.plugins.preemptible.priority.Priorities;
import io.jenkins.plugins.preemptible.step.StageTask;
import jenkins.advancedqueue.PrioritySorterConfiguration;
import jenkins.advancedqueue.sorter.ItemInfo;
import jenkins.advancedqueue.sorter.QueueItemCache;
import jenkins.advancedqueue.sorter.SorterStrategy;
import jenkins.advancedqueue.sorter.StartedJobItemCache;

/**
 * Priorities as Priority Sorter has them.
 *
 * <ol>
 *   <li>A job's item: what Priority Sorter settled when it entered the queue; noted on the item, and thereby on the
 *       build, by {@link Recorder}.
 *   <li>A node block of a build, and a stage whose step asks for no priority: the build's noted one.
 *   <li>Only where nothing was noted (builds older than this plugin): Priority Sorter's cache by short name, then its
 *       default.
 * </ol>
 *
 * Present only when the Priority Sorter plugin is.
 */
@Extension(ordinal = 100, optional = true)
public final class PrioritySorterPriorities extends Priorities {

    @Override
    public int lowest() {
        return strategy().getNumberOfPriorities();
    }

    @Override
    public int ordinary() {
        return strategy().getDefaultPriority();
    }

    @Override
    public int ofBuild(Run<?, ?> run) {
        return ofRun(run);
    }

    @Override
    public int ofStageByDefault(Run<?, ?> run) {
        return ofRun(run);
    }

    @Override
    public int ofItem(Queue.Item item) {
        if (item.task instanceof StageTask) {
            return ((StageTask) item.task).priority();
        }
        RunPriorityAction noted = item.getAction(RunPriorityAction.class);
        if (noted != null) {
            return noted.priority();
        }
        Queue.Executable owner = item.task.getOwnerExecutable();
        if (owner instanceof Run) {
            return ofRun((Run<?, ?>) owner);
        }
        ItemInfo info = QueueItemCache.get().getItem(item.getId());
        return info == null ? strategy().getDefaultPriority() : info.getPriority();
    }

    private static int ofRun(Run<?, ?> run) {
        RunPriorityAction noted = run.getAction(RunPriorityAction.class);
        if (noted != null) {
            return noted.priority();
        }
        ItemInfo info = StartedJobItemCache.get().getStartedItem(run.getParent().getName(), run.getNumber());
        return info == null ? strategy().getDefaultPriority() : info.getPriority();
    }

    private static SorterStrategy strategy() {
        return PrioritySorterConfiguration.get().getStrategy();
    }

    /** Notes each job's priority on its item; runs after Priority Sorter's own listener, which settles it. */
    @Extension(ordinal = -100, optional = true)
    public static final class Recorder extends QueueListener {

        @Override
        public void onEnterWaiting(Queue.WaitingItem item) {
            ItemInfo info = QueueItemCache.get().getItem(item.getId());
            if (info == null) {
                return;
            }
            if (item.task instanceof StageTask) {
                // Priority Sorter knows no task but jobs and gives others its default.
                info.setPrioritySelection(((StageTask) item.task).priority());
                strategy().onNewItem(item, info);
            } else if (item.task instanceof Job) {
                item.addAction(new RunPriorityAction(info.getPriority()));
            }
        }
    }
}
