package io.jenkins.plugins.preemptible.move;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Computer;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.move.HostFit;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import io.jenkins.plugins.preemptible.engine.move.Misfit;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.engine.move.StageNeeds;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.agents.KeptAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import jenkins.model.Jenkins;

/**
 * Which agents a suspended stage may go to, and why not to another one.
 *
 * <p>Looks at what is known: no agent is waited for, no lock taken. What only shows on the way (a build of a library, the
 * workspace in use) is found by {@link MovingRestorer}.
 */
public final class MoveTargets {

    /** Image and workspace lie packed and unpacked on the disk for a moment. */
    private static final int COPIES = 4;

    private MoveTargets() {}

    /** Names of the agents that fit now. Empty where moves are switched off. */
    public static Set<String> of(StageRecord stage, LiveStage live) {
        if (ofStage(stage) != null) {
            return Set.of();
        }
        return Stream.of(Jenkins.get().getComputers())
                .filter(computer -> computer.countIdle() > 0 && !FailedMoves.contain(stage, computer.getName()))
                .filter(computer -> ofAgent(stage, live, computer.getNode()) == null)
                .map(Computer::getName)
                .collect(Collectors.toSet());
    }

    /** Why the stage cannot go there now; null when it can. */
    @CheckForNull
    public static Misfit obstacle(StageRecord stage, LiveStage live, @CheckForNull Node agent) {
        Misfit ofStage = ofStage(stage);
        return ofStage != null ? ofStage : ofAgent(stage, live, agent);
    }

    /** Somebody wants it there, whatever became of earlier attempts. */
    public static void tryAgain(StageRecord stage, Node agent) {
        FailedMoves.forget(stage, agent.getNodeName());
    }

    @CheckForNull
    private static Misfit ofStage(StageRecord stage) {
        MoveObstacle found = null;
        if (!PreemptibleConfiguration.get().isMoveStages()) {
            found = MoveObstacle.SWITCHED_OFF;
        } else if (stage.form() != StageRecord.Form.OWN) {
            found = MoveObstacle.NESTED_FORM;
        } else if (stage.restoringOn() != null) {
            found = MoveObstacle.ANSWER_AWAITED;
        } else if (stage.state() == StageState.RUNNING
                || stage.state() == StageState.SUSPENDING
                || stage.frozen()
                || stage.memoryOnly()
                || stage.imageKey() == null) {
            found = MoveObstacle.NOT_SEALED;
        }
        return found == null ? null : Misfit.of(found);
    }

    @CheckForNull
    private static Misfit ofAgent(StageRecord stage, LiveStage live, @CheckForNull Node agent) {
        Node own = Nodes.named(stage.node());
        Computer there = agent == null ? null : agent.toComputer();
        Computer here = own == null ? null : own.toComputer();
        if (agent == null) {
            return Misfit.of(MoveObstacle.UNKNOWN_AGENT);
        }
        if (agent.getNodeName().equals(stage.node())) {
            return Misfit.of(MoveObstacle.OWN_AGENT);
        }
        if (!live.hold().mayMoveTo(agent)) {
            return Misfit.of(MoveObstacle.OTHER_LABEL);
        }
        if (there == null
                || here == null
                || !there.isOnline()
                || !here.isOnline()
                || !there.isAcceptingTasks()
                || !agent.isAcceptingTasks()) {
            return Misfit.of(MoveObstacle.AGENT_AWAY);
        }
        if (KeptAgents.whyNot(agent) != null) {
            return Misfit.of(MoveObstacle.NOT_KEPT);
        }
        HostTraits ofOwn = AgentTraits.of(here);
        HostTraits ofOther = AgentTraits.of(there);
        if (ofOwn == null || ofOther == null) {
            return Misfit.of(MoveObstacle.AGENT_AWAY);
        }
        return HostFit.misfits(ofOwn, ofOther, needs(stage, live)).stream()
                .findFirst()
                .orElse(null);
    }

    static StageNeeds needs(StageRecord stage, LiveStage live) {
        return new StageNeeds(live.memory().residentBytes(), stage.archiveBytes() * COPIES, Map.of());
    }

    /** As it is said now; null when it is not known yet. */
    @CheckForNull
    static HostTraits traits(Node agent) {
        Computer computer = agent.toComputer();
        return computer == null ? null : AgentTraits.of(computer);
    }
}
