package io.jenkins.plugins.preemptible.engine.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.Snapshot.SuspendedStage;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import net.jqwik.api.statistics.Statistics;
import net.jqwik.api.statistics.StatisticsReport;
import net.jqwik.api.statistics.StatisticsReport.StatisticsReportMode;

/** Which stages move to another agent, and which wait for their own; on generated snapshots in which they could. */
@StatisticsReport(StatisticsReportMode.OFF)
class MovePropertyTest {

    private static final long LONG_MILLIS = 100_000;

    /** Each stage on one agent, and perhaps elsewhere. */
    private static Snapshot movable(Snapshot plain, long seed, Function<Random, Long> millis) {
        Random random = new Random(seed);
        List<String> agents =
                plain.agents().stream().map(Snapshot.Agent::name).sorted().toList();
        List<SuspendedStage> stages = plain.suspended().stream()
                .map(s -> new SuspendedStage(
                        s.id(),
                        s.agents().stream().sorted().limit(1).collect(Collectors.toSet()),
                        s.priority(),
                        s.owner(),
                        s.sinceMillis(),
                        s.preemptorItem(),
                        s.requested(),
                        s.reservedAgent(),
                        s.byHand(),
                        s.thawByMillis(),
                        agents.stream()
                                .filter(a -> !s.agents().contains(a) && random.nextBoolean())
                                .collect(Collectors.toSet()),
                        millis.apply(random)))
                .toList();
        return new Snapshot(
                plain.nowMillis(),
                plain.limits(),
                plain.agents(),
                plain.running(),
                stages,
                plain.waiting(),
                plain.usedMillis(),
                plain.roomForImages(),
                plain.busy());
    }

    private static Stream<SuspendedStage> with(Snapshot snapshot, Reason reason) {
        Map<String, SuspendedStage> byId =
                snapshot.suspended().stream().collect(Collectors.toMap(SuspendedStage::id, s -> s));
        return PreemptionPolicy.decide(snapshot).stream()
                .filter(a -> a.reason() == reason)
                .map(a -> byId.get(a.claimant()));
    }

    private static Stream<Long> ends(Snapshot snapshot, Set<String> agents) {
        return Stream.concat(stageEnds(snapshot, agents), buildEnds(snapshot, agents));
    }

    private static Stream<Long> stageEnds(Snapshot snapshot, Set<String> agents) {
        return snapshot.running().stream()
                .filter(r -> agents.contains(r.agent()))
                .map(r -> r.expectedEndMillis() - snapshot.nowMillis())
                .filter(left -> left > 0);
    }

    private static Stream<Long> buildEnds(Snapshot snapshot, Set<String> agents) {
        return snapshot.busy().stream()
                .filter(b -> agents.contains(b.agent()))
                .map(b -> b.expectedEndMillis() - snapshot.nowMillis())
                .filter(left -> left > 0);
    }

    @Property(tries = 5_000, edgeCases = EdgeCasesMode.NONE)
    void onlyForWhatIsExpectedToEndBeforeTheMove(
            @ForAll(supplier = GeneratedSnapshots.class) Snapshot plain, @ForAll long seed) {
        Snapshot snapshot = movable(plain, seed, r -> (long) r.nextInt(40_000));
        List<SuspendedStage> stay = with(snapshot, Reason.OWN_AGENT_FREE_SOON).toList();
        for (SuspendedStage stage : stay) {
            assertTrue(!stage.elsewhere().isEmpty(), stage::toString);
            assertTrue(ends(snapshot, stage.agents()).anyMatch(left -> left <= stage.moveMillis()), stage::toString);
            long there =
                    stay.stream().filter(s -> s.agents().equals(stage.agents())).count();
            assertTrue(there <= ends(snapshot, stage.agents()).count(), stage::toString);
        }
        Statistics.label("stays for a build")
                .collect(stay.stream()
                        .anyMatch(s -> stageEnds(snapshot, s.agents()).noneMatch(l -> l <= s.moveMillis())))
                .coverage(c -> c.check(true).percentage(p -> p > 0.1));
        Statistics.label("stays")
                .collect(!stay.isEmpty())
                .coverage(c -> c.check(true).percentage(p -> p > 0.5));
    }

