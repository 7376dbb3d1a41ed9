package io.jenkins.plugins.preemptible.engine.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class FairSharesTest {

    private final FairShares shares = new FairShares();

    private void advance(long millis, Map<String, Integer> executors, String... waiting) {
        shares.advance(millis, executors, Set.of(waiting));
    }

    @Test
    void timeIsCountedForEachExecutor() {
        advance(10, Map.of("ada", 1, "bob", 3));
        advance(5, Map.of("ada", 1));
        assertEquals(Map.of("ada", 15L, "bob", 30L), shares.usedMillis());
    }

    @Test
    void whoOnlyWaitsIsKnownWithWhatTheLeastServedHasHad() {
        advance(0, Map.of("ada", 1, "bob", 2));
        advance(100, Map.of("ada", 1, "bob", 2));
        advance(0, Map.of("ada", 1, "bob", 2), "new");
        assertEquals(100L, shares.usedMillis().get("new"));
    }

    @Test
    void whoWaitedFromTheBeginningKeepsItsCredit() {
        advance(0, Map.of("ada", 1), "bob");
        advance(100, Map.of("ada", 1), "bob");
        assertEquals(Map.of("ada", 100L, "bob", 0L), shares.usedMillis());
    }

    @Test
    void whoComesBackHasSavedNothingUp() {
        advance(0, Map.of("ada", 1, "bob", 1));
        advance(10, Map.of("ada", 1, "bob", 1));
        advance(1000, Map.of("ada", 1));
        advance(0, Map.of("ada", 1), "bob");
        assertEquals(1010L, shares.usedMillis().get("bob"));
    }

    @Test
    void whoHadMoreIsRememberedWhileAway() {
        advance(0, Map.of("ada", 1, "bob", 10));
        advance(100, Map.of("ada", 1, "bob", 10));
        advance(50, Map.of("ada", 1));
        advance(0, Map.of("ada", 1), "bob");
        assertEquals(1000L, shares.usedMillis().get("bob"));
    }

    @Test
    void whoIsGoneAndWouldBeRaisedAnywayIsForgotten() {
        advance(0, Map.of("ada", 1, "bob", 1));
        advance(10, Map.of("ada", 1, "bob", 1));
        advance(10, Map.of("ada", 1));
        advance(10, Map.of("ada", 1));
        assertEquals(Map.of("ada", 40L - 10), shares.usedMillis());
    }

    @Test
    void whereAllThatWereThereAreGoneTheNextOneStartsWithTheMost() {
        advance(0, Map.of("ada", 1, "bob", 2));
        advance(100, Map.of("ada", 1, "bob", 2));
        advance(0, Map.of(), "new");
        assertEquals(Map.of("new", 200L), shares.usedMillis());
    }

    @Test
    void measuredTimeIsAddedAsItIs() {
        shares.add(Map.of("ada", 15L), Set.of("bob"));
        shares.add(Map.of("ada", 4L, "bob", 7L), Set.of());
        assertEquals(Map.of("ada", 19L, "bob", 7L), shares.usedMillis());
    }

    @Test
    void negativeTimeIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> shares.add(Map.of("ada", -1L), Set.of()));
        assertThrows(IllegalArgumentException.class, () -> advance(-1, Map.of()));
    }
}
