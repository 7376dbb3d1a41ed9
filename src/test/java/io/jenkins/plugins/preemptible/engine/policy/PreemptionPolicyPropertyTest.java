package io.jenkins.plugins.preemptible.engine.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.Action.Freeing;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.Agent;
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
import java.util.function.Function;
import java.util.stream.Collectors;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.statistics.Statistics;
import net.jqwik.api.statistics.StatisticsReport;
import net.jqwik.api.statistics.StatisticsReport.StatisticsReportMode;

/** What holds for every snapshot, tried on generated ones. */
class PreemptionPolicyPropertyTest {

    private static final long NOW = 100_000;
    private static final double OFTEN_PERCENT = 10;
    private static final List<String> AGENTS = List.of("a", "b", "c", "d");

    @Provide
    Arbitrary<Snapshot> snapshots() {
        // One seed makes one snapshot: small numbers, so that ties and shortages are frequent.
        return Arbitraries.longs().map(seed -> snapshot(new Random(seed)));
    }

    private static Snapshot snapshot(Random random) {
        Limits limits = new Limits(
                random.nextInt(8) > 0,
                random.nextBoolean() ? 0 : random.nextInt(60_000),
                random.nextBoolean() ? 0 : random.nextInt(60_000),
                random.nextInt(4));
        List<Agent> agents = AGENTS.stream()
                .map(name -> new Agent(name, random.nextInt(3) == 0 ? random.nextInt(3) : 0, random.nextInt(8) > 0))
                .toList();
        List<RunningStage> running = new ArrayList<>();
        for (int i = random.nextInt(9); i > 0; i--) {
            long since = random.nextInt((int) NOW);
            running.add(new RunningStage(
                    "run" + i,
                    AGENTS.get(random.nextInt(4)),
                    random.nextInt(5),
                    random.nextInt((int) since + 1),
                    since,
                    random.nextInt(4),
                    random.nextBoolean() ? 0 : random.nextInt(60_000),
                    random.nextInt(6) == 0 ? "traced" : null,
                    random.nextInt(6) == 0 ? NOW + 5 : 0));
        }
        List<SuspendedStage> suspended = new ArrayList<>();
        for (int i = random.nextInt(5); i > 0; i--) {
            Set<String> fitting = fitting(random);
            suspended.add(new SuspendedStage(
                    "sus" + i,
                    fitting,
                    random.nextInt(5),
                    random.nextInt((int) NOW),
                    null,
                    random.nextInt(4) == 0,
                    reserved(random, fitting)));
        }
        List<WaitingItem> waiting = new ArrayList<>();
        for (int i = random.nextInt(9); i > 0; i--) {
            Set<String> fitting = fitting(random);
            waiting.add(new WaitingItem(
                    "item" + i, random.nextInt(5), random.nextInt((int) NOW), fitting, reserved(random, fitting)));
        }
        return new Snapshot(NOW, limits, agents, running, suspended, waiting);
    }

    private static Set<String> fitting(Random random) {
        return AGENTS.stream().filter(name -> random.nextInt(2) == 0).collect(Collectors.toSet());
    }

    private static String reserved(Random random, Set<String> fitting) {
        return random.nextInt(6) == 0 && !fitting.isEmpty() ? fitting.iterator().next() : null;
    }

    private static List<Freeing> suspends(Snapshot snapshot) {
        return PreemptionPolicy.decide(snapshot).stream()
                .filter(Freeing.class::isInstance)
                .map(Freeing.class::cast)
                .toList();
    }

    /** Fails the property when hardly any snapshot has led to what it is about: it would hold for a policy that does nothing. */
    private static void isOften(String what, boolean seen) {
        Statistics.label(what).collect(seen);
        Statistics.label(what).coverage(coverage -> coverage.check(true).percentage(share -> share > OFTEN_PERCENT));
    }

    private static RunningStage victim(Snapshot snapshot, Freeing suspend) {
        return snapshot.running().stream()
                .filter(stage -> stage.id().equals(suspend.stageId()))
                .findFirst()
                .orElseThrow();
    }

    private record Claimant(int priority, Set<String> agents, String reservedAgent) {}

    private static Map<String, Claimant> claimants(Snapshot snapshot) {
        Map<String, Claimant> all = new HashMap<>();
        snapshot.waiting()
                .forEach(item ->
                        all.put(item.id(), new Claimant(item.priority(), item.agents(), item.reservedAgent())));
        snapshot.suspended()
                .forEach(stage ->
                        all.put(stage.id(), new Claimant(stage.priority(), stage.agents(), stage.reservedAgent())));
        return all;
    }

    private static long slice(Snapshot snapshot, RunningStage stage) {
        return snapshot.limits()
                .slices()
                .of(agent(snapshot, stage.agent()).labels(), stage.priority(), stage.timeSliceMillis());
    }

