package io.jenkins.plugins.preemptible.acceptance.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MoveRoundTest {

    private static List<MoveRound> drawn(long seed, int rounds) {
        return IntStream.rangeClosed(1, rounds)
                .mapToObj(i -> MoveRound.of(seed, i))
                .toList();
    }

    @Test
    void theSeedDecides() {
        assertEquals(drawn(7, 50), drawn(7, 50));
        assertNotEquals(drawn(7, 50), drawn(8, 50));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4001})
    void twoHundredHaveEachFaultAndEachMomentOftenEnough(long seed) {
        List<MoveRound> rounds = drawn(seed, 200);
        for (MoveFault fault : MoveFault.values()) {
            long of = rounds.stream().filter(round -> round.fault() == fault).count();
            assertTrue(of >= 13, () -> fault + ": " + of);
            assertEquals(
                    Stream.of(MoveMoment.values())
                            .filter(fault.moments()::contains)
                            .toList(),
                    rounds.stream()
                            .filter(round -> round.fault() == fault)
                            .map(MoveRound::moment)
                            .distinct()
                            .sorted()
                            .toList(),
                    fault::name);
        }
        for (MoveMoment moment : MoveMoment.values()) {
            long at = rounds.stream().filter(round -> round.moment() == moment).count();
            assertTrue(at >= 13, () -> moment + ": " + at);
        }
    }

    @Test
    void whatBelongsTogetherIsDrawnTogether() {
        for (MoveRound round : drawn(3, 2000)) {
            assertTrue(round.fault().moments().contains(round.moment()), round::toString);
            assertTrue(!round.moment().needsCheckpoint() || round.checkpointed(), round::toString);
            assertTrue(round.delayMillis() >= 0 && round.delayMillis() < 1500, round::toString);
            assertTrue(round.lastsMillis() >= 500 && round.lastsMillis() <= 22_000, round::toString);
        }
    }
}
