package io.jenkins.plugins.preemptible.move;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FailedMovesTest {

    private final StageRecord stage = StageRecord.running(
            "preemptible-12345678", StageRecord.Form.OWN, "job#1", "preemptible", "A", "/w", null, 5, 0);

    /** Agents of a cloud are counted by that: an archive that was away says nothing of them. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void onlyWhatTheAgentItselfHasRefusedIsARefusal(boolean refused) {
        FailedMoves.add(stage, "B", refused);
        assertTrue(FailedMoves.contain(stage, "B"));
        assertEquals(refused, FailedMoves.containRefusal(stage, "B"));
        assertFalse(FailedMoves.contain(stage, "C"));
        FailedMoves.forget(stage, "B");
        assertFalse(FailedMoves.contain(stage, "B"));
        assertFalse(FailedMoves.containRefusal(stage, "B"));
    }

    @Test
    void aRefusalWithoutAReasonIsAFailureOfSomethingElse() {
        FailedMoves.refused(stage, "B", "", "The store is away.");
        assertFalse(FailedMoves.containRefusal(stage, "B"));
        FailedMoves.refused(stage, "B", "OTHER_KERNEL", "Other kernels.");
        assertTrue(FailedMoves.containRefusal(stage, "B"));
        FailedMoves.forget(stage, "B");
    }
}
