package io.jenkins.plugins.preemptible.engine.policy;

import io.jenkins.plugins.preemptible.engine.policy.Action.Freeing;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.Agent;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.AgentState;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.RunningStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.SuspendedStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.WaitingItem;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import net.jqwik.api.statistics.Statistics;

/** A snapshot with what was decided upon it, and what tests ask of both. */
final class Decided {

    private final Snapshot snapshot;
    private final List<Action> actions;
    private final Map<String, Agent> agents;
    private final Map<String, RunningStage> running;
    private final Map<String, Claimant> claimants;
    private final Map<String, Action> byClaimant;
    /** Suspended stages that must not stay frozen. */
    private final Set<String> thawed;

    private Decided(Snapshot snapshot) {
        this.snapshot = snapshot;
        actions = PreemptionPolicy.decide(snapshot);
        agents = snapshot.agents().stream().collect(Collectors.toMap(Agent::name, agent -> agent));
        running = snapshot.running().stream().collect(Collectors.toMap(RunningStage::id, stage -> stage));
        claimants = claimantsOf(snapshot);
        thawed = snapshot.suspended().stream()
                .filter(stage -> stage.thawByMillis() > 0)
                .map(SuspendedStage::id)
                .collect(Collectors.toSet());
        byClaimant = actions.stream()
                .filter(action -> action.claimant() != null)
                .collect(Collectors.toMap(Action::claimant, action -> action));
    }

    static Decided on(Snapshot snapshot) {
        return new Decided(snapshot);
    }

    static Decided on(Snapshot snapshot, Limits other) {
        return on(new Snapshot(
                snapshot.nowMillis(),
                other,
                snapshot.agents(),
                snapshot.running(),
                snapshot.suspended(),
                snapshot.waiting(),
                snapshot.usedMillis(),
                snapshot.roomForImages(),
                snapshot.busy()));
    }

    /** Who wants an executor. */
    record Claimant(
            String id,
            boolean isStage,
            int priority,
            long rank,
            String owner,
            long sinceMillis,
            Set<String> agents,
            String reservedAgent,
            long expectedMillis,
            boolean urgent) {}

    /** The samples are others at each run, and so is how often they lead there. */
    private static final double CHANCE = 5;

    /**
     * Fails the property when hardly any snapshot has led to what it is about: it would hold for a policy that does
     * nothing.
     */
    static void isOften(String what, boolean seen) {
        isOften(what, 10, seen);
    }

    /** @param percent of the samples that lead there as a rule; a fifth of that will do */
    static void isOften(String what, double percent, boolean seen) {
        Statistics.label(what).collect(seen);
        Statistics.label(what).coverage(coverage -> coverage.check(true).percentage(share -> share > percent / CHANCE));
    }

    <T extends Action> List<T> all(Class<T> kind) {
        return actions.stream().filter(kind::isInstance).map(kind::cast).toList();
    }

    /** Those for somebody: without what is suspended since its agent is drained. */
    List<Freeing> freed() {
        return all(Freeing.class).stream()
                .filter(freeing -> freeing.forItem() != null)
                .toList();
    }

    /** Suspensions without what is run again. */
    List<Freeing> suspended() {
        return freed().stream()
                .filter(freeing -> !(freeing instanceof Action.Rerun))
                .toList();
    }

    List<Freeing> drained() {
        return all(Freeing.class).stream()
                .filter(freeing -> freeing.forItem() == null)
                .toList();
    }

    List<RunningStage> victims() {
        return freed().stream().map(this::victim).toList();
    }

    RunningStage victim(Freeing freeing) {
        return running.get(freeing.stageId());
    }

    Snapshot snapshot() {
        return snapshot;
    }

    List<Action> actions() {
        return actions;
    }

    Claimant claimant(Action action) {
        return claimants.get(action.claimant());
    }

    Map<String, Claimant> claimants() {
        return claimants;
    }

    Action action(Claimant claimant) {
        return byClaimant.get(claimant.id());
    }

    private Map<String, Claimant> claimantsOf(Snapshot snapshot) {
        Map<String, Claimant> all = new HashMap<>();
        for (WaitingItem item : snapshot.waiting()) {
            all.put(
                    item.id(),
                    new Claimant(
                            item.id(),
                            false,
                            item.priority(),
                            item.priority(),
                            item.owner(),
                            item.sinceMillis(),
                            usable(item.agents(), false),
                            reserved(item.reservedAgent()),
                            item.expectedMillis(),
                            false));
        }
        long ageing = snapshot.limits().ageingMillis();
        for (SuspendedStage stage : snapshot.suspended()) {
            long aged = ageing == 0 ? 0 : (snapshot.nowMillis() - stage.sinceMillis()) / ageing;
            boolean urgent = urgent(stage);
            boolean drained = stage.thawByMillis() > 0;
            all.put(
                    stage.id(),
                    new Claimant(
                            stage.id(),
                            true,
                            stage.priority(),
                            urgent
                                    ? Long.MIN_VALUE / 2 + stage.thawByMillis()
                                    : Math.min(stage.priority() - aged, beforeLongOnes(stage)),
                            stage.owner(),
                            stage.sinceMillis(),
                            usable(stage.agents(), drained),
                            stage.byHand() && !urgent ? null : reserved(stage.reservedAgent(), drained),
                            0,
                            urgent));
        }
        return all;
    }

