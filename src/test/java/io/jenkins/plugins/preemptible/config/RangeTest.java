package io.jenkins.plugins.preemptible.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.jenkins.plugins.preemptible.engine.policy.Limits;
import org.junit.jupiter.api.Test;

/** What holds unless something else is set, and what cannot be set; without a controller. */
class RangeTest {

    private static final Limits UNCONFIGURED = new Limits(true, 0, 0, 0)
            .withMostSuspended(10, 100)
            .withAgeing(600_000)
            .withMemory(16L << 30, 1L << 30);

    private final PreemptibleConfiguration configuration = new PreemptibleConfiguration(new PreemptibleConfiguration());

    @Test
    void preemptsWithoutBeingConfigured() {
        assertEquals(UNCONFIGURED, new PreemptibleConfiguration().limits());
        assertEquals(1L << 30, new PreemptibleConfiguration().memoryFloorBytes());
        assertEquals(16L << 30, new PreemptibleConfiguration().imageLimitBytes());
        assertEquals(0, new PreemptibleConfiguration().getBestPriority());
        assertEquals(OwnerBy.USER, new PreemptibleConfiguration().ownerBy());
    }

    @Test
    void theLargerOneOfSizeAndShareStaysFreeOnTheControllersDisk() {
        assertEquals(5L << 30, configuration.diskFloorBytes(50_000_000_000L));
        assertEquals(50_000_000_000L, configuration.diskFloorBytes(1_000_000_000_000L));
        configuration.setDiskFloorPercent(0);
        assertEquals(5L << 30, configuration.diskFloorBytes(1_000_000_000_000L));
        configuration.setDiskFloorMegabytes(0);
        assertEquals(0, configuration.diskFloorBytes(1_000_000_000_000L));
    }

    @Test
    void aValueOutOfRangeIsRefusedAndNothingChanges() {
        for (int minutes : new int[] {Integer.MIN_VALUE, -1, 10_081, Integer.MAX_VALUE}) {
            IllegalArgumentException refused =
                    assertThrows(IllegalArgumentException.class, () -> configuration.setTimeSliceMinutes(minutes));
            assertEquals(
                    "Time slice is " + minutes + ", but must be a whole number from 0 to 10080.", refused.getMessage());
        }
        for (int seconds : new int[] {-1, 86_401}) {
            assertThrows(IllegalArgumentException.class, () -> configuration.setExemptSeconds(seconds));
        }
        for (int suspensions : new int[] {-1, 1_001}) {
            assertThrows(IllegalArgumentException.class, () -> configuration.setMostSuspensions(suspensions));
            assertThrows(IllegalArgumentException.class, () -> configuration.setMostSuspendedPerAgent(suspensions));
        }
        for (int seconds : new int[] {0, 29, 7_201}) {
            assertThrows(IllegalArgumentException.class, () -> configuration.setFrozenOnlySeconds(seconds));
        }
        for (int percent : new int[] {-1, 101}) {
            assertThrows(IllegalArgumentException.class, () -> configuration.setFrozenOnlyPercent(percent));
        }
        for (int stages : new int[] {-1, 100_001}) {
            assertThrows(IllegalArgumentException.class, () -> configuration.setMostSuspended(stages));
        }
        for (int megabytes : new int[] {-1, 1_048_577}) {
            assertThrows(IllegalArgumentException.class, () -> configuration.setMemoryFloorMegabytes(megabytes));
            assertThrows(IllegalArgumentException.class, () -> configuration.setImageLimitMegabytes(megabytes));
            assertThrows(IllegalArgumentException.class, () -> configuration.setStoredWorkspaceMegabytes(megabytes));
            assertThrows(IllegalArgumentException.class, () -> configuration.setDiskFloorMegabytes(megabytes));
        }
        for (int minutes : new int[] {-1, 10_081}) {
            assertThrows(IllegalArgumentException.class, () -> configuration.setAgeingMinutes(minutes));
            assertThrows(IllegalArgumentException.class, () -> new SliceRule(minutes));
            assertThrows(
                    IllegalArgumentException.class, () -> new UndisturbedHours("8:00", "9:00").setLongMinutes(minutes));
        }
        for (int percent : new int[] {-1, 100}) {
            assertThrows(IllegalArgumentException.class, () -> configuration.setDiskFloorPercent(percent));
        }
        for (int priority : new int[] {-1, 1_001}) {
            assertThrows(IllegalArgumentException.class, () -> configuration.setBestPriority(priority));
        }
        for (int priority : new int[] {0, 1_001}) {
            assertThrows(IllegalArgumentException.class, () -> new SliceRule(1).setHighestPriority(priority));
            assertThrows(IllegalArgumentException.class, () -> new SliceRule(1).setLowestPriority(priority));
        }
        assertEquals(UNCONFIGURED, configuration.limits());
    }

    @Test
    void aWordThatIsNoneIsRefused() {
        assertEquals(
                "Share executor time among equals by is \u201cUSER\u201d, but must be one of these words: user, folder, job.",
                assertThrows(IllegalArgumentException.class, () -> configuration.setOwnerBy("USER"))
                        .getMessage());
        assertThrows(IllegalArgumentException.class, () -> configuration.setUndumpable("kill"));
        assertEquals(UNCONFIGURED, configuration.limits());
        assertEquals(OwnerBy.USER, configuration.ownerBy());
    }
}
