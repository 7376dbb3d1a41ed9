package io.jenkins.plugins.preemptible.engine.policy;

import static io.jenkins.plugins.preemptible.engine.policy.Decided.isOften;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.Action.Freeing;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.RunningStage;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.statistics.StatisticsReport;
import net.jqwik.api.statistics.StatisticsReport.StatisticsReportMode;

/**
 * What protects a running stage, on generated snapshots.
 *
 * <ol>
 *   <li>No stage that is protected gives way.
 *   <li>The same snapshot without that protection shows that it matters: there such a stage does give way.
 *   <li>What is suspended since its agent is drained is left out: somebody asked for that.
 * </ol>
 */
@StatisticsReport(StatisticsReportMode.OFF)
class LimitsPropertyTest {

    private static final double SELDOM_PERCENT = 0.5;

    private static void isRespected(Snapshot snapshot, Limits lifted, Predicate<RunningStage> isProtected) {
        List<RunningStage> victims = Decided.on(snapshot).victims();
        assertFalse(victims.stream().anyMatch(isProtected), () -> "one of " + victims);
        isOften(
                "matters",
                SELDOM_PERCENT,
                Decided.on(snapshot, lifted).victims().stream().anyMatch(isProtected));
    }

    // What is protected by a field of its own.
    private static void isRespected(
            Snapshot snapshot, Predicate<RunningStage> isProtected, UnaryOperator<RunningStage> lift) {
        Snapshot lifted = new Snapshot(
                snapshot.nowMillis(),
                snapshot.limits(),
                snapshot.agents(),
                snapshot.running().stream().map(lift).toList(),
                snapshot.suspended(),
                snapshot.waiting(),
                snapshot.usedMillis());
        Decided decided = Decided.on(snapshot);
        decided.victims().forEach(victim -> assertFalse(isProtected.test(victim), victim::toString));
        Map<String, RunningStage> before =
                snapshot.running().stream().collect(Collectors.toMap(RunningStage::id, stage -> stage));
        isOften(
                "matters",
                SELDOM_PERCENT,
                Decided.on(lifted).freed().stream()
                        .anyMatch(freeing -> isProtected.test(before.get(freeing.stageId()))));
    }

    private static RunningStage with(RunningStage s, String whyNot, long retryAfterMillis, boolean neverPreempt) {
        return new RunningStage(
                s.id(),
                s.agent(),
                s.priority(),
                s.owner(),
                s.startedMillis(),
                s.runningSinceMillis(),
                s.suspensions(),
                s.timeSliceMillis(),
                whyNot,
                retryAfterMillis,
                s.residentBytes(),
                s.growthBytesPerSecond(),
                s.expectedEndMillis(),
                s.rerun(),
                neverPreempt,
                s.freezable(),
                s.lastFrozenMillis());
    }

