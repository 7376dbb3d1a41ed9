package io.jenkins.plugins.preemptible.queue;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Computer;
import hudson.model.Executor;
import hudson.model.Node;
import hudson.model.Queue;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.Action;
import io.jenkins.plugins.preemptible.engine.policy.CheckedDecision;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.lifecycle.agents.OtherPlugins;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.lifecycle.suspend.Suspension;
import io.jenkins.plugins.preemptible.queue.snapshot.OwnerTimes;
import io.jenkins.plugins.preemptible.queue.snapshot.Reservations;
import io.jenkins.plugins.preemptible.queue.snapshot.SnapshotReader;
import io.jenkins.plugins.preemptible.queue.snapshot.StagesOnExecutors;
import io.jenkins.plugins.preemptible.queue.snapshot.WaitingItems;
import io.jenkins.plugins.preemptible.view.LoggedName;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import jenkins.model.Jenkins;

/**
 * Looks at the queue, asks the policy, and has its answer carried out.
 *
 * <ol>
 *   <li>{@link #soon} asks for a look after a short delay; looks never overlap, and asking twice gives one look.
 *   <li>A look reads a snapshot, lets {@link CheckedDecision} decide, and hands each action to a thread.
 *   <li>A suspension that ends, well or not, asks for the next look.
 * </ol>
 */
public final class Preemption {

    private static final Logger LOGGER = Logger.getLogger(Preemption.class.getName());
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final EvaluationPace PACE = new EvaluationPace(clock());

    /** Every ordinary release of an executor is over by then. */
    private static final long FORGOTTEN_MILLIS = 10_000;

    private static final Object LOOKING = new Object();
    /** A reason that has held until then is told. */
    private static final long TELLING_MILLIS = 1_100;

    private static final OwnerTimes OWNER_TIMES = new OwnerTimes();
    private static final WaitReasons WAIT_REASONS = new WaitReasons();
    private static final WaitingItems WAITING = new WaitingItems();
    /** Items that turn out to be held back by other plugins: hardly ever found in more rounds than these. */
    private static final int MOST_ROUNDS = 5;

    private Preemption() {}

