package io.jenkins.plugins.preemptible.queue.snapshot;

import hudson.model.Computer;
import hudson.model.Label;
import hudson.model.Node;
import hudson.model.Queue;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.AgentState;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.engine.policy.UndumpableStages;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.hand.NeverPreemptAction;
import io.jenkins.plugins.preemptible.lifecycle.agents.FrozenOnly;
import io.jenkins.plugins.preemptible.lifecycle.agents.HowSuspended;
import io.jenkins.plugins.preemptible.lifecycle.agents.Measured;
import io.jenkins.plugins.preemptible.lifecycle.agents.OtherPlugins;
import io.jenkins.plugins.preemptible.lifecycle.image.ArchiveRoom;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageTimes;
import io.jenkins.plugins.preemptible.lost.LostAgents;
import io.jenkins.plugins.preemptible.move.MoveCosts;
import io.jenkins.plugins.preemptible.move.MoveTargets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import jenkins.model.Jenkins;

/**
 * Copies from Jenkins what the policy has to know.
 *
 * <ol>
 *   <li>Agents with their idle executors; stages from the registry; buildable items from the queue.
 *   <li>Which agents fit an item is asked of Jenkins and of the other plugins' dispatchers: {@link WaitingItems}.
 * </ol>
 *
 * Never called under the queue's lock: it may load builds and asks other plugins.
 */
public final class SnapshotReader {

    private final Jenkins jenkins = Jenkins.get();
    private final StageRegistry stages = StageRegistry.get();
    private final Reservations reservations = Reservations.get();
    private final OwnerTimes ownerTimes;
    private final WaitingItems items;
    private final boolean neverAgain =
            PreemptibleConfiguration.get().limits().undumpable() == UndumpableStages.NEVER_PREEMPT;
    private final Arrivals arrivals = new Arrivals(jenkins);
    private final OtherPlugins others = OtherPlugins.now();
    /** Agents that take work and have something to give: an idle executor, or a stage that may give way or return. */
    private final Set<Node> giving = new LinkedHashSet<>();
    /** Agents that take work and are held by builds that end when they end. */
    private final Set<Node> busy = new LinkedHashSet<>();

    public SnapshotReader(OwnerTimes ownerTimes, WaitingItems items) {
        this.ownerTimes = ownerTimes;
        this.items = items;
    }

    public Snapshot read() {
        List<Snapshot.Agent> agents = new ArrayList<>(arrivals.agents());
        Map<String, Integer> held = new HashMap<>();
        Set<String> withStages = new HashSet<>();
        for (StageRecord stage : stages.all()) {
            withStages.add(stage.node());
            if (stage.state() != StageState.RUNNING) {
                held.merge(stage.node(), 1, Integer::sum);
            }
        }
        for (Computer computer : jenkins.getComputers()) {
            Node node = computer.getNode();
            if (node == null) {
                continue;
            }
            boolean accepting = computer.isOnline() && computer.isAcceptingTasks() && node.isAcceptingTasks();
            int idle = computer.countIdle();
            boolean memoryOnly = withStages.contains(node.getNodeName())
                    && HowSuspended.on(node.getNodeName()).way() == HowSuspended.Way.MEMORY_ONLY;
            agents.add(agent(node, idle, accepting, held.getOrDefault(node.getNodeName(), 0), memoryOnly));
            if (accepting && node.getNumExecutors() > 0) {
                (idle > 0 || withStages.contains(node.getNodeName()) ? giving : busy).add(node);
            }
        }
        List<Snapshot.RunningStage> running = new ArrayList<>();
        List<Snapshot.SuspendedStage> suspended = new ArrayList<>();
        HeldBlocks heldBlocks = new HeldBlocks();
        for (StageRecord stage : stages.all()) {
            LiveStage live = LiveStage.find(stage.id());
            if (live == null || live.ending()) {
                continue;
            }
            if (stage.state() == StageState.SUSPENDED) {
                if ((!stages.awaitsFirstTurn(stage.id()) || LostAgents.isLost(stage) || OutlivesAgent.isAwaited(stage))
                        && stage.mayBeTried()
                        && !live.aborting()) {
                    Snapshot.SuspendedStage waits = suspended(stage, live, heldBlocks.contains(stage));
                    if (!stage.undecided()
                            || !waits.elsewhere().isEmpty()
                            || waits.requested()
                            || OutlivesAgent.isAwaited(stage)
                            || LostAgents.isLost(stage)) {
                        suspended.add(waits);
                    }
                }
            } else if (stage.state() == StageState.RUNNING && !reservations.takes(stage)) {
                running.add(running(stage, live));
            }
        }
        // In this order: an item that has left the queue since is on its executor by now, and just runs.
        StagesOnExecutors onExecutors = StagesOnExecutors.now();
        suspended.removeIf(stage -> onExecutors.have(stage.id()));
        List<Snapshot.WaitingItem> waiting = waiting();
        long now = System.currentTimeMillis();
        return new Snapshot(
                now,
                PreemptibleConfiguration.get().limits(),
                agents,
                running,
                suspended,
                waiting,
                ownerTimes.at(now, stages.all(), present(waiting)),
                ArchiveRoom.now() == null,
                BusyExecutors.of(homesOfMovable(suspended)));
    }

