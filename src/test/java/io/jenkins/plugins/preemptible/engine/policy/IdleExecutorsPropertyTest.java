package io.jenkins.plugins.preemptible.engine.policy;

import static io.jenkins.plugins.preemptible.engine.policy.Decided.isOften;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.Action.Freeing;
import io.jenkins.plugins.preemptible.engine.policy.Decided.Claimant;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.RunningStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.SuspendedStage;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.statistics.StatisticsReport;
import net.jqwik.api.statistics.StatisticsReport.StatisticsReportMode;

/** Who gets which executor, and that no more of them are freed than are needed; on generated snapshots. */
@StatisticsReport(StatisticsReportMode.OFF)
@Tag("property")
class IdleExecutorsPropertyTest {

    @Property(edgeCases = EdgeCasesMode.NONE)
    void noVictimThatIdleOrArrivingExecutorsMakeNeedless(
            @ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        Map<String, Integer> idle = decided.idle();
        List<Set<String>> served = decided.claimants().values().stream()
                .filter(decided::promisedIdle)
                .map(Claimant::agents)
                .collect(Collectors.toCollection(ArrayList::new));
        for (Freeing freeing : decided.freed()) {
            List<Set<String>> withIt = new ArrayList<>(served);
            withIt.add(decided.claimant(freeing).agents());
            assertFalse(canAllBeServed(withIt, idle), () -> freeing + " was needless");
            assertEquals(null, decided.claimant(freeing).reservedAgent());
        }
        isOften("frees in spite of idle ones", 3, !decided.freed().isEmpty() && !served.isEmpty());
    }

    @Property(edgeCases = EdgeCasesMode.NONE)
    void asManyExecutorsAreFreedAsAreNeededAndCanBe(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        Set<String> taken =
                decided.freed().stream().map(Freeing::stageId).collect(Collectors.toCollection(HashSet::new));
        Limits limits = snapshot.limits();
        boolean unlimited = limits.mostSuspended() == 0 && limits.mostSuspendedPerAgent() == 0 && limits.enabled();
        // Those that are kept one, or are in the queue, may await an end as well.
        boolean awaits = decided.actions().stream()
                .map(Action::reason)
                .anyMatch(
                        Set.of(
                                Reason.ENDS_SOON,
                                Reason.WAITED_LONG,
                                Reason.FROZEN_GOES_NEXT,
                                Reason.RESTORE_REQUESTED_ALREADY)::contains);
        boolean left = false;
        for (Claimant claimant : decided.claimants().values()) {
            if (decided.getsNothing(claimant) && unlimited && !awaits) {
                left = true;
                for (RunningStage stage : snapshot.running()) {
                    assertFalse(
                            decided.mayTake(claimant, stage) && !taken.contains(stage.id()),
                            () -> claimant + " could have taken " + stage + " but " + decided.action(claimant));
                }
            }
        }
        isOften("somebody got nothing", 3, left);
    }

    @Property(edgeCases = EdgeCasesMode.NONE)
    void idleExecutorsServeAsManyAsTheyCan(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        Map<String, Integer> idle = decided.idle();
        List<Set<String>> served = new ArrayList<>();
        List<Claimant> others = new ArrayList<>();
        for (Claimant claimant : decided.claimants().values()) {
            if (decided.promisedIdle(claimant)) {
                served.add(claimant.agents());
            } else if (claimant.reservedAgent() == null
                    && decided.action(claimant).reason() != Reason.SUSPENDED_BY_HAND) {
                others.add(claimant);
            }
        }
        boolean noRequests = snapshot.suspended().stream().noneMatch(SuspendedStage::requested);
        assertTrue(!noRequests || canAllBeServed(served, idle), "more was promised than is idle");
        for (Claimant other : others) {
            List<Set<String>> withIt = new ArrayList<>(served);
            withIt.add(other.agents());
            assertFalse(noRequests && canAllBeServed(withIt, idle), () -> other + " could have been served too");
        }
        isOften("serves some, not all", !served.isEmpty() && !others.isEmpty());
    }

