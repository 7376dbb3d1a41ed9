package io.jenkins.plugins.preemptible.engine.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.Slices.Rule;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SlicesTest {

    private static final Slices SLICES =
            new Slices(600, List.of(new Rule("gpu", 1, 3, 100), new Rule("gpu", 1, 9, 200), new Rule(null, 5, 5, 0)));

    @ParameterizedTest
    @CsvSource({"gpu,1,100", "gpu,3,100", "gpu,4,200", "gpu,0,600", "gpu,10,600", "cpu,1,600", "gpu,5,200", "cpu,5,0"})
    void theFirstRuleThatFitsSaysIt(String label, int priority, long slice) {
        assertEquals(slice, SLICES.of(Set.of(label, "linux"), priority, 0));
    }

    @ParameterizedTest
    @CsvSource({"1,1", "599,599", "600,600", "601,600", "0,600"})
    void aStageGetsLessWhereItAsksButNeverMore(long own, long slice) {
        assertEquals(slice, SLICES.of(Set.of(), 1, own));
    }

    @Test
    void whereNoneIsSetAStageMayStillAskForOne() {
        assertEquals(0, Slices.NONE.of(Set.of("x"), 1, 0));
        assertEquals(70, Slices.NONE.of(Set.of("x"), 1, 70));
    }

    @Test
    void absurdOnesAreRefusedByName() {
        assertTrue(refused(-1, 1, 2).contains("time slice"));
        assertTrue(refused(5, 3, 2).contains("from 3 to 2"));
        assertThrows(IllegalArgumentException.class, () -> new Slices(-1, List.of()));
    }

    private static String refused(long millis, int from, int to) {
        return assertThrows(IllegalArgumentException.class, () -> new Rule(null, from, to, millis))
                .getMessage();
    }
}
