package io.jenkins.plugins.preemptible.engine.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.Event;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class StageLifecycleTest {

    private static final String TABLE = """
            RUNNING SUSPEND_REQUESTED SUSPENDING
            RUNNING ROLLED_BACK SUSPENDED
            RUNNING EXITED ENDED
            RUNNING ABORTED FAILED
            SUSPENDING FROZEN SUSPENDED
            SUSPENDING DUMPED SUSPENDED
            SUSPENDING DUMP_FAILED RUNNING
            SUSPENDING ROLLED_BACK SUSPENDED
            SUSPENDING EXITED ENDED
            SUSPENDING ABORTED FAILED
            SUSPENDED DUMPED SUSPENDED
            SUSPENDED RESUME_REQUESTED RESUMING
            SUSPENDED ROLLED_BACK SUSPENDED
            SUSPENDED ABORTED FAILED
            RESUMING RESTORED RUNNING
            RESUMING RESTORE_FAILED SUSPENDED
            RESUMING ROLLED_BACK SUSPENDED
            RESUMING EXITED ENDED
            RESUMING ABORTED FAILED
            """;

    @Test
    void everyPairOfStateAndEventIsAsTheTableSays() {
        Map<String, StageState> expected = new TreeMap<>();
        TABLE.lines()
                .map(line -> line.split(" "))
                .forEach(cells -> expected.put(cells[0] + " " + cells[1], StageState.valueOf(cells[2])));
        Map<String, StageState> found = new TreeMap<>();
        List<String> refused = new ArrayList<>();
        for (StageState state : StageState.values()) {
            for (Event event : Event.values()) {
                try {
                    found.put(state + " " + event, StageLifecycle.next(state, event));
                } catch (IllegalStateException e) {
                    refused.add(state + " " + event);
                }
            }
        }
        assertEquals(expected, found);
        assertEquals(StageState.values().length * Event.values().length - expected.size(), refused.size());
    }

    @ParameterizedTest
    @EnumSource(
            value = StageState.class,
            names = {"ENDED", "FAILED"})
    void nothingFollowsAFinalState(StageState state) {
        assertTrue(state.isFinal());
        String message = assertThrows(
                        IllegalStateException.class, () -> StageLifecycle.next(state, Event.RESUME_REQUESTED))
                .getMessage();
        assertTrue(message.contains(state.name()) && message.contains("nothing follows"), message);
    }

    @ParameterizedTest
    @CsvSource({"RUNNING,DUMPED", "SUSPENDED,SUSPEND_REQUESTED", "RESUMING,DUMPED"})
    void aRefusalNamesStateEventAndWhatIsExpected(StageState state, Event event) {
        String message = assertThrows(IllegalStateException.class, () -> StageLifecycle.next(state, event))
                .getMessage();
        assertTrue(message.contains(state.name()) && message.contains(event.name()), message);
        assertTrue(message.contains("ABORTED"), message);
    }
}
