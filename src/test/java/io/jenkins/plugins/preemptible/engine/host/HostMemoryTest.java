package io.jenkins.plugins.preemptible.engine.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class HostMemoryTest {

    @Test
    void theKernelsLinesAreRead() {
        assertEquals(3L << 20, HostMemory.available(List.of("MemTotal:  9 kB", "MemAvailable:       3072 kB")));
        assertEquals(
                1.25,
                HostMemory.pressure(List.of("some avg10=1.25 avg60=9.00 avg300=9.00 total=9", "full avg10=8.00")));
        assertEquals(70, HostMemory.left("100", "50", List.of("anon 30", "inactive_file 20")));
    }

    @Test
    void whatIsNotToldIsEnough() {
        assertEquals(Long.MAX_VALUE, HostMemory.available(List.of()));
        assertEquals(0, HostMemory.pressure(List.of("nonsense")));
        assertEquals(Long.MAX_VALUE, HostMemory.left("max", "50", List.of()));
        assertEquals(0, HostMemory.left("40", "50", List.of()));
    }

    @Test
    void thisHostTellsSomething() {
        HostMemory now = HostMemory.now();
        assertTrue(
                now.availableBytes() > 0 && now.pressurePercent() >= 0 && now.pressurePercent() <= 100, now::toString);
    }
}
