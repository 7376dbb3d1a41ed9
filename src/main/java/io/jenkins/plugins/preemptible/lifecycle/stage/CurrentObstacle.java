package io.jenkins.plugins.preemptible.lifecycle.stage;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;

/**
 * The obstacle that a running stage has at this moment, for people.
 *
 * <p>An obstacle that lasts is in the stage's record, and the stage is no victim. One that passes is known from the last attempt only:
 * a step, or something in the processes, that the agent refuses. Any thread.
 */
public final class CurrentObstacle {

    private CurrentObstacle() {}

    /** At this moment or as the stage is; null when nothing is known against it. */
    @CheckForNull
    public static String whyNot(StageRecord stage) {
        return stage.whyNotSuspendable() == null ? now(stage) : stage.whyNotSuspendable();
    }

    /** What the last attempt has found against a stage that runs; null when nothing, or long ago. */
    @CheckForNull
    public static String now(StageRecord stage) {
        LiveStage live = stage.state() == StageState.RUNNING ? LiveStage.find(stage.id()) : null;
        if (live == null) {
            return null;
        }
        String step = live.objection().sentence();
        return step == null ? live.refusal() : step;
    }
}
