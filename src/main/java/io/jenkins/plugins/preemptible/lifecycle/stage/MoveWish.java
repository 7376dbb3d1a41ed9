package io.jenkins.plugins.preemptible.lifecycle.stage;

import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;

/**
 * A user's wish that a stage goes to another agent ({@link StageRecord#moveTo}).
 *
 * <ol>
 *   <li>A stage that runs is suspended for it. That is no manual suspension: nobody wants the stage suspended for any longer.
 *   <li>So where the wish is cancelled, it is resumed as any suspended stage is, unless a user has suspended it as well.
 * </ol>
 */
public final class MoveWish {

    private MoveWish() {}

    /** Whether a stage that runs is to be suspended for it, or is being suspended for it. */
    public static boolean suspends(StageRecord stage) {
        return stage.moveTo() != null
                && !stage.canOnlyBeFrozen()
                && PreemptibleConfiguration.get().isMoveStages();
    }

    /** Cancels it, and tells the build's log. @param why a sentence that begins in lower case, or an obstacle's own */
    public static void cancel(LiveStage live, StageRecord stage, String why) {
        StageRecord now = StageRegistry.get().update(live.id(), StageChanges.moveTo(null));
        if (now != null) {
            StageLog.line(
                    live.context(), "Move to " + stage.moveTo() + " cancelled: " + why + " " + whatFollows(now) + ".");
        }
    }

    /** What becomes of a stage that goes nowhere else; a sentence without its full stop. */
    public static String whatFollows(StageRecord stage) {
        if (!stage.suspended()) {
            return "The stage keeps running";
        }
        return stage.byHand()
                ? "The stage stays suspended until someone resumes it"
                : "The stage is resumed as any suspended stage is";
    }
}
