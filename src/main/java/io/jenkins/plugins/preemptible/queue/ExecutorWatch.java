package io.jenkins.plugins.preemptible.queue;

import hudson.Extension;
import hudson.model.Executor;
import hudson.model.ExecutorListener;
import hudson.model.Queue;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.event.StageSealed;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageStateListener;
import io.jenkins.plugins.preemptible.move.MoveTargetsListener;

/**
 * Notices when an executor becomes free for a suspended stage, or another agent's executor becomes fit for it.
 *
 * <ol>
 *   <li>The end of any task is a chance for a suspended stage.
 *   <li>The evaluation comes a moment later, when the executor shows as idle and Jenkins has served its own queue.
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

    /** A move must not wait for the clock: the stage is sealed, its image was tried on an agent, or that agent is known. */
    @Extension
    public static final class OfMoves implements MoveTargetsListener, StageListener, StageStateListener {
        @Override
        public void onMoveTargetsChanged() {
            Preemption.soon(0);
        }

        @Override
        public void onSealed(StageSealed event) {
            Preemption.soon(0);
        }

        /** Also when a stage's image and workspace are stored: it is tried elsewhere while its frozen processes are killed. */
        @Override
        public void stateChanged(String node) {
            Preemption.soon(0);
        }
    }
}
