package io.jenkins.plugins.preemptible.move;

import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.util.Secret;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageClock;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StagesInMemory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class MoveTargetsTest {

    private static final String ID = "stage-0a1b2c3d";

    private final StagesInMemory stages = new StagesInMemory();
    private final LiveStage live = StagesInMemory.live(ID, StageClock.SYSTEM);

    @AfterEach
    void forget() {
        live.forget();
    }

    private void suspend(long memoryBytes) {
        stages.update(ID, StageChanges.chosen());
        stages.update(
                ID,
                StageChanges.frozen(
                                new StageChanges.Suspended(null, null, "Because.", 1_000_000),
                                false,
                                Secret.fromString("a key"))
                        .andThen(StageChanges.had(memoryBytes)));
    }

    /** The process of the controller that has seen its memory is gone. */
    @Test
    void aStageNeedsItsMemoryAfterARestartOfTheController() {
        stages.addRunning(ID);
        suspend(3L << 30);
        StageRecord read = stages.readAgain(ID);
        assertEquals(3L << 30, MoveTargets.needs(read, live).memoryBytes());
        live.memory().seen(1_000, 5L << 30);
        assertEquals(5L << 30, MoveTargets.needs(read, live).memoryBytes());
    }

    @Test
    void whatASuspensionBeforeHadIsForgotten() {
        stages.addRunning(ID);
        suspend(3L << 30);
        stages.update(ID, StageChanges.runsAfterAll());
        suspend(-1);
        assertEquals(-1, MoveTargets.needs(stages.readAgain(ID), live).memoryBytes());
    }
}
