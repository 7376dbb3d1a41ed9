package io.jenkins.plugins.preemptible.queue.snapshot;

import hudson.model.Computer;
import hudson.model.Executor;
import hudson.model.Node;
import hudson.model.queue.WorkUnit;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.BusyExecutor;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.PlaceholderAccess;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.step.StageTask;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Executors that run something other than preemptible stages and are expected to be free soon.
 *
 * <ol>
 *   <li>A build ends when the time has passed that its job's earlier builds took: {@link Durations}, else what Jenkins
 *       estimated when the build began.
 *   <li>A node block has that of its whole build, counted from the block's own beginning. That is the most that it may need,
 *       so a stage rather moves than waits for a block that goes on.
 *   <li>What has no such time, or has run for longer, is left out.
 *   <li>An executor with a stage on it is left out, too, whatever becomes of the stage: the policy knows those that run, and
 *       one that is being suspended frees its executor for somebody else.
 * </ol>
 *
 * Asks each executor for what it keeps in memory, and no build. Never under the queue's lock.
 */
final class BusyExecutors {

    private static final Logger LOGGER = Logger.getLogger(BusyExecutors.class.getName());

    private static final long MOST_MILLIS = TimeUnit.DAYS.toMillis(365);

    private BusyExecutors() {}

    static List<BusyExecutor> of(Set<String> agents) {
        List<BusyExecutor> busy = new ArrayList<>();
        for (String agent : agents) {
            Node node = Nodes.named(agent);
            Computer computer = node == null ? null : node.toComputer();
            if (computer == null) {
                continue;
            }
            for (Executor executor : computer.getExecutors()) {
                long remaining = remainingMillis(executor);
                if (remaining > 0) {
                    busy.add(new BusyExecutor(agent, System.currentTimeMillis() + Math.min(remaining, MOST_MILLIS)));
                }
            }
        }
        return busy;
    }

    /** @return 0 or less when that is unknown */
    private static long remainingMillis(Executor executor) {
        try {
            WorkUnit unit = executor.getCurrentWorkUnit();
            if (unit == null || isOfStage(unit)) {
                return 0;
            }
            long expected = Durations.of(unit.work);
            return expected > 0 ? expected - executor.getElapsedTime() : executor.getEstimatedRemainingTimeMillis();
        } catch (RuntimeException | LinkageError x) {
            // Other plugins' tasks are asked; one that fails must not stop the evaluation of all others.
            LOGGER.log(Level.WARNING, x, () -> "cannot tell when " + executor + " will be free");
            return 0;
        }
    }

    private static boolean isOfStage(WorkUnit unit) {
        return unit.work instanceof StageTask
                || StageRegistry.get().ofPlaceholder(PlaceholderAccess.context(unit.work)) != null;
    }
}