    @Property(tries = 10_000)
    @StatisticsReport(StatisticsReportMode.OFF)
    void neverForAWorseItemAndForAnEqualOneOnlyAtTheSlicesEnd(@ForAll("snapshots") Snapshot snapshot) {
        isOften("suspends", !suspends(snapshot).isEmpty());
        for (Freeing suspend : suspends(snapshot)) {
            RunningStage victim = victim(snapshot, suspend);
            int priority = claimants(snapshot).get(suspend.forItem()).priority();
            isOften("at the slice's end", victim.priority() == priority);
            if (victim.priority() == priority) {
                assertEquals(Reason.TIME_SLICE_USED_UP, suspend.reason());
                assertTrue(slice(snapshot, victim) > 0);
                assertTrue(NOW - victim.runningSinceMillis() >= slice(snapshot, victim));
            } else {
                assertEquals(Reason.HIGHER_PRIORITY_WAITS, suspend.reason());
                assertTrue(victim.priority() > priority);
            }
        }
    }

    @Property(tries = 10_000)
    @StatisticsReport(StatisticsReportMode.OFF)
    void oneVictimAClaimAndOneClaimAVictimOnAFittingAgent(@ForAll("snapshots") Snapshot snapshot) {
        isOften("suspends", !suspends(snapshot).isEmpty());
        Set<String> victims = new HashSet<>();
        Set<String> claims = new HashSet<>();
        for (Freeing suspend : suspends(snapshot)) {
            assertTrue(victims.add(suspend.stageId()));
            assertTrue(claims.add(suspend.forItem()));
            assertEquals(victim(snapshot, suspend).agent(), suspend.agent());
            assertTrue(claimants(snapshot).get(suspend.forItem()).agents().contains(suspend.agent()));
        }
    }

    @Property(tries = 10_000)
    @StatisticsReport(StatisticsReportMode.OFF)
    void everyProtectionOfAStageIsRespected(@ForAll("snapshots") Snapshot snapshot) {
        isOften("suspends", !suspends(snapshot).isEmpty());
        Limits limits = snapshot.limits();
        for (Freeing suspend : suspends(snapshot)) {
            RunningStage victim = victim(snapshot, suspend);
            assertTrue(limits.enabled());
            assertNull(victim.whyNotPreemptible());
            assertTrue(NOW >= victim.retryAfterMillis());
            assertTrue(NOW - victim.runningSinceMillis() >= limits.exemptMillis());
            assertTrue(limits.mostSuspensions() == 0 || victim.suspensions() < limits.mostSuspensions());
            assertTrue(agent(snapshot, suspend.agent()).accepting());
        }
    }

    @Property(tries = 10_000)
    @StatisticsReport(StatisticsReportMode.OFF)
    void noVictimWhileIdleExecutorsCouldServeTheClaimToo(@ForAll("snapshots") Snapshot snapshot) {
        isOften("suspends", !suspends(snapshot).isEmpty());
        Map<String, Claimant> claimants = claimants(snapshot);
        Map<String, Integer> idle = snapshot.agents().stream()
                .filter(Agent::accepting)
                .collect(Collectors.toMap(Agent::name, Agent::idleExecutors));
        claimants.values().stream()
                .filter(claimant -> isReserved(claimant, idle))
                .forEach(claimant -> idle.computeIfPresent(
                        claimant.reservedAgent(), (name, count) -> Math.max(0, count - 1)));
        List<Set<String>> served = new ArrayList<>();
        for (Action action : PreemptionPolicy.decide(snapshot)) {
            boolean takesOne = action instanceof Action.Resume
                    || action.reason() == Reason.EXECUTOR_FREE_ALREADY
                    || action.reason() == Reason.RESTORE_REQUESTED_ALREADY;
            Claimant claimant = claimants.get(id(action));
            if (takesOne && !isReserved(claimant, idle)) {
                served.add(claimant.agents());
            }
        }
        for (Freeing suspend : suspends(snapshot)) {
            List<Set<String>> withIt = new ArrayList<>(served);
            withIt.add(claimants.get(suspend.forItem()).agents());
            assertFalse(canAllBeServed(withIt, idle), () -> suspend + " was needless in " + snapshot);
        }
    }

    private static boolean isReserved(Claimant claimant, Map<String, Integer> accepting) {
        return claimant.reservedAgent() != null && accepting.containsKey(claimant.reservedAgent());
    }

    private static boolean canAllBeServed(List<Set<String>> wishes, Map<String, Integer> idle) {
        List<String> slots = new ArrayList<>();
        idle.forEach((name, count) -> slots.addAll(Collections.nCopies(count, name)));
        int[] holder = new int[slots.size()];
        java.util.Arrays.fill(holder, -1);
        for (int wish = 0; wish < wishes.size(); wish++) {
            if (!serve(wish, wishes, slots, holder, new HashSet<>())) {
                return false;
            }
        }
        return true;
    }

    private static boolean serve(
            int wish, List<Set<String>> wishes, List<String> slots, int[] holder, Set<Integer> seen) {
        for (int slot = 0; slot < slots.size(); slot++) {
            if (wishes.get(wish).contains(slots.get(slot)) && seen.add(slot)) {
                if (holder[slot] < 0 || serve(holder[slot], wishes, slots, holder, seen)) {
                    holder[slot] = wish;
                    return true;
                }
            }
        }
        return false;
    }

