package io.jenkins.plugins.preemptible.queue;

import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;

/**
 * Sees to the time of stages that are frozen only: has the queue evaluated when it ends, and says in a build's log that no
 * executor could be had in time.
 */
final class LateThaws {

    /** Twice the period of that clock. */
    private static final long SOON_MILLIS = 10_000;

    private LateThaws() {}

    // Between two ticks of the clock that evaluates anyway.
    private static void evaluateInTime(StageRecord stage, long now) {
        long lead = PreemptibleConfiguration.get().limits().freezeOnly().leadMillis();
        long delay = stage.thawByMillis() - lead - now;
        if (stage.thawByMillis() > 0 && stage.state() == StageState.SUSPENDED && delay > 0 && delay < SOON_MILLIS) {
            Preemption.soon(delay + 1);
        }
    }

    /** Once for each suspension of a stage that cannot be dumped. */
    static void tell() {
        long now = System.currentTimeMillis();
        for (StageRecord stage : StageRegistry.get().all()) {
            evaluateInTime(stage, now);
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
