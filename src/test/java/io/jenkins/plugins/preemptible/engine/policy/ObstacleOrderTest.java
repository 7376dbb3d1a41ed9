package io.jenkins.plugins.preemptible.engine.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Which of several obstacles a claim is told. */
class ObstacleOrderTest {

    @ParameterizedTest
    @EnumSource(Reason.class)
    void everyReasonSaysMoreThanNoStageAtAll(Reason reason) {
        assertEquals(reason, ObstacleOrder.moreHopeful(Reason.NO_FITTING_STAGE, reason));
        assertEquals(reason, ObstacleOrder.moreHopeful(reason, Reason.NO_FITTING_STAGE));
    }

    @Test
    void whatTimeRemovesIsToldFirst() {
        assertEquals(Reason.EXEMPT_TIME, ObstacleOrder.moreHopeful(Reason.NEVER_PREEMPT, Reason.EXEMPT_TIME));
        assertEquals(Reason.EXEMPT_TIME, ObstacleOrder.moreHopeful(Reason.EXEMPT_TIME, Reason.NEVER_PREEMPT));
    }
}
