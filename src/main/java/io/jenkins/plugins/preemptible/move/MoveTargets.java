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
import io.jenkins.plugins.preemptible.lifecycle.agents.OtherPlugins;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lost.LostAgents;
import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import jenkins.model.Jenkins;

/**
 * Which agents a stage may go to once it is suspended, and why not to another one.
 *
 * <p>Looks at what is known: no agent is waited for, no lock taken. What only shows on the way (a build of a library, the
 * workspace in use) is found by {@link MovingRestorer}.
 */
public final class MoveTargets {

    /** Of the image's archive, for it lies on the disk packed and unpacked for a moment. */
    static final int COPIES = 4;

    private MoveTargets() {}

    /**
     * Names of the agents that fit now and on which a trial of the image has passed. Where there is none, the next one is
     * tried meanwhile. Empty where moves are switched off.
     *
     * @param others asked under no lock
     */
    public static Set<String> of(StageRecord stage, LiveStage live, OtherPlugins others) {
        if (ofStage(stage) != null) {
            return Set.of();
        }
        return idle(stage, live, others)
                .filter(computer -> TriedAgents.passed(stage, live, computer.getNode()))
                .map(Computer::getName)
                .collect(Collectors.toSet());
    }

    /**
     * Has a frozen stage, whose image is still being made, tried on the first agent that fits, and its image brought there: what
     * {@link #of} would wait for later. Nobody waits for it.
     */
    static void lookAhead(StageRecord stage, LiveStage live, OtherPlugins others) {
        if (stage.frozen() && stage.imageKey() != null && ofStageOnceSealed(stage) == null) {
            idle(stage, live, others)
                    .findFirst()
                    .ifPresent(computer -> TriedAgents.ahead(stage, live, computer.getNode()));
        }
    }

    /** Agents that fit and have an idle executor for it. */
    private static Stream<Computer> idle(StageRecord stage, LiveStage live, OtherPlugins others) {
        return Stream.of(Jenkins.get().getComputers())
                .filter(computer -> stage.moveTo() == null || stage.moveTo().equals(computer.getName()))
                .filter(computer -> computer.countIdle() > 0 && !FailedMoves.contain(stage, computer.getName()))
                .filter(computer -> ofAgent(stage, live, computer.getNode()) == null)
                .filter(computer -> others.letTake(computer.getNode(), stage, live));
    }

    /** Names of the agents that fit, whether they have an idle executor or not. */
    public static Set<String> fitting(StageRecord stage, LiveStage live) {
        return Stream.of(Jenkins.get().getComputers())
                .map(Computer::getNode)
                .filter(agent -> agent != null && isTarget(stage, live, agent))
                .map(Node::getNodeName)
                .collect(Collectors.toSet());
    }

    /** Whether a stage that waits for any agent may have that one; its own, too, unless that is lost. */
    public static boolean isTarget(String stageId, Node agent) {
        StageRecord stage = StageRegistry.get().find(stageId);
        LiveStage live = LiveStage.find(stageId);
        return stage != null
                && live != null
                && (agent.getNodeName().equals(stage.node())
                        ? !LostAgents.isLost(stage)
                        : isTarget(stage, live, agent) && TriedAgents.passed(stage, live, agent));
    }

    private static boolean isTarget(StageRecord stage, LiveStage live, Node agent) {
        return !FailedMoves.contain(stage, agent.getNodeName()) && obstacle(stage, live, agent) == null;
    }

    /**
     * Why an agent that is there and has the stage's label will not do, now and later; null when it does, or may do yet.
     */
    @CheckForNull
    public static Misfit lasting(StageRecord stage, LiveStage live, Node agent) {
        if (FailedMoves.containRefusal(stage, agent.getNodeName())) {
            return Misfit.of(MoveObstacle.REFUSED_THERE);
        }
        Misfit found = ofStage(stage) == null ? ofAgent(stage, live, agent) : null;
        return found == null || !found.obstacle().ofHosts() ? null : found;
    }

    /** Whether an attempt there has come to nothing lately for a reason that may pass, such as an archive that is away. */
    public static boolean hasFailed(StageRecord stage, Node agent) {
        return FailedMoves.containFailure(stage, agent.getNodeName());
    }

