package io.jenkins.plugins.preemptible.engine.criu;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.stage.CriuOptions;
import org.junit.jupiter.api.Test;

class CriuVersionTest {

    @Test
    void comparesByNumbers() {
        for (String late : new String[] {"3.19", "3.19.1", "3.100", "4.0", "4.2.1", "4.1-rc1", "unknown", ""}) {
            assertTrue(CriuVersion.isAtLeast(late, "3.19"), late);
        }
        for (String early : new String[] {"3.17.1", "3.18", "3", "2.99"}) {
            assertFalse(CriuVersion.isAtLeast(early, "3.19"), early);
        }
    }

    // CRIU 3.17.1 of Debian 12: "Invalid value for --network-lock: skip".
    @Test
    void givesAnOldOneNoOptionThatItRefuses() {
        assertTrue(CriuOptions.PLAIN.forDump(true).contains("--network-lock"));
        assertFalse(CriuOptions.PLAIN.forDump(false).contains("--network-lock"));
    }
}