    /** Where no stage could move it does not matter how long builds take. */
    @Property(tries = 2_000, edgeCases = EdgeCasesMode.NONE)
    void buildsMatterOnlyToStagesThatCouldMove(@ForAll(supplier = GeneratedSnapshots.class) Snapshot plain) {
        Snapshot without = new Snapshot(
                plain.nowMillis(),
                plain.limits(),
                plain.agents(),
                plain.running(),
                plain.suspended(),
                plain.waiting(),
                plain.usedMillis(),
                plain.roomForImages(),
                List.of());
        assertEquals(PreemptionPolicy.decide(without), PreemptionPolicy.decide(plain));
    }

    /** The same moment as others may see it. */
    @Property(tries = 2_000, edgeCases = EdgeCasesMode.NONE)
    void theOrderDoesNotMatter(@ForAll(supplier = GeneratedSnapshots.class) Snapshot plain, @ForAll long seed) {
        Snapshot snapshot = movable(plain, seed, r -> (long) r.nextInt(40_000));
        Snapshot shuffled = Decided.shuffled(snapshot, new Random(seed));
        assertEquals(snapshot.busy(), shuffled.busy());
        assertEquals(PreemptionPolicy.decide(snapshot), PreemptionPolicy.decide(shuffled));
    }

    /** Nobody waits for an agent of which no end is known. */
    @Property(tries = 5_000, edgeCases = EdgeCasesMode.NONE)
    void withoutAKnownEndTheTimeOfAMoveDoesNotMatter(
            @ForAll(supplier = GeneratedSnapshots.class) Snapshot plain, @ForAll long seed) {
        Snapshot quick = movable(plain, seed, r -> 0L);
        Snapshot slow = movable(plain, seed, r -> LONG_MILLIS);
        boolean known = slow.suspended().stream()
                .anyMatch(s -> ends(slow, s.agents()).findAny().isPresent());
        if (!known) {
            assertEquals(PreemptionPolicy.decide(quick), PreemptionPolicy.decide(slow));
        }
        Statistics.label("moves")
                .collect(with(quick, Reason.IDLE_ELSEWHERE).findAny().isPresent())
                .coverage(c -> c.check(true).percentage(p -> p > 0.5));
    }

    /** No more stages move when moves take longer. */
    @Property(tries = 5_000, edgeCases = EdgeCasesMode.NONE)
    void slowerMovesAreNotMore(@ForAll(supplier = GeneratedSnapshots.class) Snapshot plain, @ForAll long seed) {
        long quick = with(movable(plain, seed, r -> 0L), Reason.IDLE_ELSEWHERE).count();
        long slow = with(movable(plain, seed, r -> LONG_MILLIS), Reason.IDLE_ELSEWHERE)
                .count();
        assertTrue(slow <= quick, () -> slow + " of " + quick);
    }

    @Property(tries = 1_000)
    void theExpectationFollowsWhatMovesTake(
            @ForAll @LongRange(min = 1, max = 1L << 40) long bytes,
            @ForAll @LongRange(min = 0, max = 1L << 30) long millis,
            @ForAll @LongRange(min = 0, max = 1L << 40) long other) {
        MovePace pace = MovePace.DEFAULT;
        long lower = Math.min(pace.expectedMillis(bytes), millis);
        for (int i = 0; i < 40; i++) {
            pace = pace.after(bytes, millis);
        }
        long learned = pace.expectedMillis(bytes);
        assertTrue(learned >= Math.min(lower, 1) && pace.expectedMillis(other) >= 1);
        assertTrue(pace.expectedMillis(Math.max(bytes, other)) >= pace.expectedMillis(Math.min(bytes, other)));
        // Never less than what no size can save.
        boolean reachable = bytes < 16L << 20 || millis >= MovePace.DEFAULT.fixedMillis();
        if (reachable) {
            double size = bytes < 16L << 20 ? MovePace.DEFAULT.millisPerByte() * bytes : 0;
            assertEquals(Math.max(1, millis + size), learned, 2 + millis * 1e-6);
        }
    }
}