    @Property(tries = 10_000)
    @StatisticsReport(StatisticsReportMode.OFF)
    void noBetterVictimWasLeftOut(@ForAll("snapshots") Snapshot snapshot) {
        isOften("suspends", !suspends(snapshot).isEmpty());
        Set<String> taken = new HashSet<>();
        for (Action action : PreemptionPolicy.decide(snapshot)) {
            if (action instanceof Freeing suspend) {
                RunningStage victim = victim(snapshot, suspend);
                Set<String> fitting = claimants(snapshot).get(suspend.forItem()).agents();
                int priority = claimants(snapshot).get(suspend.forItem()).priority();
                for (RunningStage other : snapshot.running()) {
                    // Among those of worse priority the last one to start; among equals the one that runs longest.
                    boolean sooner = victim.priority() > priority
                            ? other.startedMillis() > victim.startedMillis()
                            : other.runningSinceMillis() < victim.runningSinceMillis();
                    boolean worse =
                            other.priority() > victim.priority() || (other.priority() == victim.priority() && sooner);
                    boolean keepsItsTurn = other.priority() == priority
                            && (slice(snapshot, other) == 0
                                    || NOW - other.runningSinceMillis() < slice(snapshot, other));
                    if (worse && fitting.contains(other.agent()) && !taken.contains(other.id())) {
                        assertTrue(
                                isProtected(snapshot, other) || keepsItsTurn,
                                () -> other + " should have been taken in place of " + victim);
                    }
                }
                taken.add(suspend.stageId());
            }
        }
    }

    private static boolean isProtected(Snapshot snapshot, RunningStage stage) {
        Limits limits = snapshot.limits();
        return stage.whyNotPreemptible() != null
                || NOW < stage.retryAfterMillis()
                || NOW - stage.runningSinceMillis() < limits.exemptMillis()
                || (limits.mostSuspensions() > 0 && stage.suspensions() >= limits.mostSuspensions())
                || !agent(snapshot, stage.agent()).accepting();
    }

    @Property(tries = 10_000)
    @StatisticsReport(StatisticsReportMode.OFF)
    void noMoreStagesGoOnThanExecutorsAreIdleAndNoneBeforeABetterItem(@ForAll("snapshots") Snapshot snapshot) {
        List<Action> actions = PreemptionPolicy.decide(snapshot);
        isOften("resumes", actions.stream().anyMatch(Action.Resume.class::isInstance));
        Map<String, Long> resumedOn = actions.stream()
                .filter(Action.Resume.class::isInstance)
                .map(Action.Resume.class::cast)
                .collect(Collectors.groupingBy(Action.Resume::agent, Collectors.counting()));
        resumedOn.forEach((name, count) -> {
            Agent agent = agent(snapshot, name);
            assertTrue(agent.accepting() && count <= agent.idleExecutors());
        });
        Map<String, Action> byId = actions.stream().collect(Collectors.toMap(action -> id(action), Function.identity()));
        for (SuspendedStage stage : snapshot.suspended()) {
            if (byId.get(stage.id()) instanceof Action.Resume resume && stage.reservedAgent() == null) {
                assertTrue(stage.agents().contains(resume.agent()));
                for (WaitingItem item : snapshot.waiting()) {
                    boolean better = item.priority() < stage.priority()
                            || (item.priority() == stage.priority() && item.sinceMillis() < stage.sinceMillis());
                    if (better && item.agents().contains(resume.agent())) {
                        Reason served = byId.get(item.id()).reason();
                        assertTrue(
                                served == Reason.EXECUTOR_FREE_ALREADY || served == Reason.EXECUTOR_RESERVED,
                                () -> item + " was passed over for " + stage);
                    }
                }
            }
        }
    }

    @Property(tries = 10_000)
    void theOrderOfTheListsChangesNothing(@ForAll("snapshots") Snapshot snapshot, @ForAll Random random) {
        Snapshot shuffled = new Snapshot(
                NOW,
                snapshot.limits(),
                shuffled(snapshot.agents(), random),
                shuffled(snapshot.running(), random),
                shuffled(snapshot.suspended(), random),
                shuffled(snapshot.waiting(), random));
        assertEquals(PreemptionPolicy.decide(snapshot), PreemptionPolicy.decide(snapshot));
        assertEquals(PreemptionPolicy.decide(snapshot), PreemptionPolicy.decide(shuffled));
    }

    @Property(tries = 10_000)
    void everyClaimGetsExactlyOneAnswerWithAReason(@ForAll("snapshots") Snapshot snapshot) {
        List<Action> actions = PreemptionPolicy.decide(snapshot);
        List<String> ids = actions.stream().map(PreemptionPolicyPropertyTest::id).sorted().toList();
        assertEquals(claimants(snapshot).keySet().stream().sorted().toList(), ids);
        actions.forEach(action -> assertNotNull(action.reason()));
    }

    private static <T> List<T> shuffled(List<T> list, Random random) {
        List<T> copy = new ArrayList<>(list);
        Collections.shuffle(copy, random);
        return copy;
    }

    private static Agent agent(Snapshot snapshot, String name) {
        return snapshot.agents().stream()
                .filter(agent -> agent.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private static String id(Action action) {
        return action.claimant();
    }
}
