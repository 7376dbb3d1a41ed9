package io.jenkins.plugins.preemptible.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** When evaluations come, by a clock of its own. */
class EvaluationPaceTest {

    private static final long BEGIN = 1_000_000;

    private final EvaluationPace pace = new EvaluationPace(BEGIN);

    @Test
    void oneEvaluationServesAllWhoseMomentHasCome() {
        assertEquals(BEGIN + 100, pace.want(BEGIN + 100, BEGIN));
        assertEquals(-1, pace.want(BEGIN + 100, BEGIN), "a timer is set");
        assertTrue(pace.begin(BEGIN + 100, BEGIN + 101));
        assertEquals(-1, pace.end(1, BEGIN + 102), "nothing is left");
    }

    @Test
    void whoAskedForALaterMomentIsServedThen() {
        pace.want(BEGIN + 100, BEGIN);
        assertEquals(-1, pace.want(BEGIN + 200, BEGIN + 90));
        assertEquals(-1, pace.want(BEGIN + 1_000, BEGIN + 90));
        assertTrue(pace.begin(BEGIN + 100, BEGIN + 100));
        assertEquals(BEGIN + 200, pace.end(1, BEGIN + 110));
        assertTrue(pace.begin(BEGIN + 200, BEGIN + 200));
        assertEquals(BEGIN + 1_000, pace.end(1, BEGIN + 210));
    }

    @Test
    void anEarlierMomentIsNotWaitedFor() {
        assertEquals(BEGIN + 1_000, pace.want(BEGIN + 1_000, BEGIN));
        assertEquals(BEGIN + 100, pace.want(BEGIN + 100, BEGIN));
        assertTrue(pace.begin(BEGIN + 100, BEGIN + 100));
        assertEquals(BEGIN + 1_000, pace.end(1, BEGIN + 101));
        assertTrue(pace.begin(BEGIN + 1_000, BEGIN + 1_000));
        assertFalse(pace.begin(BEGIN + 1_000, BEGIN + 1_001), "its first timer");
    }

    @Test
    void aStreamOfEventsGetsItsShareAndNoMore() {
        double cost = 60;
        long rings = -1;
        double used = 0;
        int evaluations = 0;
        long seconds = 60;
        for (long now = BEGIN; now < BEGIN + seconds * 1_000; now += 10) {
            long set = pace.want(now + 100, now);
            rings = set >= 0 ? set : rings;
            if (rings >= 0 && rings <= now && pace.begin(rings, now)) {
                used += cost;
                evaluations++;
                rings = pace.end(cost, now);
            }
        }
        double most = EvaluationPace.SAVED_MILLIS + seconds * 1_000 * EvaluationPace.SHARE_PERCENT / 100.0 + cost;
        assertTrue(used <= most, used + " ms of " + most);
        assertTrue(evaluations > 40, "only " + evaluations);
    }

    @Test
    void afterAQuietWhileTheFirstOneComesAtOnce() {
        pace.want(BEGIN, BEGIN);
        assertTrue(pace.begin(BEGIN, BEGIN));
        pace.end(2_000, BEGIN + 2_000);
        assertTrue(pace.want(BEGIN + 2_100, BEGIN + 2_000) > BEGIN + 5_000, "too much was used");
        assertTrue(pace.want(BEGIN + 2_100, BEGIN + 2_000) <= BEGIN + 2_000 + EvaluationPace.LONGEST_PAUSE_MILLIS);
        EvaluationPace rested = new EvaluationPace(BEGIN);
        rested.want(BEGIN, BEGIN);
        rested.begin(BEGIN, BEGIN);
        rested.end(2_000, BEGIN + 2_000);
        assertEquals(BEGIN + 102_000, rested.want(BEGIN + 102_000, BEGIN + 102_000));
    }

    @Test
    void whatIsDueAtOnceComesAtOnce() {
        assertEquals(BEGIN + 7, pace.want(BEGIN + 7, BEGIN + 7));
        assertTrue(pace.begin(BEGIN + 7, BEGIN + 7));
        pace.end(1, BEGIN + 8);
        assertEquals(BEGIN + 7 + EvaluationPace.GAP_MILLIS, pace.want(BEGIN + 9, BEGIN + 9), "but for the gap");
        assertEquals(-1, pace.want(BEGIN + 12, BEGIN + 12), "all that come meanwhile are served together");
    }

    @Test
    void aTimerThatNeverRingsIsSetAgain() {
        assertEquals(BEGIN, pace.want(BEGIN, BEGIN));
        assertEquals(-1, pace.want(BEGIN + 1_000, BEGIN + 1_000));
        assertTrue(pace.want(BEGIN + 6_000, BEGIN + 6_000) >= BEGIN + 6_000);
    }
}
