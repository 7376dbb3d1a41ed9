package io.jenkins.plugins.preemptible.queue.snapshot;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class OwnerTimesTest {

    private static final Set<String> BOTH = Set.of("ada", "bob");

    private final OwnerTimes times = new OwnerTimes();

    /** The turn of the one ended, and that of the other began, between two looks. */
    @Test
    void turnsAreChargedToTheMillisecond() {
        StageRecord one = Pretended.running("1", "ada", 1_000);
        StageRecord two = Pretended.running("2", "bob", 1_000);
        Pretended.suspend(two, 1_000);
        times.at(1_000, List.of(one, two), BOTH);
        Pretended.suspend(one, 1_700);
        Pretended.resume(two);
        assertEquals(Map.of("ada", 700L, "bob", 0L), times.at(1_900, List.of(one, two), BOTH));
        Pretended.goOn(two, 2_000);
        assertEquals(Map.of("ada", 700L, "bob", 500L), times.at(2_500, List.of(one, two), BOTH));
    }

    @Test
    void everyStageOfAnOwnerCounts() {
        times.at(1_000, List.of(), Set.of());
        StageRecord one = Pretended.running("1", "ada", 1_000);
        StageRecord two = Pretended.running("2", "ada", 1_200);
        assertEquals(Map.of("ada", 1_800L), times.at(2_000, List.of(one, two), Set.of("ada")));
    }

    @Test
    void whatWasBeforeTheControllerStartedDoesNotCount() {
        StageRecord one = Pretended.running("1", "ada", 1_000);
        assertEquals(Map.of("ada", 0L), times.at(9_000, List.of(one), Set.of("ada")));
        assertEquals(Map.of("ada", 500L), times.at(9_500, List.of(one), Set.of("ada")));
    }

    @Test
    void aStageThatEndedIsChargedUpToTheLookThatMissesIt() {
        StageRecord one = Pretended.running("1", "ada", 1_000);
        StageRecord other = Pretended.running("2", "ada", 1_000);
        Pretended.suspend(other, 1_000);
        times.at(1_000, List.of(one, other), BOTH);
        assertEquals(Map.of("ada", 300L, "bob", 0L), times.at(1_300, List.of(), BOTH));
    }

    @Test
    void aClockThatIsSetBackTakesNothingAway() {
        StageRecord one = Pretended.running("1", "ada", 1_000);
        times.at(2_000, List.of(one), Set.of("ada"));
        times.at(3_000, List.of(one), Set.of("ada"));
        assertEquals(Map.of("ada", 1_000L), times.at(1_500, List.of(one), Set.of("ada")));
        assertEquals(Map.of("ada", 1_100L), times.at(1_600, List.of(one), Set.of("ada")));
    }

    /** As each look does, whether or not there is a stage. */
    @Test
    void theTimeInWhichThereIsNoStageIsNobodys() {
        times.at(1_000, List.of(Pretended.running("1", "ada", 1_000)), Set.of("ada"));
        times.at(2_000, List.of(), Set.of());
        StageRecord next = Pretended.running("2", "bob", 900_000);
        times.at(900_000, List.of(next), BOTH);
        Map<String, Long> had = times.at(901_000, List.of(next), BOTH);
        assertEquals(1_000, had.get("bob") - had.get("ada"));
    }
}
