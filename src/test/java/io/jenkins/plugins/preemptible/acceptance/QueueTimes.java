package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;

import hudson.ExtensionList;
import hudson.model.Executor;
import hudson.model.ExecutorListener;
import hudson.model.Queue;
import hudson.model.Run;
import hudson.model.queue.QueueListener;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jenkinsci.plugins.workflow.support.steps.ExecutorStepExecution.PlaceholderTask;

/**
 * How long each build's {@code node} block waited: from buildable until its executor ran it.
 *
 * <ol>
 *   <li>{@link #listen} adds listeners to a running Jenkins, as any plugin might.
 *   <li>Both moments are taken in the listeners themselves, so polling adds nothing to them.
 *   <li>{@link #waitedMillis} waits until the block runs, with a deadline.
 * </ol>
 */
final class QueueTimes {

    private final Map<String, Long> buildable = new ConcurrentHashMap<>();
    private final Map<String, Long> buildableSince = new ConcurrentHashMap<>();
    private final Map<String, Long> running = new ConcurrentHashMap<>();

    private QueueTimes() {}

    static QueueTimes listen() {
        QueueTimes times = new QueueTimes();
        ExtensionList.lookup(QueueListener.class).add(new QueueListener() {
            @Override
            public void onEnterBuildable(Queue.BuildableItem item) {
                note(times.buildable, item.task, System.nanoTime());
                note(times.buildableSince, item.task, System.currentTimeMillis());
            }
        });
        ExtensionList.lookup(ExecutorListener.class).add(new ExecutorListener() {
            @Override
            public void taskStarted(Executor executor, Queue.Task task) {
                note(times.running, task, System.nanoTime());
            }
        });
        return times;
    }

    private static void note(Map<String, Long> moments, Queue.Task task, long now) {
        if (task instanceof PlaceholderTask && task.getOwnerExecutable() instanceof Run) {
            moments.putIfAbsent(((Run<?, ?>) task.getOwnerExecutable()).getExternalizableId(), now);
        }
    }

    /** Waits until the build's first block has an executor; then the time that it was buildable without one. */
    long waitedMillis(String runId) {
        await(runId + " on an executor").atMost(Rig.PATIENCE).until(() -> running.containsKey(runId));
        return (running.get(runId) - buildable.get(runId)) / 1_000_000;
    }

    /** When the build's first block was buildable, in milliseconds since 1970. */
    long buildableMillis(String runId) {
        return buildableSince.get(runId);
    }

    boolean runs(String runId) {
        return running.containsKey(runId);
    }
}
