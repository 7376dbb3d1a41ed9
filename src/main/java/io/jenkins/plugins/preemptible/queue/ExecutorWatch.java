package io.jenkins.plugins.preemptible.queue;

import hudson.Extension;
import hudson.model.Executor;
import hudson.model.ExecutorListener;
import hudson.model.Queue;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;

/**
 * Notices when an executor becomes free.
 *
 * <ol>
 *   <li>The end of any task is a chance for a suspended stage.
 *   <li>The look comes a moment later, when the executor shows as idle and Jenkins has served its own queue.
 *   <li>Nothing is done when no stage is known.
 * </ol>
 */
@Extension
public final class ExecutorWatch implements ExecutorListener {

    @Override
    public void taskCompleted(Executor executor, Queue.Task task, long durationMillis) {
        look();
    }

    @Override
    public void taskCompletedWithProblems(Executor executor, Queue.Task task, long durationMillis, Throwable problems) {
        look();
    }

    private static void look() {
        if (!StageRegistry.get().isEmpty()) {
            Preemption.soon(QueueWatch.SETTLE_MILLIS);
        }
    }
}
