package io.jenkins.plugins.preemptible.history;

import hudson.model.Run;
import java.util.List;

/** Draws the stages of one build that were suspended at least once: a row for each. */
public final class BuildTimeline {

    private BuildTimeline() {}

    /** Has no row when none of them was. */
    public static Timeline of(Run<?, ?> run) {
        SuspensionHistoryAction history = SuspensionHistoryAction.of(run);
        List<PastStage> stages = history == null ? List.of() : history.getStages();
        long now = System.currentTimeMillis();
        long from = stages.stream().mapToLong(PastStage::getStartedMillis).min().orElse(now);
        long to = stages.stream()
                .mapToLong(stage -> stage.getEndedMillis() == 0 ? now : stage.getEndedMillis())
                .max()
                .orElse(now);
        Timeline timeline = new Timeline(Math.min(from, to), to);
        for (PastStage stage : timeline.newest(stages)) {
            timeline.row(stage.getName());
            SuspensionBars.add(timeline, stage, stage.getName(), now);
        }
        return timeline;
    }
}