    // A claim that needs the executor for longer than a stage may be frozen comes after it.
    private long beforeLongOnes(SuspendedStage stage) {
        FreezeOnly freezeOnly = snapshot.limits().freezeOnly();
        long before = Long.MAX_VALUE;
        for (WaitingItem item : snapshot.waiting()) {
            boolean outlasts =
                    snapshot.nowMillis() + item.expectedMillis() > stage.thawByMillis() - freezeOnly.leadMillis();
            boolean sameAgent = item.agents().stream().anyMatch(stage.agents()::contains);
            if (stage.thawByMillis() > 0 && outlasts && sameAgent && item.reservedAgent() == null) {
                before = Math.min(before, item.priority());
            }
        }
        return before;
    }

    /** Whether it is a stage that may stay frozen for some time only. */
    boolean isFrozenOnly(Claimant claimant) {
        return thawed.contains(claimant.id());
    }

    // A reservation on an agent that takes nothing is void.
    private String reserved(String agent) {
        return reserved(agent, false);
    }

    // What must not stay frozen runs again on a drained agent too.
    private Set<String> usable(Set<String> names, boolean alsoDrained) {
        return names.stream()
                .filter(name -> takes(name) || alsoDrained && agent(name).accepting())
                .collect(Collectors.toSet());
    }

    /** Whether a stage may have an executor of that agent, for as far as the agent is asked. */
    boolean mayRunOn(Action action, String agent) {
        boolean drained = agent(agent).accepting() && agent(agent).state() == AgentState.DRAINED;
        return there(agent) || drained && thawed.contains(action.claimant());
    }

    private String reserved(String agent, boolean alsoDrained) {
        return agent != null && (takes(agent) || alsoDrained && agent(agent).accepting()) ? agent : null;
    }

    Agent agent(String name) {
        return agents.get(name);
    }

    /** Whether it is online or coming, and not drained. */
    boolean takes(String agent) {
        return agent(agent).accepting() && agent(agent).state() != AgentState.DRAINED;
    }

    boolean there(String agent) {
        return agent(agent).accepting() && agent(agent).state() == AgentState.THERE;
    }

    long used(String owner) {
        return snapshot.usedMillis().getOrDefault(owner, 0L);
    }

    long slice(RunningStage stage) {
        return snapshot.limits().slices().of(agent(stage.agent()).labels(), stage.priority(), stage.timeSliceMillis());
    }

    boolean hadItsSlice(RunningStage stage) {
        return slice(stage) > 0 && snapshot.nowMillis() - stage.runningSinceMillis() >= slice(stage);
    }

    /** Whether it cannot be dumped, and may be frozen for a time. */
    boolean frozenOnly(RunningStage stage) {
        return stage.whyNotPreemptible() != null
                && stage.freezable()
                && snapshot.limits().undumpable() == UndumpableStages.FREEZE_ONLY;
    }

    /** Whether it would hold more of its agent's memory than frozen ones may, were it the only new one. */
    boolean overShare(RunningStage stage) {
        Agent agent = agent(stage.agent());
        long room = snapshot.limits().freezeOnly().roomBytes(agent.totalBytes(), agent.frozenOnlyBytes());
        return stage.residentBytes() < 0 || stage.residentBytes() > room;
    }

    boolean frozenLately(RunningStage stage) {
        return snapshot.nowMillis() - stage.runningSinceMillis() < stage.lastFrozenMillis();
    }

    /** Whether it must not stay frozen for much longer. */
    boolean urgent(SuspendedStage stage) {
        long lead = snapshot.limits().freezeOnly().leadMillis();
        return stage.thawByMillis() > 0 && snapshot.nowMillis() >= stage.thawByMillis() - lead;
    }

    Cost cost(RunningStage stage) {
        return frozenOnly(stage) ? Cost.IN_MEMORY : Cost.of(stage, agent(stage.agent()));
    }

    boolean inExemptTime(RunningStage stage) {
        return snapshot.nowMillis() - stage.runningSinceMillis()
                < snapshot.limits().exemptMillis();
    }

    boolean suspendedOften(RunningStage stage) {
        int most = snapshot.limits().mostSuspensions();
        return most > 0 && stage.suspensions() >= most;
    }

    boolean undisturbed(RunningStage stage) {
        Undisturbed hours = snapshot.limits().undisturbed();
        return hours != null && hours.protects(stage.startedMillis(), snapshot.nowMillis());
    }

    boolean tooLarge(RunningStage stage) {
        long most = snapshot.limits().imageBytes();
        return most > 0 && stage.residentBytes() > most && !agent(stage.agent()).memoryOnly() && !frozenOnly(stage);
    }

