package io.jenkins.plugins.preemptible.engine.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.Snapshot.Agent;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.AgentState;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.RunningStage;
import java.util.Set;
import org.junit.jupiter.api.Test;

class CostTest {

    private static final long NOW = 10_000_000;

    private static Agent agent(long dumpRate, long restoreRate) {
        return new Agent("a", Set.of(), 0, true, AgentState.THERE, -1, dumpRate, restoreRate, 0);
    }

    private static RunningStage stage(long residentBytes, long growth, long expectedEnd) {
        return new RunningStage("s", "a", 5, "", 0, 0, 0, 0, null, 0, residentBytes, growth, expectedEnd, false, false);
    }

    @Test
    void memoryOverTheAgentsRates() {
        Cost cost = Cost.of(stage(1_000_000_000, 0, 0), agent(100_000_000, 500_000_000));
        assertEquals(new Cost(10_000 + Cost.FIXED_MILLIS, 2_000 + Cost.FIXED_MILLIS), cost);
        assertEquals(12_000 + 2 * Cost.FIXED_MILLIS, cost.totalMillis());
    }

    @Test
    void whatItGrowsByBeforeItIsFrozenCounts() {
        Cost cost = Cost.of(stage(1_000_000_000, 500_000_000, 0), agent(100_000_000, 500_000_000));
        assertEquals(new Cost(15_000 + Cost.FIXED_MILLIS, 3_000 + Cost.FIXED_MILLIS), cost);
    }

    @Test
    void unknownValuesHaveTheStatedDefaults() {
        Cost stated =
                Cost.of(stage(Cost.DEFAULT_BYTES, 0, 0), agent(Cost.DEFAULT_DUMP_RATE, Cost.DEFAULT_RESTORE_RATE));
        assertEquals(stated, Cost.of(stage(-1, 0, 0), agent(0, 0)));
    }

    @Test
    void aStageWithoutMemoryCostsTheFixedTimeOnly() {
        assertEquals(2 * Cost.FIXED_MILLIS, Cost.of(stage(0, 0, 0), agent(1, 1)).totalMillis());
    }

    @Test
    void withoutAnImageItsMemoryStaysWhereItIs() {
        Agent agent = new Agent("a", Set.of(), 0, true, AgentState.THERE, -1, 1, 1, 0, true);
        assertEquals(
                2 * Cost.FIXED_MILLIS,
                Cost.of(stage(1_000_000_000, 1_000_000, 0), agent).totalMillis());
    }

    @Test
    void absurdValuesDoNotOverflow() {
        Cost cost = Cost.of(stage(Long.MAX_VALUE, Long.MAX_VALUE, 0), agent(Long.MAX_VALUE, Long.MAX_VALUE));
        assertTrue(cost.totalMillis() > 0);
    }

    @Test
    void whatRunsOnForLongCostsLessForWhatItWins() {
        Cost cost = new Cost(1000, 1000);
        double soon = cost.perMillisWon(stage(0, 0, NOW + 4000), NOW);
        double late = cost.perMillisWon(stage(0, 0, NOW + 400_000), NOW);
        assertEquals(0.5, soon);
        assertTrue(late < soon);
    }

    @Test
    void anEndThatIsUnknownOrOverdueIsAnHourAwayAndSoIsOneThatIsFarther() {
        Cost cost = new Cost(1000, 1000);
        double anHour = cost.perMillisWon(stage(0, 0, NOW + 3_600_000), NOW);
        assertEquals(anHour, cost.perMillisWon(stage(0, 0, 0), NOW));
        assertEquals(anHour, cost.perMillisWon(stage(0, 0, NOW - 1), NOW));
        assertEquals(anHour, cost.perMillisWon(stage(0, 0, NOW + 36_000_000), NOW));
    }
}
