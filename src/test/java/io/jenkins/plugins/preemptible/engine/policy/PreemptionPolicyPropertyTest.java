package io.jenkins.plugins.preemptible.engine.policy;

import static io.jenkins.plugins.preemptible.engine.policy.Decided.isOften;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.Action.Freeing;
import io.jenkins.plugins.preemptible.engine.policy.Decided.Claimant;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.Agent;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.AgentState;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.RunningStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.SuspendedStage;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.statistics.StatisticsReport;
import net.jqwik.api.statistics.StatisticsReport.StatisticsReportMode;

/** Whom a decision takes an executor from, and that it is a function of the snapshot; on generated snapshots. */
@StatisticsReport(StatisticsReportMode.OFF)
class PreemptionPolicyPropertyTest {

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void neverForAWorseItemAndForAnEqualOneOnlyAtTheSlicesEnd(
            @ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        boolean atSlicesEnd = false;
        for (Freeing freeing : decided.freed()) {
            RunningStage victim = decided.victim(freeing);
            int priority = decided.claimant(freeing).priority();
            if (freeing instanceof Action.EndSlice) {
                atSlicesEnd = true;
                assertEquals(Reason.TIME_SLICE_USED_UP, freeing.reason());
                assertEquals(priority, victim.priority());
                assertTrue(decided.hadItsSlice(victim));
            } else if (freeing.reason() == Reason.FROZEN_TIME_ENDS) {
                assertTrue(decided.claimant(freeing).urgent());
            } else {
                assertTrue(victim.priority() > priority, () -> freeing + " of " + victim);
            }
        }
        isOften("frees", !decided.freed().isEmpty());
        isOften("at the slice's end", 2, atSlicesEnd);
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void noSliceEndsForAnOwnerThatHadMore(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        for (Action.EndSlice end : decided.all(Action.EndSlice.class)) {
            long had = decided.used(decided.claimant(end).owner());
            assertTrue(had <= decided.used(decided.victim(end).owner()), end::toString);
        }
        Snapshot equal = new Snapshot(
                snapshot.nowMillis(),
                snapshot.limits(),
                snapshot.agents(),
                snapshot.running(),
                snapshot.suspended(),
                snapshot.waiting());
        Decided without = Decided.on(equal);
        isOften(
                "matters",
                0.5,
                without.all(Action.EndSlice.class).stream()
                        .anyMatch(end -> decided.used(decided.claimant(end).owner())
                                > decided.used(decided.victim(end).owner())));
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void ofEqualsThoseOfTheOwnerThatHadMostGiveWayFirst(
            @ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        Set<String> taken = new HashSet<>();
        boolean choice = false;
        for (Freeing freeing : decided.freed()) {
            RunningStage victim = decided.victim(freeing);
            taken.add(victim.id());
            if (freeing instanceof Action.EndSlice) {
                for (RunningStage other : snapshot.running()) {
                    if (!taken.contains(other.id())
                            && other.priority() == victim.priority()
                            && available(decided, freeing, other)) {
                        choice = true;
                        assertTrue(decided.used(other.owner()) <= decided.used(victim.owner()), () -> "" + other);
                    }
                }
            }
        }
        isOften("there was a choice", 0.04, choice);
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void theWorstStageThatMayBeTakenIsAndOfThoseTheCheapest(
            @ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        Set<String> taken = new HashSet<>();
        boolean choice = false;
        for (Freeing freeing : decided.freed()) {
            RunningStage victim = decided.victim(freeing);
            taken.add(victim.id());
            for (RunningStage other : snapshot.running()) {
                if (!taken.contains(other.id()) && available(decided, freeing, other)) {
                    choice = true;
                    assertTrue(
                            decided.frozenOnly(other) || !decided.frozenOnly(victim),
                            () -> other + " rather than " + victim + ", which cannot be dumped");
                    if (decided.frozenOnly(other) != decided.frozenOnly(victim)) {
                        continue;
                    }
                    assertTrue(other.priority() <= victim.priority(), () -> other + " rather than " + victim);
                    if (other.priority() == victim.priority() && !(freeing instanceof Action.EndSlice)) {
                        assertTrue(costPerMillisWon(decided, victim) <= costPerMillisWon(decided, other));
                    }
                }
            }
        }
        isOften("there was a choice", 0.5, choice);
    }

    private static double costPerMillisWon(Decided decided, RunningStage stage) {
        return decided.cost(stage).perMillisWon(stage, decided.snapshot().nowMillis());
    }

    // For the same claimant, in place of whom it took. One that is awaited by another claimant is not.
    private static boolean available(Decided decided, Freeing freeing, RunningStage other) {
        boolean room = decided.snapshot().limits().mostSuspendedPerAgent() == 0
                && decided.snapshot().limits().mostSuspended() == 0;
        // Those that are kept one, or are in the queue, may await an end as well.
        boolean awaited = decided.actions().stream()
                        .map(Action::reason)
                        .anyMatch(Set.of(
                                Reason.ENDS_SOON,
                                Reason.WAITED_LONG,
                                Reason.FROZEN_GOES_NEXT,
                                Reason.RESTORE_REQUESTED_ALREADY)::contains)
                && other.expectedEndMillis() > 0;
        return room && !awaited && decided.mayTake(decided.claimant(freeing), other);
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void eachVictimOnceAndForOneClaimantOnAnAgentThatItFits(
            @ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        Set<String> victims = new HashSet<>();
        Set<String> claims = new HashSet<>();
        for (Freeing freeing : decided.all(Freeing.class)) {
            assertTrue(victims.add(freeing.stageId()));
            assertEquals(decided.victim(freeing).agent(), freeing.agent());
        }
        for (Freeing freeing : decided.freed()) {
            assertTrue(claims.add(freeing.forItem()));
            assertTrue(decided.claimant(freeing).agents().contains(freeing.agent()));
        }
        isOften("several", 3, claims.size() > 1);
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void aStageIsRunAgainOnlyWhereItAllowsThatAndForABetterOne(
            @ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        for (Action.Rerun rerun : decided.all(Action.Rerun.class)) {
            RunningStage victim = decided.victim(rerun);
            assertTrue(victim.rerun());
            assertTrue(victim.priority() > decided.claimant(rerun).priority());
            if (rerun.reason() == Reason.CANNOT_BE_DUMPED) {
                assertNotNull(victim.whyNotPreemptible());
                assertEquals(UndumpableStages.RERUN, snapshot.limits().undumpable());
            } else {
                assertEquals(Reason.CHEAPER_TO_RUN_AGAIN, rerun.reason());
                assertEquals(0, victim.suspensions());
                long lost = snapshot.nowMillis() - victim.startedMillis();
                assertTrue(lost < decided.cost(victim).totalMillis(), () -> "it loses " + lost);
            }
        }
        isOften("cannot be dumped", 1, reason(decided, Reason.CANNOT_BE_DUMPED));
        isOften("cheaper", 0.5, reason(decided, Reason.CHEAPER_TO_RUN_AGAIN));
    }

    private static boolean reason(Decided decided, Reason reason) {
        return decided.actions().stream().anyMatch(action -> action.reason() == reason);
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void anEndIsAwaitedOnlyWhenItIsNearerThanASuspensionTakes(
            @ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        Set<String> taken = new HashSet<>();
        decided.freed().forEach(freeing -> taken.add(freeing.stageId()));
        List<Claimant> waiting = decided.actions().stream()
                .filter(action -> action.reason() == Reason.ENDS_SOON)
                .map(decided::claimant)
                .toList();
        for (Claimant claimant : waiting) {
            long longest = snapshot.running().stream()
                    .filter(stage -> decided.mayTake(claimant, stage))
                    .mapToLong(stage -> decided.cost(stage).totalMillis())
                    .max()
                    .orElseThrow();
            assertTrue(
                    snapshot.running().stream()
                            .anyMatch(stage -> claimant.agents().contains(stage.agent())
                                    && !taken.contains(stage.id())
                                    && decided.takes(stage.agent())
                                    && decided.endsWithin(stage, longest)),
                    () -> "nothing ends soon for " + claimant);
        }
        long near = snapshot.running().stream()
                .filter(stage -> stage.expectedEndMillis() > 0)
                .count();
        assertTrue(waiting.size() <= near, "each end is awaited by one");
        isOften("awaits an end", 2, !waiting.isEmpty());
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void everythingThatCanBeSuspendedOnADrainedAgentIsAndNothingGoesOnThere(
            @ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        List<String> expected = snapshot.running().stream()
                .filter(stage -> snapshot.limits().enabled())
                .filter(stage -> decided.agent(stage.agent()).state() == AgentState.DRAINED)
                .filter(stage -> stage.whyNotPreemptible() == null && !stage.neverPreempt())
                .filter(stage -> snapshot.nowMillis() >= stage.retryAfterMillis() && !decided.lacksMemory(stage))
                .map(RunningStage::id)
                .sorted()
                .toList();
        assertEquals(
                expected,
                decided.drained().stream().map(Freeing::stageId).sorted().toList());
        decided.freed().forEach(freeing -> assertTrue(decided.takes(freeing.agent()), freeing::toString));
        decided.all(Action.Resume.class)
                .forEach(resume ->
                        assertTrue(decided.takes(resume.agent()) || decided.mayRunOn(resume, resume.agent())));
        decided.all(Action.Reserve.class)
                .forEach(reserve ->
                        assertTrue(decided.takes(reserve.agent()) || decided.mayRunOn(reserve, reserve.agent())));
        isOften("drains", !expected.isEmpty());
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void nobodyGivesWayWhileJenkinsPreparesToShutDown(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        List<Agent> quiet = snapshot.agents().stream()
                .map(agent -> agent.state() == AgentState.THERE ? quieting(agent) : agent)
                .toList();
        Snapshot asked = new Snapshot(
                snapshot.nowMillis(),
                snapshot.limits(),
                quiet,
                snapshot.running(),
                snapshot.suspended(),
                snapshot.waiting(),
                snapshot.usedMillis());
        Decided decided = Decided.on(asked);
        assertEquals(List.of(), decided.freed());
        isOften("somebody would have given way", !Decided.on(snapshot).freed().isEmpty());
    }

    private static Agent quieting(Agent agent) {
        return new Agent(
                agent.name(),
                agent.labels(),
                agent.idleExecutors(),
                agent.accepting(),
                AgentState.QUIETING_DOWN,
                agent.freeBytes(),
                agent.dumpBytesPerSecond(),
                agent.restoreBytesPerSecond(),
                agent.suspended(),
                agent.memoryOnly(),
                agent.totalBytes(),
                agent.frozenOnlyBytes());
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void theOrderOfTheListsChangesNothing(
            @ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot, @ForAll Random random) {
        Snapshot shuffled = Decided.shuffled(snapshot, random);
        List<Action> actions = PreemptionPolicy.decide(snapshot);
        assertEquals(actions, PreemptionPolicy.decide(snapshot));
        assertEquals(actions, PreemptionPolicy.decide(shuffled));
        isOften("has an order", !shuffled.waiting().equals(snapshot.waiting()));
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void everyClaimGetsExactlyOneAnswerWithAReason(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        List<String> ids = decided.actions().stream()
                .map(Action::claimant)
                .filter(id -> id != null)
                .sorted()
                .toList();
        assertEquals(decided.claimants().keySet().stream().sorted().toList(), ids);
        decided.actions().forEach(action -> assertNotNull(action.reason()));
        for (SuspendedStage stage : snapshot.suspended()) {
            Reason answer = decided.action(decided.claimants().get(stage.id())).reason();
            assertEquals(stage.byHand() && !decided.urgent(stage), answer == Reason.SUSPENDED_BY_HAND);
            assertFalse(answer == Reason.EXECUTOR_FREE_ALREADY);
        }
        isOften("has claims", !ids.isEmpty());
    }
}
