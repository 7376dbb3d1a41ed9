package io.jenkins.plugins.preemptible.queue;

import hudson.model.queue.CauseOfBlockage;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.lifecycle.StageRecord;

/** Why the node block of a suspended stage is held back; it names the preemptor to those who may see it. */
final class SuspendedFor extends CauseOfBlockage {

    private final StageRecord stage;

    SuspendedFor(StageRecord stage) {
        this.stage = stage;
    }

    @Override
    public String getShortDescription() {
        if (stage.byHand() || stage.preemptor() == null) {
            return Messages.StageDispatcher_held(
                    stage.name(), stage.byHand() ? Reason.SUSPENDED_BY_HAND.sentence() : stage.reason());
        }
        return Messages.StageDispatcher_suspended(stage.name(), String.valueOf(stage.shownPreemptor()), stage.reason());
    }
}
