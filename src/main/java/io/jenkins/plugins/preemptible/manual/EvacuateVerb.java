package io.jenkins.plugins.preemptible.manual;

import hudson.model.Computer;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.hand.NeverPreemptAction;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import io.jenkins.plugins.preemptible.lifecycle.Sealing;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.manual.Answer.OfStage;
import io.jenkins.plugins.preemptible.queue.Preemption;
import jakarta.servlet.http.HttpServletResponse;
import java.util.ArrayList;
import java.util.List;

/**
 * Evacuates an agent that is about to go, as a spot instance whose end was announced.
 *
 * <ol>
 *   <li>It is drained: nothing new starts, and what can be suspended is.
 *   <li>What is frozen in its memory is sealed at once, with its workspace; a stage that is sealed is resumed on another
 *       agent, and does not wait for this one.
 *   <li>Asked again, it tells how far that has come. The end of the drain is the end of this; a restart of the
 *       controller is not.
 * </ol>
 *
 * Errors and threads as in {@link AgentVerbs}.
 */
final class EvacuateVerb {

    private EvacuateVerb() {}

    /** How far one stage has come. */
    private enum Progress {
        SEALED,
        UNDER_WAY,
        STAYS
    }

    static Answer evacuate(Computer computer) {
        PreemptiblePermissions.checkDrain(computer);
        Node node = computer.getNode();
        if (node == null) {
            return AgentVerbs.gone(computer);
        }
        if (!PreemptibleConfiguration.get().isMoveStages()) {
            return Answer.refused(HttpServletResponse.SC_CONFLICT, Messages.EvacuateVerb_SwitchedOff());
        }
        String agent = node.getNodeName();
        boolean begins = DrainedAgents.get().evacuate(agent, StageVerbs.user());
        int[] counts = new int[Progress.values().length];
        List<OfStage> stages = new ArrayList<>();
        for (StageRecord stage : AgentVerbs.stagesOn(agent)) {
            Progress progress = of(stage);
            counts[progress.ordinal()]++;
            stages.add(new OfStage(stage.id(), stage.name(), progress != Progress.STAYS, words(progress, stage)));
            LiveStage live = LiveStage.find(stage.id());
            if (live == null) {
                continue;
            }
            if (stage.suspended() && stage.frozen() && !stage.memoryOnly()) {
                // It may have been left in memory for a while, since its preemptor ends soon.
                Sealing.takeUp(stage.id());
            }
            if (begins) {
                String shown = AgentVerbs.shown(agent);
                String line = stage.form() == StageRecord.Form.OWN
                        ? Messages.EvacuateVerb_Log(shown, StageVerbs.user())
                        : Messages.EvacuateVerb_LogStays(shown, StageVerbs.user());
                StageThreads.tell("telling of " + stage, () -> StageLog.line(live.context(), line));
            }
        }
        Preemption.soon(0);
        return Answer.done(
                Messages.EvacuateVerb_Done(
                        AgentVerbs.shown(agent),
                        counts[Progress.SEALED.ordinal()],
                        counts[Progress.UNDER_WAY.ordinal()],
                        counts[Progress.STAYS.ordinal()]),
                stages);
    }

    private static Progress of(StageRecord stage) {
        if (OutlivesAgent.isStored(stage)) {
            return Progress.SEALED;
        }
        boolean stays = stage.form() != StageRecord.Form.OWN
                || stage.memoryOnly()
                || stage.unsealed()
                || stage.suspended() && !stage.frozen()
                || !stage.suspended()
                        && (stage.whyNotSuspendable() != null
                                || stage.canOnlyBeFrozen()
                                || NeverPreemptAction.holds(stage.runId()));
        return stays ? Progress.STAYS : Progress.UNDER_WAY;
    }

    private static String words(Progress progress, StageRecord stage) {
        return switch (progress) {
            case SEALED -> Messages.EvacuateVerb_Sealed(stage.name());
            case UNDER_WAY -> Messages.EvacuateVerb_UnderWay(stage.name());
            case STAYS -> Messages.EvacuateVerb_Stays(stage.name());
        };
    }
}
