package io.jenkins.plugins.preemptible.overview;

import hudson.Extension;
import hudson.model.AdministrativeMonitor;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.view.ShownSentence;
import java.util.List;

/** Tells administrators of stages whose resume failed three times: they wait for a decision, and a week later they fail. */
@Extension
public final class UndecidedStagesMonitor extends AdministrativeMonitor {

    @Override
    public String getDisplayName() {
        return Messages.UndecidedStagesMonitor_DisplayName();
    }

    @Override
    public boolean isActivated() {
        return !stages().isEmpty();
    }

    private static List<StageRecord> stages() {
        return StageRegistry.get().all().stream()
                .filter(stage -> stage.whyNotResumed() != null)
                .toList();
    }

    /** One sentence for each. */
    public List<String> getSentences() {
        return stages().stream()
                .map(stage -> Messages.UndecidedStagesMonitor_Stage(
                        stage.name(), stage.build(), ShownSentence.of(stage.whyNotResumed())))
                .toList();
    }
}
