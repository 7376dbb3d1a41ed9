package io.jenkins.plugins.preemptible.history;

import io.jenkins.plugins.preemptible.history.Timeline.Kind;
import java.util.List;

/**
 * Draws one stage into the last row of a {@link Timeline}.
 *
 * <ol>
 *   <li>Between its suspensions it runs.
 *   <li>From the freeze until the image is sealed it is in memory; dump and seal are the end of that time.
 *   <li>From the arrival of the executor until it runs it is being restored.
 * </ol>
 */
final class SuspensionBars {

    private SuspensionBars() {}

    /**
     * @param name of the stage, as far as the looking user may know
     * @param nowMillis the end of what is not over yet
     */
    static void add(Timeline timeline, PastStage stage, String name, long nowMillis) {
        List<PastSuspension> suspensions = stage.getSuspensions();
        // Of one whose first suspensions are forgotten, it is not known when it ran before.
        long running = suspensions.size() < stage.getCount() ? 0 : stage.getStartedMillis();
        for (PastSuspension suspension : suspensions) {
            timeline.bar(Kind.RUNNING, running, suspension.getSuspendedMillis(), name);
            add(timeline, name, suspension, nowMillis);
            running = suspension.getResumedMillis();
        }
        timeline.bar(Kind.RUNNING, running, stage.getEndedMillis() == 0 ? nowMillis : stage.getEndedMillis(), name);
    }

    private static void add(Timeline timeline, String name, PastSuspension suspension, long nowMillis) {
        long from = suspension.getSuspendedMillis();
        long to = from + suspension.withoutExecutorMillis(nowMillis);
        long restore =
                to - (suspension.getResumedMillis() == 0 ? 0 : Math.min(suspension.getResumeTookMillis(), to - from));
        long sealed = suspension.getSealedMillis();
        if (sealed == 0 || sealed > restore) {
            timeline.bar(Kind.FROZEN, from, restore, name);
        } else {
            long seal = Math.max(from, sealed - suspension.getDumpMillis() - suspension.getSealMillis());
            timeline.bar(Kind.FROZEN, from, seal, name);
            timeline.bar(Kind.SEALING, seal, sealed, name);
            timeline.bar(Kind.IMAGE, sealed, restore, name);
        }
        if (suspension.getResumedMillis() != 0) {
            timeline.bar(Kind.RESTORING, restore, to, name);
        }
    }
}
