package io.jenkins.plugins.preemptible.queue.snapshot;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.TaskListener;
import hudson.model.queue.CauseOfBlockage;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.view.ShownSentence;

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
                    stage.name(),
                    stage.byHand() ? ShownSentence.of(Reason.SUSPENDED_BY_HAND) : ShownSentence.of(stage.reason()));
        }
        return shortDescription(stage.shownPreemptor());
    }

    private String shortDescription(@CheckForNull String preemptor) {
        return Messages.StageDispatcher_suspended(
                stage.name(), String.valueOf(preemptor), ShownSentence.of(stage.reason()));
    }

    /** For the stage's own build log. */
    @Override
    public void print(TaskListener listener) {
        listener.getLogger()
                .println(
                        stage.byHand() || stage.preemptor() == null
                                ? getShortDescription()
                                : shortDescription(stage.loggedPreemptor()));
    }
}
