package io.jenkins.plugins.preemptible.engine.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jenkins.plugins.preemptible.engine.policy.CheckpointPace.Running;
import java.util.List;
import org.junit.jupiter.api.Test;

/** When which stage gets a checkpoint. */
class CheckpointPaceTest {

    private static final long MINUTE = 60_000;

    private static Running stage(String id, String agent, long sinceMinutes) {
        return new Running(id, agent, 30 * MINUTE, sinceMinutes * MINUTE, 0, false);
    }

    private static List<String> due(long nowMinutes, Running... stages) {
        return CheckpointPace.due(List.of(stages), nowMinutes * MINUTE, MINUTE);
    }

    @Test
    void whenTheIntervalHasPassed() {
        assertEquals(List.of(), due(39, stage("a", "A", 10)));
        assertEquals(List.of("a"), due(40, stage("a", "A", 10)));
    }

    @Test
    void oneAnAgentAndTheMostOverdueFirst() {
        assertEquals(List.of("b", "c"), due(100, stage("a", "A", 20), stage("b", "A", 10), stage("c", "B", 30)));
    }

    @Test
    void noneOnAnAgentWhereOneIsUnderWay() {
        Running busy = new Running("busy", "A", 30 * MINUTE, 0, 0, true);
        assertEquals(List.of("c"), due(100, busy, stage("a", "A", 0), stage("c", "B", 0)));
    }

    @Test
    void aRefusedOneWaitsATenthOfItsInterval() {
        Running refused = new Running("a", "A", 30 * MINUTE, 0, 50 * MINUTE, false);
        assertEquals(List.of(), due(52, refused));
        assertEquals(List.of("a"), due(53, refused));
        Running short5 = new Running("a", "A", 5 * MINUTE, 0, 50 * MINUTE, false);
        assertEquals(List.of("a"), due(51, short5));
    }
}
