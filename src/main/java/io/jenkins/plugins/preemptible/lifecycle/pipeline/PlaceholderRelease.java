package io.jenkins.plugins.preemptible.lifecycle.pipeline;

import hudson.model.Executor;
import hudson.model.Queue;
import hudson.security.ACL;
import hudson.security.ACLContext;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import jenkins.model.queue.AsynchronousExecution;
import org.jenkinsci.plugins.workflow.support.steps.ExecutorStepExecution.PlaceholderTask;

/**
 * Takes the executor from a {@code node} block without ending the block.
 *
 * <ol>
 *   <li>The block's placeholder goes into the queue while it still runs, where our veto holds it back: so Pipeline's
 *       own sweep, which cancels blocks that are neither queued nor running, sees no gap.
 *   <li>Its execution is completed, which frees the executor and kills nothing.
 *   <li>The handles of that run are forgotten, as the placeholder's next run expects.
 * </ol>
 *
 * The veto is the stage's saved state, so it must be suspended when this is called. The order is the one that the
 * controller's own restart uses; any other lost a race (docs/design.md).
 */
public final class PlaceholderRelease {

    private static final long LONGEST_WAIT_MILLIS = TimeUnit.SECONDS.toMillis(5);

    private PlaceholderRelease() {}

    /**
     * @throws IOException when the block has no executor to give, or Pipeline would not queue it
     */
    public static void run(StageRecord stage) throws IOException {
        run(stage, () -> {});
    }

    /**
     * The same, after the first turn that a restart of the controller gave to the block: the veto, which that turn had
     * lifted, holds again before the block is queued, or it would be dispatched a second time, with nobody to release it.
     * Not on a Pipeline's thread, nor under the queue's lock.
     *
     * @throws IOException as above
     */
    public static void afterFirstTurn(LiveStage live) throws IOException, InterruptedException {
        // The search for suspended stages that were left on an executor passes over busy ones.
        live.operation().lockInterruptibly();
        try {
            StageRecord stage = StageRegistry.get().find(live.id());
            if (stage != null && stage.suspended()) {
                run(stage, () -> StageRegistry.get().firstTurnDone(stage.id()));
            }
        } finally {
            live.operation().unlock();
        }
    }

    private static void run(StageRecord stage, Runnable beforeQueued) throws IOException {
        if (!stage.suspended()) {
            throw new IllegalStateException(stage + " is not suspended: its placeholder would be dispatched at once");
        }
        Executor executor = PlaceholderAccess.executor(stage.placeholder());
        PlaceholderTask task = PlaceholderAccess.on(executor);
        if (task == null) {
            throw new IOException("the node block around " + stage + " has no executor");
        }
        AsynchronousExecution execution = awaitExecution(executor);
        beforeQueued.run();
        try (ACLContext system = ACL.as2(ACL.SYSTEM2)) {
            if (Queue.getInstance().schedule2(task, 0).getItem() == null) {
                throw new IOException("the queue does not take the node block around " + stage);
            }
            execution.completed(null);
            PlaceholderAccess.forget(stage.placeholder());
        }
    }

    /** A placeholder that has just arrived throws its execution a moment later. */
    private static AsynchronousExecution awaitExecution(Executor executor) throws IOException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LONGEST_WAIT_MILLIS);
        while (true) {
            AsynchronousExecution execution = executor.getAsynchronousExecution();
            if (execution != null) {
                return execution;
            }
            if (System.nanoTime() > end) {
                throw new IOException("the node block has not taken its executor up");
            }
            try {
                Thread.sleep(5);
            } catch (InterruptedException x) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted", x);
            }
        }
    }
}
