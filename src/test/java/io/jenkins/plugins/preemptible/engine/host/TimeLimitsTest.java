package io.jenkins.plugins.preemptible.engine.host;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.junit.jupiter.api.Test;

class TimeLimitsTest {

    @Test
    void multipliesByWhatIsSet() {
        assertEquals(1, TimeLimits.factor(Map.of(), null));
        assertEquals(20, TimeLimits.factor(Map.of(TimeLimits.FACTOR, "20"), null));
        assertEquals(5, TimeLimits.factor(Map.of(TimeLimits.FACTOR, "20"), "5"));
    }

    @Test
    void ignoresWhatIsNoFactor() {
        for (String bad : new String[] {"0", "-3", "101", "1.5", "slow", "99999999999", " "}) {
            assertEquals(1, TimeLimits.factor(Map.of(TimeLimits.FACTOR, bad), null), bad);
        }
    }
}
