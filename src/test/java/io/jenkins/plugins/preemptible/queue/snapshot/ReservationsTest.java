package io.jenkins.plugins.preemptible.queue.snapshot;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import org.junit.jupiter.api.Test;

class ReservationsTest {

    private final Reservations reservations = new Reservations();
    private final StageRecord victim = Pretended.running("1", "ada", System.currentTimeMillis());

    @Test
    void aVictimCountsForNobodyElseAsLongAsItHoldsItsExecutor() {
        assertFalse(reservations.takes(victim));
        assertTrue(reservations.begin("item", victim));
        assertTrue(reservations.takes(victim));
        reservations.open("item");
        assertTrue(reservations.takes(victim), "what it does at its end may take long");
        Pretended.suspend(victim, System.currentTimeMillis());
        assertFalse(reservations.takes(victim));
    }

    @Test
    void aStageThatWasNotSuspendedAfterAllMayBeChosenAgain() {
        reservations.begin("item", victim);
        reservations.drop("item");
        assertFalse(reservations.takes(victim));
    }

    @Test
    void aStageThatGoesOnElsewhereIsNoVictimOfBefore() {
        reservations.begin("item", victim);
        Pretended.suspend(victim, System.currentTimeMillis());
        Pretended.goOn(victim, System.currentTimeMillis() + 1_000);
        assertFalse(reservations.takes(victim));
    }
}
