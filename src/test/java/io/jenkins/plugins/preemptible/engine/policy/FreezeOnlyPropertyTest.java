package io.jenkins.plugins.preemptible.engine.policy;

import static io.jenkins.plugins.preemptible.engine.policy.Decided.isOften;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.Action.Freeing;
import io.jenkins.plugins.preemptible.engine.policy.Decided.Claimant;
import io.jenkins.plugins.preemptible.engine.policy.DecisionHistory.Job;
import io.jenkins.plugins.preemptible.engine.policy.DecisionHistory.State;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.RunningStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.SuspendedStage;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.statistics.StatisticsReport;
import net.jqwik.api.statistics.StatisticsReport.StatisticsReportMode;

/** Stages that cannot be dumped and are frozen for a time, on generated snapshots and histories. */
@StatisticsReport(StatisticsReportMode.OFF)
class FreezeOnlyPropertyTest {

    private static final int TICKS = 60;
    private static final int WHOLE = 100;

    private static Decided chosen(Snapshot snapshot) {
        return Decided.on(snapshot, snapshot.limits().withUndumpable(UndumpableStages.FREEZE_ONLY));
    }

    @Property(edgeCases = EdgeCasesMode.NONE)
    void withoutThatChoiceNothingIsOnlyFrozen(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        for (UndumpableStages choice : UndumpableStages.values()) {
            Decided decided = Decided.on(snapshot, snapshot.limits().withUndumpable(choice));
            for (Freeing freeing : decided.freed()) {
                boolean tied = decided.victim(freeing).whyNotPreemptible() != null;
                assertEquals(tied && !(freeing instanceof Action.Rerun), freeing.frozenOnly());
                assertTrue(!freeing.frozenOnly() || choice == UndumpableStages.FREEZE_ONLY, freeing::toString);
            }
        }
        isOften("freezes", 2, chosen(snapshot).freed().stream().anyMatch(Freeing::frozenOnly));
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void togetherTheyNeverHoldMoreThanTheirShare(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = chosen(snapshot);
        assertTrue(
                withinShare(decided),
                () -> decided.freed() + " of " + decided.victims()
                        + decided.snapshot().agents());
        Decided lifted = Decided.on(
                snapshot,
                decided.snapshot()
                        .limits()
                        .withFreezeOnly(
                                new FreezeOnly(snapshot.limits().freezeOnly().longestMillis(), WHOLE)));
        isOften(
                "matters",
                0.2,
                !withinShare(lifted, snapshot.limits().freezeOnly().memoryPercent()));
    }

    private static boolean withinShare(Decided decided) {
        return withinShare(decided, decided.snapshot().limits().freezeOnly().memoryPercent());
    }

    private static boolean withinShare(Decided decided, int percent) {
        Map<String, Long> more = new HashMap<>();
        for (Freeing freeing : decided.freed()) {
            RunningStage victim = decided.victim(freeing);
            // Nothing is nothing of any memory.
            if (freeing.frozenOnly() && victim.residentBytes() != 0) {
                assertTrue(victim.residentBytes() > 0
                        && decided.agent(victim.agent()).totalBytes() >= 0);
                more.merge(victim.agent(), victim.residentBytes(), Long::sum);
            }
        }
        return more.entrySet().stream()
                .allMatch(entry -> decided.agent(entry.getKey()).frozenOnlyBytes() + entry.getValue()
                        <= decided.agent(entry.getKey()).totalBytes() / WHOLE * percent);
    }

    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void theyGiveWayOnlyWhereNothingElseDoesAndOnlyToABetterClaim(
            @ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = chosen(snapshot);
        Set<String> taken = new HashSet<>();
        boolean choice = false;
        boolean room =
                snapshot.limits().mostSuspended() == 0 && snapshot.limits().mostSuspendedPerAgent() == 0;
        boolean awaits = decided.actions().stream()
                .map(Action::reason)
                .anyMatch(Set.of(
                        Reason.ENDS_SOON,
                        Reason.WAITED_LONG,
                        Reason.FROZEN_GOES_NEXT,
                        Reason.FROZEN_TIME_ENDS,
                        Reason.RESTORE_REQUESTED_ALREADY)::contains);
        for (Freeing freeing : decided.freed()) {
            taken.add(freeing.stageId());
            Claimant claimant = decided.claimant(freeing);
            if (!freeing.frozenOnly()) {
                choice |= snapshot.running().stream()
                        .anyMatch(other -> decided.frozenOnly(other) && decided.mayTake(claimant, other));
                continue;
            }
            assertTrue(freeing instanceof Action.Suspend, freeing::toString);
            assertTrue(
                    claimant.urgent() || decided.victim(freeing).priority() > claimant.priority(), freeing::toString);
            assertFalse(decided.frozenLately(decided.victim(freeing)), freeing::toString);
            assertTrue(snapshot.limits().freezeOnly().hasTimeFor(claimant.expectedMillis()), freeing::toString);
            for (RunningStage other : snapshot.running()) {
                assertFalse(
                        room
                                && !awaits
                                && !taken.contains(other.id())
                                && !decided.frozenOnly(other)
                                && decided.mayTake(claimant, other),
                        () -> freeing + " although there is " + other);
            }
        }
        isOften("there was a choice", 0.5, choice);
    }

    /** Of several on an agent, the one first whose time is up first. */
    @Property(tries = 10_000, edgeCases = EdgeCasesMode.NONE)
    void aStageWhoseTimeEndsIsServedBeforeEverybody(@ForAll(supplier = GeneratedSnapshots.class) Snapshot snapshot) {
        Decided decided = chosen(snapshot);
        boolean some = false;
        boolean freed = false;
        for (SuspendedStage stage : snapshot.suspended()) {
            Claimant claimant = decided.claimants().get(stage.id());
            boolean first = claimant.urgent()
                    && decided.claimants().values().stream().allMatch(other -> other.rank() >= claimant.rank());
            Action action = decided.action(claimant);
            if (!first
                    || stage.requested()
                    || claimant.reservedAgent() != null
                    || action.reason() == Reason.AGENT_ON_ITS_WAY
                    || claimant.agents().stream().noneMatch(agent -> decided.mayRunOn(action, agent))) {
                continue;
            }
            some = true;
            freed |= action instanceof Freeing;
            assertFalse(action instanceof Action.Wait, () -> action + " for " + stage);
            boolean idle = claimant.agents().stream()
                    .anyMatch(agent ->
                            decided.mayRunOn(action, agent) && decided.idle().getOrDefault(agent, 0) > 0);
            assertTrue(!idle || action instanceof Action.Resume, () -> action + " for " + stage);
        }
        isOften("some", 2, some);
        isOften("takes one", 0.5, freed);
    }

    /**
     * Late is only one beside which nothing runs that could give way, and nothing that began since its time ends. A stage that
     * was resumed at this very moment had its executor kept before, and gives way at the next.
     */
    @Property(edgeCases = EdgeCasesMode.NONE, shrinking = ShrinkingMode.OFF)
    void eachRunsAgainBeforeItsTimeIsUp(@ForAll Random random) {
        int longest = 10 + random.nextInt(20);
        FreezeOnly freezeOnly = new FreezeOnly(DecisionHistory.millis(longest), WHOLE * 3 / 5);
        int lead = (int) (freezeOnly.leadMillis() / DecisionHistory.TICK_MILLIS);
        int suspensionTicks = random.nextInt(2);
        int slice = random.nextInt(4);
        Limits limits = new Limits(
                        true, DecisionHistory.millis(slice), DecisionHistory.millis(random.nextInt(2) * 2 * longest), 0)
                .withAgeing(DecisionHistory.millis(random.nextInt(4)))
                .withUndumpable(UndumpableStages.FREEZE_ONLY)
                .withFreezeOnly(freezeOnly);
        boolean[] came = new boolean[2];
        boolean[] late = new boolean[1];
        DecisionHistory history = new DecisionHistory(
                limits,
                Map.of("a", 1 + random.nextInt(2)),
                suspensionTicks,
                // One executor of an agent is kept at a time: of two that become idle at once the queue may take one.
                false,
                new DecisionHistory.Watcher() {
                    @Override
                    public void decided(Action action, DecisionHistory now) {
                        came[0] |= action instanceof Freeing freeing && freeing.frozenOnly();
                        came[1] |= action.reason() == Reason.FROZEN_TIME_ENDS;
                    }

                    @Override
                    public void ticked(DecisionHistory now) {
                        List<Job> frozen = now.present.stream()
                                .filter(job -> job.state == State.SUSPENDED && !job.dumpable)
                                .toList();
                        assertTrue(
                                frozen.size() * DecisionHistory.FROZEN_BYTES
                                        <= DecisionHistory.MEMORY_BYTES * freezeOnly.memoryPercent() / WHOLE,
                                () -> "frozen are " + frozen.size());
                        for (Job job : frozen) {
                            int over = now.now - job.since - longest - suspensionTicks;
                            late[0] |= over > 0;
                            assertTrue(
                                    over <= 0 || nothingToBeHad(now, job.since + longest - lead),
                                    () -> job.id + " is late beside " + now.snapshot());
                        }
                    }
                });
        for (int i = 0; i < TICKS / 3; i++) {
            Job job = new Job(
                    "job" + i,
                    1 + random.nextInt(3),
                    "",
                    Set.of("a"),
                    1 + random.nextInt(TICKS / 4),
                    random.nextInt(TICKS));
            job.stage = random.nextInt(3) > 0;
            job.dumpable = !job.stage || random.nextInt(2) > 0;
            history.add(job);
        }
        for (int i = 0; i < TICKS; i++) {
            history.tick();
        }
        isOften("freezes one", came[0]);
        isOften("its time ends", 5, came[1]);
        isOften("it is in time", !late[0]);
    }

    private static boolean nothingToBeHad(DecisionHistory history, int leadBegan) {
        return history.present.stream()
                .filter(job -> job.state == State.RUNNING)
                .noneMatch(job -> job.stage ? job.dumpable && job.since < history.now : job.since > leadBegan + 1);
    }
}
