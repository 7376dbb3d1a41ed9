package io.jenkins.plugins.preemptible.queue;

import hudson.model.queue.CauseOfBlockage;
import io.jenkins.plugins.preemptible.lifecycle.StageRecord;

/** Why the node block of a suspended stage is held back; it names the preemptor to those who may see it. */
final class SuspendedFor extends CauseOfBlockage {

    private final StageRecord stage;

    SuspendedFor(StageRecord stage) {
        this.stage = stage;
    }

    @Override
    public String getShortDescription() {
        return Messages.StageDispatcher_suspended(stage.name(), String.valueOf(stage.shownPreemptor()), stage.reason());
    }
}
