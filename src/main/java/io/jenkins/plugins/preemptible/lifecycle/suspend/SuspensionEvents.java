package io.jenkins.plugins.preemptible.lifecycle.suspend;

import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.event.StageRefused;
import io.jenkins.plugins.preemptible.event.StageSealed;
import io.jenkins.plugins.preemptible.event.StageSuspended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.util.function.Consumer;

/** What listeners are told of one suspension. */
final class SuspensionEvents {

    private SuspensionEvents() {}

    /** @param tookMillis from the request until the executor was free */
    static Consumer<StageListener> suspended(
            StageRecord stage, Suspension.Request request, AgentStage.Freeze frozen, long nowMillis, long tookMillis) {
        return listener -> listener.onSuspended(new StageSuspended(
                stage.ref(),
                stage.startedMillis(),
                nowMillis,
                tookMillis,
                request.reason().name(),
                request.reason().sentence(),
                request.preemptor(),
                request.preemptorJob(),
                frozen.processes(),
                frozen.residentBytes(),
                frozen.memoryOnly()));
    }

    static Consumer<StageListener> sealed(StageRecord stage, AgentStage.Dump dump) {
        return listener -> listener.onSealed(new StageSealed(
                stage.ref(),
                stage.suspendedSinceMillis(),
                dump.dumpMillis(),
                dump.archiveMillis(),
                dump.imageBytes(),
                dump.archiveBytes()));
    }

    static Consumer<StageListener> refused(StageRecord stage, AgentStage.Refusal refusal, long nowMillis) {
        return listener -> listener.onRefused(new StageRefused(
                stage.ref(), nowMillis, StageRefused.Phase.SUSPEND, refusal.reason(), refusal.sentence()));
    }
}
