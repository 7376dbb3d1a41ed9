package io.jenkins.plugins.preemptible.engine.suspend;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Handover;
import io.jenkins.plugins.preemptible.engine.home.LocalImages;
import io.jenkins.plugins.preemptible.engine.host.HostMemory;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MemoryGuardTest {

    @ParameterizedTest
    @CsvSource({
        "2000, 0,    1000, AT_FREEZE",
        "1000, 0,    1000, AT_FREEZE",
        "999,  0,    1000, AFTER_DUMP",
        "2000, 10,   1000, AT_FREEZE",
        "2000, 10.1, 1000, AFTER_DUMP",
        "0,    99,   0,    AT_FREEZE",
    })
    void memoryAndPressureDecide(long freeMib, double pressure, long floorMib, Handover expected) {
        MemoryGuard.Decision decision = MemoryGuard.decide(new HostMemory(freeMib << 20, pressure), floorMib << 20);
        assertEquals(expected, decision.handover());
        assertTrue(decision.sentence().startsWith(expected.sentence()), decision::sentence);
    }

    @Test
    void theSentenceNamesTheFigures() {
        assertTrue(MemoryGuard.decide(new HostMemory(5L << 20, 0), 9L << 20)
                .sentence()
                .contains("5 MiB are free, the floor is 9"));
        assertTrue(MemoryGuard.decide(new HostMemory(9L << 20, 42.4), 9L << 20)
                .sentence()
                .contains("42 %"));
    }

    @Test
    void aFloorBelowZeroIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> new FreezeRequest(DumpGuard.NONE, -1));
        assertThrows(IllegalArgumentException.class, () -> new FreezeRequest(null, 0));
    }

    @Test
    void localImagesAreKeptUnlessSwitchedOff() {
        assertEquals(new LocalImages(true, 4096L << 20), LocalImages.of(Map.of()));
        assertEquals(new LocalImages(true, 7L << 20), LocalImages.of(Map.of("PREEMPTIBLE_LOCAL_IMAGES_FREE_MB", "7")));
        assertEquals(
                new LocalImages(true, 4096L << 20), LocalImages.of(Map.of("PREEMPTIBLE_LOCAL_IMAGES_FREE_MB", "-7")));
        assertEquals(
                false, LocalImages.of(Map.of("PREEMPTIBLE_LOCAL_IMAGES", "off")).wanted());
    }

    /** As a rehearsal does. */
    @Test
    void anImageThatIsAskedForFirstIsNoShortage() {
        MemoryGuard.Decision decision = MemoryGuard.decide(new HostMemory(5 << 20, 0), Long.MAX_VALUE);
        assertEquals(Handover.AFTER_DUMP, decision.handover());
        assertEquals("The image is made first, as was asked for", decision.sentence());
    }
}