    /** Why the stage cannot go there now, what lasts longest first; null when it can. */
    @CheckForNull
    public static Misfit obstacle(StageRecord stage, LiveStage live, @CheckForNull Node agent) {
        MoveObstacle lasting = ever(stage, live, agent);
        if (lasting != null) {
            return Misfit.of(lasting);
        }
        Misfit ofStage = ofStage(stage);
        return ofStage != null ? ofStage : ofAgent(stage, live, agent);
    }

    /**
     * Why a stage that runs could not go there once it is suspended and sealed, as far as that is known now; what lasts longest
     * first. Null when it may.
     */
    @CheckForNull
    public static Misfit obstacleOnceSealed(StageRecord stage, LiveStage live, @CheckForNull Node agent) {
        MoveObstacle found = ever(stage, live, agent);
        if (found == null && stage.contained() != null) {
            found = MoveObstacle.IN_CONTAINER;
        } else if (found == null && stage.onMemoryOnlyAgent()) {
            found = MoveObstacle.NO_CRIU;
        }
        return found == null ? ofAgent(stage, live, agent) : Misfit.of(found);
    }

    @CheckForNull
    private static MoveObstacle ever(StageRecord stage, LiveStage live, @CheckForNull Node agent) {
        MoveObstacle ofStage = everOfStage(stage);
        if (ofStage == null && OutlivesAgent.isAwaited(stage)) {
            ofStage = MoveObstacle.ANSWER_AWAITED;
        }
        return ofStage == null ? everOfAgent(stage, live, agent) : ofStage;
    }

    /** Somebody wants it there, whatever became of earlier attempts. */
    public static void tryAgain(StageRecord stage, Node agent) {
        FailedMoves.forget(stage, agent.getNodeName());
    }

    /** Nobody wants it there any more, whatever it has come to. */
    public static void notThere(StageRecord stage, String agent) {
        FailedMoves.add(stage, agent, false);
    }

    @CheckForNull
    private static Misfit ofStage(StageRecord stage) {
        MoveObstacle found = ofStageOnceSealed(stage);
        if (found == null && (stage.frozen() || stage.imageKey() == null)) {
            found = MoveObstacle.NOT_SEALED;
        }
        return found == null ? null : Misfit.of(found);
    }

    /** Of one that is suspended, and is sealed or going to be. */
    @CheckForNull
    private static MoveObstacle ofStageOnceSealed(StageRecord stage) {
        MoveObstacle found = everOfStage(stage);
        if (found != null) {
            return found;
        }
        if (stage.contained() != null) {
            return MoveObstacle.IN_CONTAINER;
        }
        if (OutlivesAgent.isAwaited(stage)) {
            return MoveObstacle.ANSWER_AWAITED;
        }
        boolean held = stage.state() != StageState.RUNNING && stage.state() != StageState.SUSPENDING;
        return held && !stage.memoryOnly() ? null : MoveObstacle.NOT_SEALED;
    }

    /** No waiting helps, nor another agent. */
    @CheckForNull
    private static MoveObstacle everOfStage(StageRecord stage) {
        if (!PreemptibleConfiguration.get().isMoveStages()) {
            return MoveObstacle.SWITCHED_OFF;
        }
        return stage.form() == StageRecord.Form.OWN ? null : MoveObstacle.NESTED_FORM;
    }

    /** No waiting helps: another agent has to be named. */
    @CheckForNull
    private static MoveObstacle everOfAgent(StageRecord stage, LiveStage live, @CheckForNull Node agent) {
        if (agent == null) {
            return MoveObstacle.UNKNOWN_AGENT;
        }
        if (agent.getNodeName().equals(stage.node()) && !isAnotherHostAsKnown(stage, agent.toComputer())) {
            return MoveObstacle.OWN_AGENT;
        }
        return live.hold().mayMoveTo(agent) ? null : MoveObstacle.OTHER_LABEL;
    }

