package io.jenkins.plugins.preemptible.queue;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;

/**
 * Drops what users wanted and cannot have: a stage's move to an agent that was removed, or that has lost the stage's label.
 *
 * <p>Called by one evaluation of the queue at a time; returns at once.
 */
final class MoveWishes {

    private MoveWishes() {}

    static void dropVain() {
        for (StageRecord stage : StageRegistry.get().all()) {
            LiveStage live = stage.moveTo() == null ? null : LiveStage.find(stage.id());
            if (live != null && why(stage, live) != null) {
                StageThreads.soon("dropping a move of " + stage, () -> drop(live));
            }
        }
    }

    /** Half a sentence; null when the stage may still come there. */
    @CheckForNull
    private static String why(StageRecord stage, LiveStage live) {
        String wanted = stage.moveTo();
        if (wanted == null || stage.restoringOn() != null || stage.state() != StageState.SUSPENDED) {
            return null;
        }
        Node agent = Nodes.named(wanted);
        if (agent == null) {
            return "that agent was removed from Jenkins";
        }
        return live.hold().mayMoveTo(agent) ? null : "that agent does not have this stage's label any more";
    }

    private static void drop(LiveStage live) {
        StageRecord stage = StageRegistry.get().find(live.id());
        String why = stage == null ? null : why(stage, live);
        if (why == null) {
            return;
        }
        StageRegistry.get().update(stage.id(), StageChanges.moveTo(null));
        String rest = stage.byHand() ? " The stage stays suspended until someone resumes it." : "";
        StageLog.line(live.context(), "Move to " + stage.moveTo() + " cancelled: " + why + "." + rest);
    }
}
