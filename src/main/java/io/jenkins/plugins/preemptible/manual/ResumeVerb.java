package io.jenkins.plugins.preemptible.manual;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Util;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.lifecycle.RemovedAgent;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StageMarks;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lost.LostAgents;
import io.jenkins.plugins.preemptible.manual.Answer.OfStage;
import io.jenkins.plugins.preemptible.move.MoveTargets;
import io.jenkins.plugins.preemptible.move.MoveUnderWay;
import io.jenkins.plugins.preemptible.move.MoveUnderWay.TakenBack;
import io.jenkins.plugins.preemptible.view.ShownSentence;

/**
 * Resumes a stage that was suspended manually, and takes a move back.
 *
 * <ol>
 *   <li>A move is taken back at any moment until the other agent is asked to restore the stage.
 *   <li>From then on the stage may run there: the answer is a refusal that says so, and nothing is changed.
 * </ol>
 *
 * Errors and threads as in {@link StageVerbs}.
 */
final class ResumeVerb {

    private ResumeVerb() {}

    /** @param named whether this stage was named, and not all of its build are meant */
    static OfStage resume(StageRecord stage, boolean named) {
        boolean unasked = !stage.byHand() && stage.moveTo() == null;
        if (unasked && named && MoveUnderWay.takeBack(stage.id(), StageVerbs.user()) == TakenBack.DONE) {
            return StageVerbs.done(stage, Messages.StageVerbs_OwnMoveTakenBack(stage.name()));
        }
        if (stage.whyNotResumed() != null && stage.moveTo() == null) {
            return StageVerbs.refused(
                    stage, Messages.StageVerbs_Failed(stage.name(), ShownSentence.of(stage.whyNotResumed())));
        }
        String asked = stage.restoringOn();
        String to = stage.moveTo();
        if (unasked) {
            return StageVerbs.refused(stage, asked == null ? notWanted(stage) : mayRun(stage, asked));
        }
        TakenBack taken = to == null ? TakenBack.NOTHING : MoveUnderWay.takeBack(stage.id(), StageVerbs.user());
        if (taken == TakenBack.TOO_LATE) {
            return StageVerbs.refused(stage, mayRun(stage, to));
        }
        if (taken == TakenBack.NOTHING && asked != null && Nodes.named(asked) != null) {
            return StageVerbs.refused(stage, mayRun(stage, asked));
        }
        LiveStage live = LiveStage.find(stage.id());
        StageRecord now = StageRegistry.get().update(stage.id(), StageRecord::notByHand);
        if (now == null) {
            return StageVerbs.refused(stage, Messages.StageVerbs_Ending(stage.name()));
        }
        if (live != null) {
            if (stage.byHand()) {
                StageLog.line(live.context(), Messages.StageVerbs_LogResume(StageVerbs.user()));
            } else if (taken == TakenBack.NOTHING) {
                // One that is under way tells by itself.
                StageLog.line(
                        live.context(), Messages.StageVerbs_LogTakenBack(StageVerbs.user(), AgentVerbs.within(to)));
            }
            StageMarks.byHandChanged(live);
            withdraw(stage, live, to);
        }
        if (RemovedAgent.ends(now)) {
            return StageVerbs.done(now, waitsForRemoved(now));
        }
        if (to == null && now.state() == StageState.RUNNING) {
            return StageVerbs.done(now, Messages.StageVerbs_KeepsRunning(now.name()));
        }
        boolean goesNowhere = now.undecided() || now.state() == StageState.RUNNING && !stage.byHand();
        if (to != null && goesNowhere) {
            return StageVerbs.done(now, Messages.StageVerbs_TakenBack(now.name(), AgentVerbs.within(to)));
        }
        boolean back = taken == TakenBack.DONE;
        String follows = follows(now, back || now.state() == StageState.SUSPENDED);
        return StageVerbs.done(
                now, back ? Messages.StageVerbs_TakenBack(now.name(), AgentVerbs.within(to)) + " " + follows : follows);
    }

    /** Its item may be in the queue for that agent's executor, or on the way from there. */
    private static void withdraw(StageRecord stage, LiveStage live, @CheckForNull String to) {
        if (to == null) {
            return;
        }
        MoveTargets.notThere(stage, to);
        if (live.hold().requested(stage) && live.hold().requestedOn(stage).equals(to)) {
            live.hold().withdraw(stage);
        }
    }

    private static String notWanted(StageRecord stage) {
        if (RemovedAgent.ends(stage)) {
            return waitsForRemoved(stage);
        }
        return switch (stage.state()) {
            case SUSPENDED -> Messages.StageVerbs_NotByHand(stage.name());
            case RESUMING -> Messages.StageVerbs_ResumesNow(stage.name());
            default -> Messages.StageVerbs_NotSuspended(stage.name());
        };
    }

    private static String mayRun(StageRecord stage, String agent) {
        return Messages.StageVerbs_MayRun(stage.name(), AgentVerbs.within(agent));
    }

    private static String follows(StageRecord stage, boolean waits) {
        return waits && DrainedAgents.get().contains(stage.node()) && !LostAgents.isLost(stage)
                ? Messages.StageVerbs_ResumesAfterDrain(stage.name(), AgentVerbs.shown(stage.node()))
                : Messages.StageVerbs_Resumes(stage.name());
    }

    private static String waitsForRemoved(StageRecord stage) {
        long endsMillis = RemovedAgent.waitsUntilMillis(stage);
        return endsMillis == 0
                ? Messages.StageVerbs_WaitsForRemoved(stage.name(), stage.node())
                : Messages.StageVerbs_WaitsForRemovedUntil(
                        stage.name(),
                        stage.node(),
                        Util.getTimeSpanString(Math.max(0, endsMillis - System.currentTimeMillis())));
    }
}