    private static boolean canAllBeServed(List<Set<String>> wishes, Map<String, Integer> idle) {
        List<String> slots = new ArrayList<>();
        idle.forEach((name, count) -> slots.addAll(Collections.nCopies(count, name)));
        int[] holder = new int[slots.size()];
        Arrays.fill(holder, -1);
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

    @Property(edgeCases = EdgeCasesMode.NONE)
    void noMoreStagesGoOnThanExecutorsAreIdle(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        List<Action.Resume> resumes = decided.all(Action.Resume.class);
        resumes.stream()
                .collect(Collectors.groupingBy(Action.Resume::agent, Collectors.counting()))
                .forEach((name, count) -> assertTrue(
                        resumes.stream()
                                        .filter(resume -> resume.agent().equals(name))
                                        .allMatch(resume -> decided.mayRunOn(resume, name))
                                && count <= decided.agent(name).idleExecutors(),
                        name));
        for (Action.Resume resume : resumes) {
            assertTrue(decided.claimant(resume).agents().contains(resume.agent()));
        }
        isOften("goes on", !resumes.isEmpty());
    }

    @Property(edgeCases = EdgeCasesMode.NONE)
    void whatWasFreedForOneIsGivenToNobodyElse(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        boolean some = false;
        for (Snapshot.Agent agent : snapshot.agents()) {
            long kept = decided.claimants().values().stream()
                    .filter(claimant -> agent.name().equals(claimant.reservedAgent()))
                    .count();
            long toOthers = decided.all(Action.Resume.class).stream()
                    .filter(resume -> resume.agent().equals(agent.name()))
                    .filter(resume -> decided.claimant(resume).reservedAgent() == null)
                    .count();
            some |= kept > 0 && agent.idleExecutors() > 0;
            assertTrue(toOthers <= Math.max(0, agent.idleExecutors() - kept), agent::toString);
        }
        for (Action.Resume resume : decided.all(Action.Resume.class)) {
            String kept = decided.claimant(resume).reservedAgent();
            assertTrue(kept == null || kept.equals(resume.agent()), resume::toString);
        }
        isOften("keeps an idle one", 5, some);
    }

    @Property(edgeCases = EdgeCasesMode.NONE)
    void noStageGoesOnBeforeABetterClaim(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        boolean contended = false;
        for (Action.Resume resume : decided.all(Action.Resume.class)) {
            Claimant stage = decided.claimant(resume);
            for (Claimant other : decided.claimants().values()) {
                boolean fits = other.agents().contains(resume.agent()) && other.reservedAgent() == null;
                if (stage.reservedAgent() == null && fits && isBetter(decided, other, stage)) {
                    contended = true;
                    assertTrue(
                            decided.promisedIdle(other) || decided.action(other).reason() == Reason.SUSPENDED_BY_HAND,
                            () -> other + " was passed over for " + stage);
                }
            }
        }
        isOften("somebody better fits too", 1, contended);
    }

    private static boolean isBetter(Decided decided, Claimant one, Claimant other) {
        long more = decided.used(one.owner()) - decided.used(other.owner());
        if (one.rank() != other.rank()) {
            return one.rank() < other.rank();
        }
        if (decided.isFrozenOnly(one) != decided.isFrozenOnly(other)) {
            return decided.isFrozenOnly(one);
        }
        return more < 0 || (more == 0 && one.sinceMillis() < other.sinceMillis());
    }

    @Property(edgeCases = EdgeCasesMode.NONE)
    void anExecutorIsKeptOnlyForTheBestClaimOnItsAgentWhichHasAgedOrIsFrozenOnly(
            @ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        List<Action.Reserve> reserves = decided.all(Action.Reserve.class);
        Set<String> agents = new HashSet<>();
        for (Action.Reserve reserve : reserves) {
            Claimant stage = decided.claimant(reserve);
            boolean frozenOnly = decided.isFrozenOnly(stage);
            Reason why = frozenOnly ? Reason.FROZEN_GOES_NEXT : Reason.WAITED_LONG;
            assertEquals(stage.urgent() ? Reason.FROZEN_TIME_ENDS : why, reserve.reason());
            assertTrue(stage.isStage() && (frozenOnly || stage.rank() < stage.priority()), stage::toString);
            assertTrue(stage.agents().contains(reserve.agent()));
            assertTrue(agents.add(reserve.agent()), "two of one agent");
            for (Claimant other : decided.claimants().values()) {
                assertFalse(
                        decided.getsNothing(other)
                                && other.agents().contains(reserve.agent())
                                && isBetter(decided, other, stage),
                        () -> other + " is better than " + stage);
            }
        }
        isOften("keeps one", 5, !reserves.isEmpty());
    }

    @Property(edgeCases = EdgeCasesMode.NONE)
    void nobodyAgedIsLeftWithoutAReservationOnAnAgentThatNobodyBetterWants(
            @ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        boolean some = false;
        for (SuspendedStage stage : snapshot.suspended()) {
            Claimant claimant = decided.claimants().get(stage.id());
            boolean first = decided.claimants().values().stream()
                    .filter(other -> !other.id().equals(claimant.id()))
                    .allMatch(other -> isBetter(decided, claimant, other));
            boolean somewhere =
                    claimant.agents().stream().anyMatch(agent -> decided.mayRunOn(decided.action(claimant), agent));
            if (first && somewhere && !stage.requested() && !stage.byHand() && claimant.rank() < claimant.priority()) {
                some = true;
                assertFalse(decided.getsNothing(claimant), () -> "" + decided.action(claimant));
            }
        }
        isOften("the best claim is an aged stage's", some);
    }
}
