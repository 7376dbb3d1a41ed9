package io.jenkins.plugins.preemptible.lifecycle;

import hudson.Extension;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.CurrentObstacle;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.view.SuspendedStages;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Tells the views which stages of a build are suspended.
 *
 * <ol>
 *   <li>Asked for every build of every list that is shown.
 *   <li>Answers from the registry in memory.
 *   <li>Loads nothing.
 * </ol>
 */
@Extension
public final class ShownStages implements SuspendedStages {

    @Override
    public List<View> of(Run<?, ?> run) {
        return StageRegistry.get().suspendedOf(run.getExternalizableId()).stream()
                .map(stage -> new View(
                        stage.name(),
                        stage.shownPreemptor(),
                        stage.suspendedSinceMillis(),
                        stage.frozen(),
                        stage.memoryOnly(),
                        stage.archiveBytes(),
                        stage.byHand(),
                        stage.byHandUser(),
                        stage.unsealed(),
                        RemovedAgent.isGone(stage) ? stage.node() : null,
                        OutlivesAgent.isStored(stage) ? -1 : RemovedAgent.waitsUntilMillis(stage),
                        stage.thawByMillis(),
                        stage.moveTo(),
                        OutlivesAgent.isStored(stage),
                        stage.checkpointMillis()))
                .collect(Collectors.toList());
    }

    @Override
    public List<Running> runningOf(Run<?, ?> run) {
        String id = run.getExternalizableId();
        return StageRegistry.get().all().stream()
                .filter(stage -> stage.runId().equals(id) && stage.state() == StageState.RUNNING)
                .filter(stage -> whyNot(stage) != null || stage.canOnlyBeFrozen() || stage.resumedFrom() != null)
                .map(ShownStages::running)
                .collect(Collectors.toList());
    }

    private static Running running(StageRecord stage) {
        boolean onlyFrozen = stage.canOnlyBeFrozen();
        return new Running(
                stage.name(),
                onlyFrozen ? null : whyNot(stage),
                onlyFrozen ? stage.tie() : null,
                stage.resumedFrom(),
                stage.runningSinceMillis());
    }

    private static String whyNot(StageRecord stage) {
        return stage.leak() == null ? CurrentObstacle.now(stage) : stage.leak();
    }
}