    private static Set<String> homesOfMovable(List<Snapshot.SuspendedStage> suspended) {
        return suspended.stream()
                .filter(stage -> !stage.elsewhere().isEmpty() && !stage.requested())
                .flatMap(stage -> stage.agents().stream())
                .collect(Collectors.toSet());
    }

    private Set<String> present(List<Snapshot.WaitingItem> waiting) {
        Set<String> present = new HashSet<>();
        stages.all().forEach(stage -> present.add(stage.owner()));
        waiting.forEach(item -> present.add(item.owner()));
        return present;
    }

    private AgentState state(Node node) {
        if (DrainedAgents.get().contains(node.getNodeName())) {
            return AgentState.DRAINED;
        }
        return jenkins.isQuietingDown() ? AgentState.QUIETING_DOWN : AgentState.THERE;
    }

    private Snapshot.Agent agent(Node node, int idle, boolean accepting, int suspended, boolean memoryOnly) {
        Measured measured = Measured.of(node.getNodeName());
        return new Snapshot.Agent(
                node.getNodeName(),
                node.getAssignedLabels().stream().map(Label::getName).collect(Collectors.toSet()),
                idle,
                accepting,
                state(node),
                measured.freeBytes(),
                measured.dumpBytesPerSecond(),
                measured.restoreBytesPerSecond(),
                suspended,
                memoryOnly,
                measured.totalBytes(),
                FrozenOnly.heldBytes(node.getNodeName()));
    }

    private Snapshot.RunningStage running(StageRecord stage, LiveStage live) {
        return new Snapshot.RunningStage(
                stage.id(),
                stage.node(),
                stage.priority(),
                stage.owner(),
                stage.startedMillis(),
                stage.runningSinceMillis(),
                stage.suspensions(),
                stage.timeSliceMillis(),
                stage.canOnlyBeFrozen() ? stage.tie() : stage.whyNotSuspendable(),
                live.retryAfterMillis(),
                live.memory().residentBytes(),
                live.memory().growthBytesPerSecond(),
                StageTimes.get().expectedEndMillis(stage),
                stage.rerun() && live.hold().canRunAgain(),
                (neverAgain && stage.everUndumpable()) || NeverPreemptAction.holds(stage.runId()),
                stage.canOnlyBeFrozen(),
                stage.lastFrozenMillis(),
                live.objection().sentence() != null);
    }

    private Snapshot.SuspendedStage suspended(StageRecord stage, LiveStage live, boolean heldBack) {
        boolean held = stage.byHand() && PreemptibleConfiguration.get().isEnabled();
        boolean requested = live.hold().requested(stage);
        Set<String> own = Set.of(stage.node());
        Set<String> elsewhere = Set.of();
        boolean lost = stage.moveTo() == null && LostAgents.isLost(stage);
        if (OutlivesAgent.isAwaited(stage)) {
            own = Set.of(stage.restoringOn());
        } else if (lost && (!requested || live.hold().requestedAnywhere())) {
            own = MoveTargets.fitting(stage, live);
        } else if (requested) {
            own = Set.of(live.hold().requestedOn(stage));
        } else if (stage.moveTo() != null && PreemptibleConfiguration.get().isMoveStages()) {
            own = Set.of();
            elsewhere = MoveTargets.of(stage, live, others);
            elsewhere = elsewhere.contains(stage.moveTo()) ? Set.of(stage.moveTo()) : Set.of();
        } else if (!held) {
            // Its own agent has refused it for good, unless people say otherwise.
            own = stage.undecided() ? Set.of() : own;
            elsewhere = MoveTargets.of(stage, live, others);
        }
        return new Snapshot.SuspendedStage(
                stage.id(),
                heldBack ? Set.of() : own,
                stage.priority(),
                stage.owner(),
                stage.suspendedSinceMillis(),
                stage.preemptor(),
                requested,
                reservations.freedOn(stage.id()),
                held && stage.moveTo() == null,
                stage.thawByMillis(),
                elsewhere,
                MoveCosts.expectedMillis(stage),
                requested ? null : Nowhere.why(stage, live, others));
    }

    private List<Snapshot.WaitingItem> waiting() {
        if (jenkins.isQuietingDown()) {
            items.forget();
            return List.of();
        }
        List<Queue.BuildableItem> buildable = Queue.getInstance().getBuildableItems();
        return items.read(
                buildable,
                new FittingAgents(giving, busy, arrivals, new ContinuedItems(buildable)),
                reservations::freedOn);
    }
}
