package io.jenkins.plugins.preemptible.acceptance.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class FaultRoundTest {

    @Test
    void theSeedDecides() {
        assertEquals(drawn(7), drawn(7));
        assertNotEquals(drawn(7), drawn(8));
    }

    private static List<String> drawn(long seed) {
        return IntStream.rangeClosed(1, 50)
                .mapToObj(i -> FaultRound.of(seed, i).toString())
                .toList();
    }

    @Test
    void everyFaultMeetsEveryMoment() {
        List<FaultRound> rounds = IntStream.rangeClosed(1, 2000)
                .mapToObj(i -> FaultRound.of(1, i))
                .toList();
        Set<String> pairs =
                rounds.stream().map(r -> r.fault() + " " + r.moment()).collect(Collectors.toSet());
        // A criu is killed while it dumps or restores, so only what comes before that is waited for.
        assertEquals((Fault.values().length - 1) * Moment.values().length + 3, pairs.size());
        assertEquals(
                EnumSet.allOf(Moment.class),
                rounds.stream().map(FaultRound::moment).collect(Collectors.toSet()));
    }

    @Test
    void timesAreInTheirRanges() {
        for (int i = 1; i <= 2000; i++) {
            FaultRound round = FaultRound.of(3, i);
            assertTrue(round.delayMillis() >= 0 && round.delayMillis() < 3000, round::toString);
            assertTrue(round.lastsMillis() >= 1000 && round.lastsMillis() <= 400_000, round::toString);
            assertTrue(round.preemptorSeconds() >= 1 && round.preemptorSeconds() <= 30, round::toString);
        }
    }
}
