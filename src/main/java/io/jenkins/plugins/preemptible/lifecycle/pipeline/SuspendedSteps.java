package io.jenkins.plugins.preemptible.lifecycle.pipeline;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.FilePath;
import hudson.model.AsyncPeriodicWork;
import hudson.model.Node;
import hudson.model.TaskListener;
import io.jenkins.plugins.preemptible.agent.DurableTasks;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Keeps the {@code sh} steps of suspended stages from being taken for dead.
 *
 * <ol>
 *   <li>Durable Task gives a step up when its log stays untouched over two heartbeat checks (300 s apart by default).
 *       Once a minute the logs of all steps in stages that do not run are touched on their agents, also on one that is
 *       only marked offline.
 *   <li>Pipeline gives a step up when its agent has been disconnected for five minutes
 *       ({@code ExecutorPickle.timeoutForNodeMillis}). As often, that time begins anew for the same steps.
 *   <li>An agent that was removed from Jenkins gets these five minutes once, see {@code RemovedAgent}, unless the stage
 *       goes on without it. The steps of a stage that went back to its checkpoint look for no agent.
 * </ol>
 */
@Extension
public final class SuspendedSteps extends AsyncPeriodicWork {

    private static final Logger LOGGER = Logger.getLogger(SuspendedSteps.class.getName());

    public SuspendedSteps() {
        super("Preemptible stages: steps kept alive");
        String problem = OutageClock.problem();
        if (problem != null) {
            LOGGER.warning(problem);
        }
    }

    /** Shortened by tests that shorten the heartbeat. */
    @Override
    public long getRecurrencePeriod() {
        return Long.getLong(
                "io.jenkins.plugins.preemptible.lifecycle.SuspendedSteps.periodMillis", TimeUnit.MINUTES.toMillis(1));
    }

    @Override
    protected Level getNormalLoggingLevel() {
        return Level.FINE;
    }

    @Override
    protected void execute(TaskListener listener) {
        for (StageRecord stage : StageRegistry.get().all()) {
            // A stage is frozen from the first moment of a dump to the last of a restore.
            Node node = stage.state() == StageState.RUNNING ? null : Nodes.named(stage.node());
            if (stage.rolledBack() || node == null && OutlivesAgent.isStored(stage)) {
                waitForAgent(stage);
            } else if (node != null) {
                keepAlive(stage, node.getRootPath());
            }
        }
    }

    private static void keepAlive(StageRecord stage, @CheckForNull FilePath root) {
        if (root == null) {
            waitForAgent(stage);
            return;
        }
        // Each on its own: an agent that hangs must not keep the others' steps from being kept alive.
        StageThreads.askFor(stage.node(), "touching the logs of " + stage, () -> {
            try {
                DurableTasks.keepAlive(root, stage.controlFolders());
            } catch (IOException | RuntimeException x) {
                LOGGER.log(Level.FINE, x, () -> "cannot touch the logs of " + stage);
            }
        });
    }

    /** From now on the stage's steps wait as long for their agent as if it had just been disconnected. */
    public static void waitForAgent(StageRecord stage) {
        LiveStage live = LiveStage.find(stage.id());
        if (live == null) {
            // Its build is still being loaded, and its steps do not look for their agent yet.
            return;
        }
        StageThreads.ask("waiting for the agent of " + stage, () -> {
            try {
                StepsInFlight.executions(live).forEach(OutageClock::restart);
            } catch (IOException | RuntimeException x) {
                LOGGER.log(Level.FINE, x, () -> "cannot find the steps of " + stage);
            }
        });
    }
}
