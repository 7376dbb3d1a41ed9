package io.jenkins.plugins.preemptible.manual;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.engine.move.Misfit;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.move.MoveTargets;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import jenkins.model.Jenkins;

/**
 * A form of the build's page: where one stage that runs or is suspended may be resumed instead.
 *
 * @param stage id
 * @param text what the form is for
 * @param targets names of the agents that fit; there is nothing to send without one
 * @param unfitSummary how many agents with its label do not fit
 * @param unfit a sentence each for at most {@value #MOST} of those
 * @param unfitMore how many more do not fit; null when none
 */
public record MoveForm(
        String stage,
        String text,
        List<String> targets,
        String unfitSummary,
        List<String> unfit,
        @CheckForNull String unfitMore) {

    /** More make no list that people read; the command answers for any agent. */
    static final int MOST = 20;

    /** No agent fits such a stage, or the agent is none that anybody would ask for. */
    private static final Set<MoveObstacle> UNASKED = EnumSet.of(
            MoveObstacle.SWITCHED_OFF,
            MoveObstacle.NESTED_FORM,
            MoveObstacle.NOT_SEALED,
            MoveObstacle.ANSWER_AWAITED,
            MoveObstacle.OWN_AGENT,
            MoveObstacle.OTHER_LABEL);

    /** Stages that go nowhere, and those whose label no other agent has, have none. */
    static List<MoveForm> of(List<StageRecord> stages) {
        List<MoveForm> forms = new ArrayList<>();
        for (StageRecord stage : stages) {
            boolean runs = stage.state() == StageState.RUNNING;
            boolean could = runs ? StageVerbs.whyNotSealed(stage) == null : stage.suspended();
            LiveStage live = could ? LiveStage.find(stage.id()) : null;
            MoveForm form = live == null || live.ending() ? null : of(stage, live);
            if (form != null) {
                forms.add(form);
            }
        }
        return forms;
    }

    /** Why the stage cannot go there now, or once it is suspended; null when it can as far as is known without waiting. */
    @CheckForNull
    static Misfit obstacle(StageRecord stage, LiveStage live, Node agent) {
        return stage.state() == StageState.RUNNING
                ? MoveTargets.obstacleOnceSealed(stage, live, agent)
                : MoveTargets.obstacle(stage, live, agent);
    }

    @CheckForNull
    private static MoveForm of(StageRecord stage, LiveStage live) {
        List<String> fitting = new ArrayList<>();
        List<String> unfit = new ArrayList<>();
        for (Node agent : Jenkins.get().getNodes()) {
            Misfit misfit = obstacle(stage, live, agent);
            String name = agent.getNodeName();
            if (misfit == null && DrainedAgents.get().contains(name)) {
                unfit.add(Messages.ManualBuildAction_MoveNot(name, Messages.StageVerbs_Drained()));
            } else if (misfit == null) {
                fitting.add(name);
            } else if (!UNASKED.contains(misfit.obstacle())) {
                unfit.add(Messages.ManualBuildAction_MoveNot(name, misfit.sentence()));
            }
        }
        if (fitting.isEmpty() && unfit.isEmpty()) {
            return null;
        }
        int more = Math.max(0, unfit.size() - MOST);
        return new MoveForm(
                stage.id(),
                stage.suspended()
                        ? Messages.ManualBuildAction_Move(stage.name())
                        : Messages.ManualBuildAction_MoveRunning(stage.name()),
                List.copyOf(fitting),
                Messages.ManualBuildAction_MoveUnfit(stage.name(), unfit.size()),
                List.copyOf(unfit.subList(0, unfit.size() - more)),
                more == 0 ? null : Messages.ManualBuildAction_MoveUnfitMore(more));
    }
}
