package io.jenkins.plugins.preemptible.lifecycle.image;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class SealingProgressTest {

    private static final long MEGABYTE = 1_000_000;

    @Test
    void aDumpHasAPercentageAndARate() {
        assertEquals(
                "Image after 5000 ms: 100 MB (25 %) dumped, 20 MB/s.",
                SealingProgress.line(100 * MEGABYTE, 0, 400 * MEGABYTE, 5_000));
    }

    @Test
    void whatIsSealedIsTold() {
        assertEquals(
                "Image after 10 sec: 400 MB (100 %) dumped, sealed into 50 MB so far, 45 MB/s.",
                SealingProgress.line(400 * MEGABYTE, 50 * MEGABYTE, 300 * MEGABYTE, 10_000));
    }

    @Test
    void withoutItsMemoryThereIsNoPercentage() {
        assertEquals(
                "Image after 5000 ms: 5000 kB dumped, 1000 kB/s.", SealingProgress.line(5 * MEGABYTE, 0, -1, 5_000));
    }

    @Test
    void whatCannotBeSeenIsNotTold() {
        assertEquals("", SealingProgress.line(0, 0, 400 * MEGABYTE, 5_000));
    }
}