    @CheckForNull
    private static Misfit ofAgent(StageRecord stage, LiveStage live, @CheckForNull Node agent) {
        MoveObstacle found = everOfAgent(stage, live, agent);
        if (agent == null || found != null) {
            return found == null ? null : Misfit.of(found);
        }
        Computer there = agent.toComputer();
        if (there == null || !there.isOnline()) {
            return new Misfit(MoveObstacle.AGENT_AWAY, agent.getDisplayName() + " is offline");
        }
        if (!there.isAcceptingTasks() || !agent.isAcceptingTasks()) {
            return new Misfit(MoveObstacle.AGENT_AWAY, agent.getDisplayName() + " takes no builds");
        }
        if (KeptAgents.whyNot(agent) != null) {
            return Misfit.of(MoveObstacle.NOT_KEPT);
        }
        HostTraits ofOwn = left(stage);
        HostTraits ofOther = AgentTraits.of(there);
        if (ofOwn == null || ofOther == null) {
            return new Misfit(
                    MoveObstacle.AGENT_AWAY,
                    (ofOther == null ? agent.getDisplayName() : "the stage's own agent")
                            + " is being asked about its host; try again in a minute");
        }
        StageNeeds needs = needs(stage, live);
        long disk = Math.max(0, needs.diskBytes() - Prefetch.heldBytes(stage, agent));
        return HostFit.misfits(ofOwn, ofOther, new StageNeeds(needs.memoryBytes(), disk, Map.of())).stream()
                .findFirst()
                .orElse(null);
    }

    /**
     * Whether the agent of that stage is another host than the one that the stage was suspended on, though of the same name.
     * Asks the agent; a false answer where it does not answer.
     */
    public static boolean isAnotherHost(StageRecord stage, @CheckForNull Node agent) throws InterruptedException {
        if (agent == null || !OutlivesAgent.isForAnother(stage)) {
            return false;
        }
        try {
            return isOther(stage, AgentTraits.asked(agent));
        } catch (IOException | RuntimeException x) {
            // What comes next fails as well, and says so.
            return false;
        }
    }

    /**
     * Whether that agent is the host that the stage was suspended on, though its name was another one then, which is unknown now.
     * Asks the agent where that may be.
     */
    static boolean isItsHost(StageRecord stage, Node agent) throws IOException, InterruptedException {
        SealedLuggage sealed = stage.luggage();
        HostTraits then = sealed == null ? null : sealed.host();
        return then != null
                && !then.token().isEmpty()
                && OutlivesAgent.isForAnother(stage)
                && Nodes.named(stage.node()) == null
                && then.token().equals(AgentTraits.asked(agent).token());
    }

    private static boolean isAnotherHostAsKnown(StageRecord stage, @CheckForNull Computer computer) {
        return computer != null && OutlivesAgent.isForAnother(stage) && isOther(stage, AgentTraits.of(computer));
    }

    private static boolean isOther(StageRecord stage, @CheckForNull HostTraits now) {
        SealedLuggage sealed = stage.luggage();
        HostTraits then = sealed == null ? null : sealed.host();
        return then != null
                && now != null
                && !now.token().isEmpty()
                && !now.token().equals(then.token());
    }

    static StageNeeds needs(StageRecord stage, LiveStage live) {
        SealedLuggage luggage = stage.luggage();
        long workspace = luggage == null ? 0 : luggage.archiveBytes() + luggage.contentBytes();
        long memory = memoryBytes(stage, live);
        long archive = stage.frozen() ? Math.max(memory, stage.archiveBytes()) : stage.archiveBytes();
        return new StageNeeds(memory, archive * COPIES + workspace, Map.of());
    }

    /** As it was seen last; after a restart of the controller as it was when the stage was suspended. -1 = unknown. */
    static long memoryBytes(StageRecord stage, LiveStage live) {
        long seen = live.memory().residentBytes();
        return seen >= 0 ? seen : stage.residentBytes();
    }

    /** Whether the stage is resumed from the archive alone; its own agent is not asked then. */
    static boolean fromArchive(StageRecord stage) {
        return OutlivesAgent.isForAnother(stage);
    }

    /**
     * The host that the stage was suspended on, as it was then, or as its agent says now; null when that is not known, or
     * the agent is not there and is needed.
     */
    @CheckForNull
    static HostTraits left(StageRecord stage) {
        if (fromArchive(stage)) {
            SealedLuggage sealed = stage.luggage();
            HostTraits host = sealed == null ? null : sealed.host();
            return host == null || Nodes.named(stage.node()) != null ? host : host.ofNoAgent();
        }
        Node own = Nodes.named(stage.node());
        Computer here = own == null ? null : own.toComputer();
        return here == null ? null : AgentTraits.of(here);
    }
}
