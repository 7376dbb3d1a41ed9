package io.jenkins.plugins.preemptible.lifecycle;

import hudson.Extension;
import hudson.FilePath;
import hudson.model.AsyncPeriodicWork;
import hudson.model.TaskListener;
import io.jenkins.plugins.preemptible.agent.DurableTasks;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Keeps the {@code sh} steps of suspended stages from being taken for dead.
 *
 * <ol>
 *   <li>Durable Task gives a step up when its log stays untouched over two heartbeat checks (300 s apart by default).
 *   <li>Once a minute the logs of all steps in stages that do not run are touched on their agents.
 *   <li>An agent that is away is left alone: its steps are not checked either.
 * </ol>
 */
@Extension
public final class SuspendedSteps extends AsyncPeriodicWork {

    private static final Logger LOGGER = Logger.getLogger(SuspendedSteps.class.getName());

    /** Shortened by tests that shorten the heartbeat. */
    static long periodMillis =
            Long.getLong(SuspendedSteps.class.getName() + ".periodMillis", TimeUnit.MINUTES.toMillis(1));

    public SuspendedSteps() {
        super("Preemptible stages: steps kept alive");
    }

    @Override
    public long getRecurrencePeriod() {
        return periodMillis;
    }

    @Override
    protected Level getNormalLoggingLevel() {
        return Level.FINE;
    }

    @Override
    protected void execute(TaskListener listener) {
        for (StageRecord stage : StageRegistry.get().all()) {
            // A stage is frozen from the first moment of a dump to the last of a restore.
            FilePath root = stage.state == StageState.RUNNING ? null : AbortedStage.rootOf(stage.node);
            if (root != null) {
                // Each on its own: an agent that hangs must not keep the others' steps from being kept alive.
                StageThreads.ask("touching the logs of " + stage, () -> {
                    try {
                        DurableTasks.keepAlive(root, stage.controlFolders());
                    } catch (IOException | RuntimeException x) {
                        LOGGER.log(Level.FINE, x, () -> "cannot touch the logs of " + stage);
                    }
                });
            }
        }
    }
}
