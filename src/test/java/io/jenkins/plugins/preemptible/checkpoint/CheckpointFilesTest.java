package io.jenkins.plugins.preemptible.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.util.Secret;
import io.jenkins.plugins.preemptible.lifecycle.stage.Checkpoints;
import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageCheckpoint;
import io.jenkins.plugins.preemptible.lifecycle.stage.StagesInMemory;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Names of many checkpoints, of which some fail, some are whole, and some are refused by an agent. */
class CheckpointFilesTest {

    private final Random random = new Random(13);

    @ParameterizedTest
    @ValueSource(ints = {0, 30, 60, 100})
    void eachTakesNamesThatNoOtherNeedsAndThatWereNotTakenJustBefore(int percentWhole) {
        Checkpoints all = Checkpoints.every(5);
        Set<String> ever = new HashSet<>();
        List<String> last = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            all = CheckpointFiles.begin(all);
            String image = CheckpointFiles.image(all.begun());
            String files = CheckpointFiles.files(all.begun());
            assertFalse(all.files().contains(image), image);
            assertFalse(all.files().contains(files), files);
            assertFalse(last.contains(image), "a store may be late with what it was asked last");
            last = List.of(image);
            ever.add(image);
            StageCheckpoint base = all.replaced();
            if (random.nextInt(10) > 2) {
                all = all.with(new StageCheckpoint(
                        image,
                        Secret.fromString("a key"),
                        1,
                        luggage(files).against(base == null || whole(percentWhole) ? null : base.fullFiles()),
                        List.of(),
                        Map.of(),
                        i,
                        0,
                        base == null || whole(percentWhole) ? null : base.fullImage()));
            }
            if (random.nextInt(20) == 0 && !all.made().isEmpty()) {
                all = all.refused(all.made().get(0).file());
            }
        }
        assertTrue(ever.size() <= 8, ever.toString());
        assertEquals(2, all.made().size());
    }

    private boolean whole(int percent) {
        return random.nextInt(100) < percent;
    }

    private static SealedLuggage luggage(String file) {
        SealedLuggage any = StagesInMemory.luggage("token");
        return SealedLuggage.of(file, any.key(), 1, 1, any.host());
    }
}