    private static Limits with(Limits l, long exemptMillis, int mostSuspensions, long imageBytes, Undisturbed hours) {
        return new Limits(
                l.enabled(),
                l.slices(),
                exemptMillis,
                mostSuspensions,
                l.mostSuspendedPerAgent(),
                l.mostSuspended(),
                l.ageingMillis(),
                imageBytes,
                l.memoryFloorBytes(),
                l.undumpable(),
                hours,
                l.freezeOnly());
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void nothingGivesWayInItsExemptTimeButToOneWhoseTimeIsUp(
            @ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Limits l = snapshot.limits();
        Decided decided = Decided.on(snapshot);
        decided.freed()
                .forEach(freeing -> assertTrue(
                        freeing.reason() == Reason.FROZEN_TIME_ENDS || !decided.inExemptTime(decided.victim(freeing)),
                        freeing::toString));
        Decided lifted = Decided.on(snapshot, with(l, 0, l.mostSuspensions(), l.imageBytes(), l.undisturbed()));
        isOften("matters", SELDOM_PERCENT, lifted.victims().stream().anyMatch(decided::inExemptTime));
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void nothingGivesWayMoreOftenThanAllowed(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Limits l = snapshot.limits();
        Limits lifted = with(l, l.exemptMillis(), 0, l.imageBytes(), l.undisturbed());
        isRespected(snapshot, lifted, Decided.on(snapshot)::suspendedOften);
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void nothingLongGivesWayInUndisturbedHours(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Limits l = snapshot.limits();
        Limits lifted = with(l, l.exemptMillis(), l.mostSuspensions(), l.imageBytes(), null);
        isRespected(snapshot, lifted, Decided.on(snapshot)::undisturbed);
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void nothingIsSuspendedWithMoreMemoryThanAnImageMayHave(
            @ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Limits l = snapshot.limits();
        Decided decided = Decided.on(snapshot);
        decided.suspended().forEach(freeing -> assertFalse(decided.tooLarge(decided.victim(freeing))));
        Decided lifted = Decided.on(snapshot, with(l, l.exemptMillis(), l.mostSuspensions(), 0, l.undisturbed()));
        isOften(
                "matters",
                SELDOM_PERCENT,
                lifted.suspended().stream().anyMatch(freeing -> decided.tooLarge(decided.victim(freeing))));
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void nothingIsSuspendedIntoMemoryThatIsNotFree(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Limits l = snapshot.limits();
        Decided decided = Decided.on(snapshot);
        decided.suspended().forEach(freeing -> assertFalse(decided.lacksMemory(decided.victim(freeing))));
        Decided lifted = Decided.on(snapshot, l.withMemory(l.imageBytes(), 0));
        isOften(
                "matters",
                SELDOM_PERCENT,
                lifted.suspended().stream().anyMatch(freeing -> decided.lacksMemory(decided.victim(freeing))));
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void whatIsNeverToBePreemptedIsNot(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        isRespected(
                snapshot,
                RunningStage::neverPreempt,
                stage -> with(stage, stage.whyNotPreemptible(), stage.retryAfterMillis(), false));
        Decided.on(snapshot)
                .drained()
                .forEach(freeing ->
                        assertFalse(Decided.on(snapshot).victim(freeing).neverPreempt(), freeing::toString));
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void whatCannotBeDumpedIsNotSuspended(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        isRespected(
                snapshot,
                stage -> stage.whyNotPreemptible() != null && !decided.rerunnable(stage) && !decided.frozenOnly(stage),
                stage -> with(stage, null, stage.retryAfterMillis(), stage.neverPreempt()));
        decided.suspended()
                .forEach(freeing -> assertTrue(
                        decided.victim(freeing).whyNotPreemptible() == null || freeing.frozenOnly(),
                        freeing::toString));
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void afterAFailedDumpItIsNotTriedAtOnce(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        isRespected(
                snapshot,
                stage -> snapshot.nowMillis() < stage.retryAfterMillis(),
                stage -> with(stage, stage.whyNotPreemptible(), 0, stage.neverPreempt()));
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void noMoreAreSuspendedThanAllowedOnAnAgent(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        int most = snapshot.limits().mostSuspendedPerAgent();
        assertFalse(isOverfull(Decided.on(snapshot), most));
        Limits lifted = snapshot.limits().withMostSuspended(0, snapshot.limits().mostSuspended());
        isOften("matters", SELDOM_PERCENT, isOverfull(Decided.on(snapshot, lifted), most));
    }

    // In the others' stead a stage runs again.
    private static List<Freeing> addedTo(Decided decided) {
        return decided.suspended().stream()
                .filter(freeing -> freeing.reason() != Reason.FROZEN_TIME_ENDS)
                .toList();
    }

    private static boolean isOverfull(Decided decided, int mostPerAgent) {
        Map<String, Long> more =
                addedTo(decided).stream().collect(Collectors.groupingBy(Freeing::agent, Collectors.counting()));
        return mostPerAgent > 0
                && more.entrySet().stream()
                        .anyMatch(entry -> decided.agent(entry.getKey()).suspended() + entry.getValue() > mostPerAgent);
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void noMoreAreSuspendedThanAllowedInAll(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        int most = snapshot.limits().mostSuspended();
        assertFalse(isOverfull(snapshot, Decided.on(snapshot), most));
        Limits lifted = snapshot.limits().withMostSuspended(snapshot.limits().mostSuspendedPerAgent(), 0);
        isOften("matters", SELDOM_PERCENT, isOverfull(snapshot, Decided.on(snapshot, lifted), most));
    }

    // What is drained counts: it needs memory or a place for its image too.
    private static boolean isOverfull(Snapshot snapshot, Decided decided, int mostInAll) {
        int before =
                snapshot.agents().stream().mapToInt(Snapshot.Agent::suspended).sum();
        int more = addedTo(decided).size();
        return mostInAll > 0 && more > 0 && before + more + decided.drained().size() > mostInAll;
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void nothingGivesWayWhileSwitchedOff(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Limits l = snapshot.limits();
        Limits off = new Limits(
                false,
                l.slices(),
                l.exemptMillis(),
                l.mostSuspensions(),
                l.mostSuspendedPerAgent(),
                l.mostSuspended(),
                l.ageingMillis(),
                l.imageBytes(),
                l.memoryFloorBytes(),
                l.undumpable(),
                l.undisturbed(),
                l.freezeOnly());
        assertTrue(Decided.on(snapshot, off).freed().isEmpty());
        isOften("matters", !Decided.on(snapshot).freed().isEmpty());
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void nothingHappensWhereNoBuildIsAccepted(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        decided.freed().forEach(freeing -> assertTrue(decided.there(freeing.agent()), freeing::toString));
        decided.all(Action.Resume.class)
                .forEach(resume -> assertTrue(decided.mayRunOn(resume, resume.agent()), resume::toString));
        decided.all(Action.Reserve.class)
                .forEach(reserve -> assertTrue(decided.mayRunOn(reserve, reserve.agent()), reserve::toString));
        boolean offline = snapshot.running().stream()
                .anyMatch(stage -> !decided.agent(stage.agent()).accepting());
        isOften("some do not", offline && !decided.claimants().isEmpty());
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void aVictimStaysFrozenOnlyForAShortOneAndWhereThereIsMemory(
            @ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = Decided.on(snapshot);
        boolean some = false;
        for (Freeing freeing : decided.suspended()) {
            long after = freeing instanceof Action.Suspend suspend
                    ? suspend.sealAfterMillis()
                    : ((Action.EndSlice) freeing).sealAfterMillis();
            if (after > 0) {
                some = true;
                assertTrue(after <= 2 * Victims.LONGEST_WITHOUT_IMAGE_MILLIS);
                assertTrue(decided.claimant(freeing).expectedMillis() > 0);
                assertTrue(decided.agent(freeing.agent()).freeBytes()
                        >= snapshot.limits().memoryFloorBytes());
            }
        }
        isOften("stays frozen", SELDOM_PERCENT, some);
    }
}