    /** Whether it would have to stay in memory that is not free. */
    boolean lacksMemory(RunningStage stage) {
        Agent agent = agent(stage.agent());
        return (agent.memoryOnly() || frozenOnly(stage))
                && agent.freeBytes() != -1
                && agent.freeBytes() < snapshot.limits().memoryFloorBytes();
    }

    /** Whether somebody could have it run again in place of a suspension, given that it is of worse priority. */
    boolean rerunnable(RunningStage stage) {
        if (stage.whyNotPreemptible() != null) {
            return stage.rerun() && snapshot.limits().undumpable() == UndumpableStages.RERUN;
        }
        boolean justBegun = stage.suspensions() == 0
                && snapshot.nowMillis() - stage.startedMillis() < cost(stage).totalMillis();
        return stage.rerun() && justBegun;
    }

    /** Whether nothing keeps this claimant from taking that stage, room for suspended ones apart. */
    boolean mayTake(Claimant claimant, RunningStage stage) {
        boolean worse = stage.priority() > claimant.priority();
        boolean endedTurn = stage.priority() == claimant.priority()
                && hadItsSlice(stage)
                && used(claimant.owner()) <= used(stage.owner())
                && !rerunnable(stage);
        boolean rerun = rerunnable(stage);
        boolean frozenOnly = frozenOnly(stage);
        if (frozenOnly) {
            endedTurn = false;
        }
        boolean freezable = frozenOnly
                && !overShare(stage)
                && !frozenLately(stage)
                && snapshot.limits().freezeOnly().hasTimeFor(claimant.expectedMillis())
                && !lacksMemory(stage);
        if (claimant.urgent()) {
            worse = !rerun;
        }
        return (worse || endedTurn)
                && claimant.agents().contains(stage.agent())
                && takes(stage.agent())
                && !stage.neverPreempt()
                && (rerun
                        || freezable
                        || (stage.whyNotPreemptible() == null && !tooLarge(stage) && !lacksMemory(stage)))
                && !suspendedOften(stage)
                && !undisturbed(stage)
                && (claimant.urgent() || !inExemptTime(stage))
                && snapshot.nowMillis() >= stage.retryAfterMillis();
    }

    /** Whether it is expected to end, or should have ended, within that time. */
    boolean endsWithin(RunningStage stage, long millis) {
        return stage.expectedEndMillis() > 0 && Math.abs(stage.expectedEndMillis() - snapshot.nowMillis()) <= millis;
    }

    /**
     * Whether the claim is served by an idle or an arriving executor that nobody had to free. What is in the queue
     * already counts as served: its answer does not tell.
     */
    boolean promisedIdle(Claimant claimant) {
        Action action = action(claimant);
        return claimant.reservedAgent() == null
                && (action instanceof Action.Resume
                        || action.reason() == Reason.EXECUTOR_FREE_ALREADY
                        || action.reason() == Reason.AGENT_ON_ITS_WAY
                        || action.reason() == Reason.RESTORE_REQUESTED_ALREADY);
    }

    /** Whether it only waits: nothing is freed, promised or kept for it. */
    boolean getsNothing(Claimant claimant) {
        Action action = action(claimant);
        return action instanceof Action.Wait
                && claimant.reservedAgent() == null
                && !promisedIdle(claimant)
                && action.reason() != Reason.SUSPENDED_BY_HAND;
    }

    /** Idle and arriving executors by agent, without what is kept for holders of a reservation. */
    Map<String, Integer> idle() {
        Map<String, Integer> idle = snapshot.agents().stream()
                .filter(Agent::accepting)
                .collect(Collectors.toMap(Agent::name, Agent::idleExecutors));
        claimants.values().stream()
                .filter(claimant -> claimant.reservedAgent() != null)
                .forEach(claimant ->
                        idle.computeIfPresent(claimant.reservedAgent(), (name, count) -> Math.max(0, count - 1)));
        return idle;
    }

    /** The same for another order of everything that has one, each set a copy. */
    static Snapshot shuffled(Snapshot snapshot, Random random) {
        return new Snapshot(
                snapshot.nowMillis(),
                snapshot.limits(),
                shuffled(snapshot.agents().stream(), random),
                shuffled(snapshot.running().stream(), random),
                shuffled(snapshot.suspended().stream(), random),
                shuffled(
                        snapshot.waiting().stream()
                                .map(item -> new WaitingItem(
                                        item.id(),
                                        item.priority(),
                                        item.owner(),
                                        item.sinceMillis(),
                                        new HashSet<>(item.agents()),
                                        item.reservedAgent(),
                                        item.expectedMillis())),
                        random),
                snapshot.usedMillis(),
                snapshot.roomForImages(),
                shuffled(snapshot.busy().stream(), random));
    }

    private static <T> List<T> shuffled(Stream<T> stream, Random random) {
        List<T> copy = new ArrayList<>(stream.toList());
        Collections.shuffle(copy, random);
        return copy;
    }
}
