package io.jenkins.plugins.preemptible.queue;

import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;

/** Sees to the time of frozen stages: says in its build's log that a stage is frozen for longer than it should be, since no executor could be had. */
final class LateThaws {

    private LateThaws() {}

    /** When the next stage has to have its executor back, so that nothing is left to the clock of evaluations. */
    private static void evaluateInTime(StageRecord stage, long now) {
        long lead = PreemptibleConfiguration.get().limits().freezeOnly().leadMillis();
        long delay = stage.thawByMillis() - lead - now;
        if (stage.thawByMillis() > 0 && stage.state() == StageState.SUSPENDED && delay > 0) {
            Preemption.soon(delay + 1);
        }
    }

    /** Once for each suspension of a stage that cannot be dumped. */
    static void tell() {
        long now = System.currentTimeMillis();
        for (StageRecord stage : StageRegistry.get().all()) {
            LiveStage live =
                    stage.state() == StageState.SUSPENDED && stage.thawByMillis() > 0 && now > stage.thawByMillis()
                            ? LiveStage.find(stage.id())
                            : null;
            if (live != null && live.tellLate(stage.suspensions())) {
                StageLog.line(
                        live.context(),
                        "This stage has been frozen for as long as it should be, but no executor of its agent could be"
                                + " had: all are held by what cannot be suspended, or the agent is away. It gets the next"
                                + " one; until then its connections may be lost.");
            }
        }
    }
}
