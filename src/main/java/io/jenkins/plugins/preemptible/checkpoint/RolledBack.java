package io.jenkins.plugins.preemptible.checkpoint;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Util;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepOutput;
import io.jenkins.plugins.preemptible.lifecycle.stage.Checkpoints;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageCheckpoint;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;

/**
 * What a resume from a checkpoint came to.
 *
 * <ol>
 *   <li>{@link #runs}: the steps' logs are as they were then, so Pipeline reads them on from there. The build's own log
 *       cannot be cut: a line says from where on its lines are repeated.
 *   <li>{@link #refused}: an agent could not restore it; the other checkpoint is tried next.
 * </ol>
 *
 * Under the stage's operation lock.
 */
public final class RolledBack {

    private RolledBack() {}

    /** @param before the record before the resume; without effect unless its image is a checkpoint */
    public static void runs(LiveStage live, StageRecord before) throws InterruptedException {
        StageCheckpoint from = before.rolledBackTo();
        if (from != null) {
            boolean cut = StepOutput.cutBack(live, from.logSizes());
            StageLog.line(
                    live.context(),
                    "Resumed from the checkpoint of "
                            + age(from)
                            + " ago. "
                            + (cut
                                    ? "The lines since then are repeated below."
                                    : "What its steps print again until now is not shown."));
        }
    }

    /** Name of the full image that the image of a suspended stage refers to; null when it refers to none. */
    @CheckForNull
    public static String base(StageRecord stage) {
        StageCheckpoint from = stage.rolledBackTo();
        return from == null ? null : from.imageBase();
    }

    /**
     * An agent could not restore it.
     *
     * @param before the record then; without effect unless its image is a checkpoint
     * @return whether another checkpoint is taken next, which no agent has tried
     */
    public static boolean refused(LiveStage live, StageRecord before) throws InterruptedException {
        StageCheckpoint bad = before.rolledBackTo();
        if (bad != null) {
            StageRegistry.get()
                    .update(live.id(), Checkpoints.set(before.checkpoints().refused(bad.file())));
        }
        StageCheckpoint other = bad == null
                ? null
                : before.checkpoints().made().stream()
                        .filter(each ->
                                !each.file().equals(bad.file()) && each.steps().equals(bad.steps()))
                        .findFirst()
                        .orElse(null);
        if (other == null) {
            return false;
        }
        // None is removed: it may have been the agent's fault, or the artifact store's.
        StageRegistry.get().update(live.id(), Checkpoints.use(other));
        StageLog.line(
                live.context(),
                "The checkpoint of " + age(other) + " ago is tried next, in place of that of " + age(bad) + " ago.");
        return other.atMillis() < bad.atMillis();
    }

    private static String age(StageCheckpoint checkpoint) {
        return Util.getTimeSpanString(Math.max(0, System.currentTimeMillis() - checkpoint.atMillis()));
    }
}
