package io.jenkins.plugins.preemptible.lifecycle;

import hudson.Extension;
import hudson.model.PeriodicWork;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jenkinsci.plugins.workflow.flow.FlowExecutionList;

/**
 * Drops stages whose build did not come back after a restart of the controller.
 *
 * <ol>
 *   <li>Until a stage is taken up again nobody else is dispatched on its agent, so one that nobody takes up would
 *       block that agent for ever.
 *   <li>When Pipeline has loaded all its builds, a stage whose build is gone or has ended is lost.
 *   <li>Its record is dropped, its key with it, and what is left on the agent is removed.
 *   <li>A build can also end without ending its steps: one that is killed hard, or whose program cannot be saved. Its stage
 *       gives its executor back.
 * </ol>
 */
@Extension
public final class LostStages extends PeriodicWork {

    private static final Logger LOGGER = Logger.getLogger(LostStages.class.getName());
    private static final long PERIOD_MILLIS = TimeUnit.SECONDS.toMillis(10);

    /** Stages of builds that had ended at the last look; used by one thread. */
    private Set<String> endedBefore = Set.of();

    @Override
    public long getRecurrencePeriod() {
        return PERIOD_MILLIS;
    }

    @Override
    public long getInitialDelay() {
        return PERIOD_MILLIS;
    }

    @Override
    protected void doRun() {
        if (!FlowExecutionList.get().isResumptionComplete()) {
            return;
        }
        Set<String> ended = new HashSet<>();
        for (StageRecord stage : StageRegistry.get().all()) {
            Run<?, ?> run = Run.fromExternalizableId(stage.runId());
            if (run != null && run.isBuilding()) {
                continue;
            }
            LiveStage live = LiveStage.find(stage.id());
            if (live == null) {
                LOGGER.log(Level.WARNING, "{0} is dropped: its build did not come back after the restart", stage);
                Ending.ofLost(stage, run);
            } else if (!endedBefore.contains(stage.id())) {
                // A build that just ends its steps looks the same: the next look tells.
                ended.add(stage.id());
            } else if (!live.ending()) {
                LOGGER.log(Level.WARNING, "{0} is ended: its build has ended without it", stage);
                live.hold().abandon();
                Ending.of(live, run);
            }
        }
        endedBefore = ended;
    }
}