    /** Of no day, so that it never goes back: else no look would be due until the machine's clock has caught up. */
    private static long clock() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
    }

    /** Asks for a look after a delay; harmless under any lock. */
    public static void soon(long delayMillis) {
        long now = clock();
        setTimer(PACE.want(now + delayMillis, now), now);
    }

    private static void setTimer(long atMillis, long nowMillis) {
        if (atMillis >= 0) {
            StageThreads.scheduleLook("looking at the queue", atMillis - nowMillis, () -> lookAt(atMillis));
        }
    }

    private static void lookAt(long setMillis) {
        if (!PACE.begin(setMillis, clock())) {
            return;
        }
        long before = THREADS.getCurrentThreadCpuTime();
        try {
            look();
        } finally {
            long now = clock();
            setTimer(PACE.end((THREADS.getCurrentThreadCpuTime() - before) / 1e6, now), now);
        }
    }

    static void look() {
        synchronized (LOOKING) {
            Jenkins jenkins = Jenkins.getInstanceOrNull();
            if (jenkins == null || jenkins.isTerminating()) {
                return;
            }
            Reservations.get().sweep();
            if (StageRegistry.get().isEmpty()) {
                // Else the owner of the last stage would be charged with all the time until the next one.
                OWNER_TIMES.at(System.currentTimeMillis(), List.of(), Set.of());
                forget();
                return;
            }
            withdrawLateRequests(jenkins);
            AnywhereRequests.ask();
            takeUpForgotten();
            ManualSuspensions.carryOut();
            MoveWishes.dropVain();
            LateThaws.tell();
            CheckedDecision decision =
                    CheckedDecision.of(new SnapshotReader(OWNER_TIMES, WAITING).read(), WAITING::check, MOST_ROUNDS);
            Snapshot snapshot = decision.snapshot();
            List<Action> actions = decision.actions();
            LastDecision.is(snapshot, actions);
            // First, so that who gives its kept executor up for one that is freed can have that begun at once.
            Reservations.get().keepOnly(goingOn(actions));
            for (Action action : actions) {
                if (!decision.isCertain(action)) {
                    soon(QueueWatch.SETTLE_MILLIS);
                    continue;
                }
                LOGGER.log(Level.FINE, "decided: {0}", action);
                try {
                    carryOut(action);
                } catch (RuntimeException x) {
                    LOGGER.log(Level.WARNING, x, () -> "cannot carry out " + action);
                }
            }
            WAIT_REASONS.tell(actions, WAITING, snapshot.nowMillis());
            if (WAIT_REASONS.untold()) {
                soon(TELLING_MILLIS);
            }
        }
    }

    /** What was found out and decided about items. */
    static void forget() {
        synchronized (LOOKING) {
            LastDecision.none();
            WAITING.forget();
            WAIT_REASONS.tell(List.of(), WAITING, 0);
        }
    }

    /** Stages for which a kept executor is still of use. */
    private static Set<String> goingOn(List<Action> actions) {
        return actions.stream()
                .filter(action -> action instanceof Action.Reserve
                        || action instanceof Action.Resume
                        || action.reason() == Reason.RESTORE_REQUESTED_ALREADY)
                .map(Action::claimant)
                .collect(Collectors.toSet());
    }

    private static void carryOut(Action action) {
        if (action instanceof Action.Rerun) {
            runAgain((Action.Rerun) action);
        } else if (action instanceof Action.Freeing) {
            suspend((Action.Freeing) action);
        } else if (action instanceof Action.Resume) {
            resume((Action.Resume) action);
        } else if (action instanceof Action.Reserve) {
            StageRecord stage = StageRegistry.get().find(action.claimant());
            if (stage != null && Reservations.get().keepNext(stage, ((Action.Reserve) action).agent())) {
                soon(QueueWatch.SETTLE_MILLIS);
            }
        } else if (action.reason() == Reason.AGENT_NOT_ACCEPTING) {
            withdrawHeldBack(StageRegistry.get().find(action.claimant()));
        }
    }

    /** Another plugin holds the block off since it may run: as long as it may, nobody else gets at its agent. */
    private static void withdrawHeldBack(@CheckForNull StageRecord stage) {
        LiveStage live = stage == null ? null : LiveStage.find(stage.id());
        if (live != null && stage.form() == StageRecord.Form.NESTED && stage.state() == StageState.SUSPENDED) {
            live.hold().withdraw(stage);
        }
    }

    private static void runAgain(Action.Rerun action) {
        StageRecord victim = StageRegistry.get().find(action.stageId());
        LiveStage live = LiveStage.find(action.stageId());
        Preemptor preemptor = Preemptor.of(action.forItem(), WAITING);
        boolean running = victim != null && victim.state() == StageState.RUNNING && live != null && !live.busy();
        // What the stage has done is lost for ever: not for an item that is gone by now.
        if (!running
                || preemptor == null
                || !preemptor.waits()
                || !Reservations.get().begin(action.forItem(), victim)) {
            return;
        }
        preemptor.chosen(victim, action.reason());
        Reservations.get().open(action.forItem());
        live.hold()
                .runAgain("Ended for "
                        + LoggedName.ofPreemptor(
                                preemptor.name(),
                                preemptor.job(),
                                victim.job(),
                                action.reason().sentence())
                        + ", to be run again from its beginning: "
                        + action.reason().sentence());
        preemptor.served(0);
    }

    /**
     * Takes back the requests of stages whose executor another item has got: a node block that may run holds everybody
     * else off its agent, the better ones too.
     */
    private static void withdrawLateRequests(Jenkins jenkins) {
        OtherPlugins others = OtherPlugins.now();
        for (StageRecord stage : StageRegistry.get().all()) {
            if (stage.heldByHand(System.currentTimeMillis())) {
                Reservations.get().drop(stage.id());
            }
            LiveStage live = LiveStage.find(stage.id());
            Computer computer =
                    live == null ? null : jenkins.getComputer(live.hold().requestedOn(stage));
            if (live != null
                    && stage.state() == StageState.SUSPENDED
                    && live.hold().requested(stage)
                    && (live.hold().requestedAnywhere()
                            ? AnywhereRequests.isHeld(stage)
                            : computer == null
                                    || computer.countIdle() == 0
                                    || held(stage)
                                    || isHeldOff(stage, live, computer.getNode(), others)
                                    || AnywhereRequests.isInVain(stage, live))
                    && live.hold().executor(stage) == null) {
                live.hold().withdraw(stage);
            }
        }
    }

    /** Another plugin keeps the stage off another agent: its own may be free before that changes its mind. */
    private static boolean isHeldOff(StageRecord stage, LiveStage live, @CheckForNull Node agent, OtherPlugins others) {
        return agent != null
                && !agent.getNodeName().equals(stage.node())
                && !OutlivesAgent.isAwaited(stage)
                && !others.letTake(agent, stage, live);
    }

    private static boolean held(StageRecord stage) {
        LiveStage live = LiveStage.find(stage.id());
        String agent = live == null ? stage.node() : live.hold().requestedOn(stage);
        return held(stage, agent);
    }

    private static boolean held(StageRecord stage, String agent) {
        return stage.heldByHand(System.currentTimeMillis())
                        && stage.moveTo() == null
                        && PreemptibleConfiguration.get().isEnabled()
                || stage.thawByMillis() == 0 && DrainedAgents.get().contains(agent);
    }

    /** A suspended stage that has its executor, since an earlier attempt failed half-way, is resumed: nothing else can use it. */
    private static void takeUpForgotten() {
        long now = System.currentTimeMillis();
        StagesOnExecutors onExecutors = StagesOnExecutors.now();
        for (StageRecord stage : StageRegistry.get().all()) {
            LiveStage live = LiveStage.find(stage.id());
            // In this order: a stage that ends a first turn is busy until the executor is given away.
            if (live != null
                    && stage.state() == StageState.SUSPENDED
                    && !StageRegistry.get().awaitsFirstTurn(stage.id())
                    && !live.busy()
                    && now - stage.suspendedSinceMillis() > FORGOTTEN_MILLIS
                    && now > stage.retryAfterMillis()
                    && onExecutors.have(stage.id())) {
                Executor executor = live.hold().executor(stage);
                // One that is just being given away shows its last work for a moment, but no execution any more.
                if (executor != null && executor.getAsynchronousExecution() != null) {
                    live.hold().takeUp(executor);
                }
            }
        }
    }

    private static void suspend(Action.Freeing action) {
        if (action.forItem() == null) {
            ManualSuspensions.drain(action.stageId(), action.agent(), action.reason());
            return;
        }
        StageRecord victim = StageRegistry.get().find(action.stageId());
        Preemptor preemptor = Preemptor.of(action.forItem(), WAITING);
        if (victim == null || preemptor == null || !Reservations.get().begin(action.forItem(), victim)) {
            return;
        }
        preemptor.chosen(victim, action.reason());
        long requestedNanos = System.nanoTime();
        StageThreads.submitOn(victim.node(), "suspending " + victim, () -> {
            OptionalLong freed = OptionalLong.empty();
            try {
                freed = Suspension.run(
                        victim.id(),
                        new Suspension.Request(
                                preemptor.name(),
                                preemptor.job(),
                                action.reason(),
                                preemptor::waits,
                                () -> {
                                    // Before the executor is free: the item may have it in the next moment.
                                    preemptor.served(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - requestedNanos));
                                    Reservations.get().open(action.forItem());
                                },
                                action.sealAfterMillis(),
                                requestedNanos));
            } finally {
                if (freed.isPresent()) {
                    preemptor.served(freed.getAsLong());
                } else {
                    Reservations.get().drop(action.forItem());
                    preemptor.notServed();
                }
                Queue.getInstance().scheduleMaintenance();
                soon(freed.isPresent() ? 50 : 500);
            }
        });
    }

    private static void resume(Action.Resume action) {
        StageRecord stage = StageRegistry.get().find(action.stageId());
        LiveStage live = LiveStage.find(action.stageId());
        if (stage == null || live == null || live.ending()) {
            return;
        }
        StageThreads.enqueue("queueing " + stage + " again", () -> {
            StageRecord now = StageRegistry.get().find(action.stageId());
            if (now != null
                    && now.state() == StageState.SUSPENDED
                    && !held(now, action.agent())
                    && !AnywhereRequests.isAsked(now, live)) {
                live.hold().request(now, action.agent());
            }
        });
    }
}
