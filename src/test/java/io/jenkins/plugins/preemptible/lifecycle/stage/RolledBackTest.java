package io.jenkins.plugins.preemptible.lifecycle.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.util.Secret;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a record says after its stage went back to its checkpoint, from each state in which it can lose its processes. */
class RolledBackTest {

    private static final String ID = "preemptible-12345678";
    private static final StageChanges.Suspended FOR_ANOTHER =
            new StageChanges.Suspended("high #1", "high", "Because.", 1_000_000);

    private final StagesInMemory stages = new StagesInMemory();

    /** How a stage comes into a state. */
    private enum From {
        RUNNING(),
        SUSPENDING(StageChanges.chosen()),
        FROZEN(SUSPENDING, frozen(false)),
        MEMORY_ONLY(SUSPENDING, frozen(true)),
        FROZEN_ONLY(SUSPENDING, StageChanges.frozenOnly(FOR_ANOTHER, 3_000_000)),
        UNSEALED(FROZEN, StageChanges.unsealed()),
        NOT_RESTORABLE(FROZEN, StageChanges.notRestorable()),
        RESUMING(FROZEN, StageChanges.resuming()),
        NOT_RESUMED(
                RESUMING, StageChanges.notResumed(10, 1_100_000).andThen(StageChanges.undecidedAfter(1, "Why.", 1))),
        SEALED(FROZEN, StageChanges.sealed(5_000, null));

        private final From before;
        private final Consumer<StageRecord> step;

        From() {
            this(null, stage -> {});
        }

        From(Consumer<StageRecord> step) {
            this(null, step);
        }

        From(From before, Consumer<StageRecord> step) {
            this.before = before;
            this.step = step;
        }

        Stream<Consumer<StageRecord>> steps() {
            return before == null ? Stream.of(step) : Stream.concat(before.steps(), Stream.of(step));
        }

        private static Consumer<StageRecord> frozen(boolean memoryOnly) {
            return StageChanges.frozen(FOR_ANOTHER, memoryOnly, memoryOnly ? null : Secret.fromString("a key"));
        }
    }

    private StageRecord before(From from) {
        stages.addRunning(ID);
        from.steps().forEach(step -> stages.update(ID, step));
        return stages.find(ID);
    }

    @ParameterizedTest
    @EnumSource
    void itIsSuspendedAndNothingCountsButTheCheckpoint(From from) {
        before(from);
        stages.rollBack(ID);
        StageRecord stage = stages.find(ID);
        StageCheckpoint checkpoint = StagesInMemory.checkpoint(1);
        assertEquals(StageState.SUSPENDED, stage.state());
        assertTrue(stage.rolledBack());
        assertFalse(stage.frozen() || stage.memoryOnly() || stage.unsealed() || stage.notRestorable());
        assertEquals(0, stage.thawByMillis());
        assertEquals(0, stage.retryAfterMillis());
        assertNull(stage.whyNotResumed());
        assertEquals(checkpoint.file(), stage.imageFile());
        assertEquals(checkpoint.key().getPlainText(), stage.imageKey().getPlainText());
        assertEquals(checkpoint.archiveBytes(), stage.archiveBytes());
        assertTrue(stage.luggage().treeEnded());
    }

    /** What it was suspended for is over, and the time without an executor has begun before. */
    @ParameterizedTest
    @EnumSource
    void aSuspendedOneStaysSuspendedForTheSame(From from) {
        StageRecord before = before(from);
        long executorMillis = before.executorMillis(2_000_000);
        stages.rollBack(ID);
        StageRecord stage = stages.find(ID);
        assertEquals(executorMillis, stage.executorMillis(9_000_000));
        if (before.suspended()) {
            assertEquals(before.suspensions(), stage.suspensions());
            assertEquals(before.suspendedSinceMillis(), stage.suspendedSinceMillis());
            assertEquals("high #1", stage.preemptor());
        } else {
            assertNotEquals(before.suspensions(), stage.suspensions());
            assertNull(stage.preemptor());
        }
    }

    /** Its agent is back in time, and has its processes still. */
    @Test
    void onceFrozenAgainItIsNotRolledBackAnyMore() {
        before(From.FROZEN);
        stages.rollBack(ID);
        stages.update(ID, StageChanges.heldFrozen(Secret.fromString("a new key")));
        assertFalse(stages.find(ID).rolledBack());
        stages.update(ID, StageChanges.sealed(5_000, null));
        assertFalse(stages.find(ID).rolledBack());
        assertNotNull(stages.find(ID).imagePath());
    }

    @Test
    void aStageThatRunsFromACheckpointIsNotRolledBackAnyMore() {
        before(From.RUNNING);
        stages.rollBack(ID);
        stages.update(ID, StageChanges.resuming());
        assertTrue(stages.find(ID).rolledBack());
        stages.update(ID, StageChanges.resumed(stages.find(ID).enterCommand(), "the archive", 3_000_000));
        assertFalse(stages.find(ID).rolledBack());
        stages.update(ID, StageChanges.chosen());
        stages.update(ID, StageChanges.frozen(FOR_ANOTHER, false, Secret.fromString("a key")));
        assertFalse(stages.find(ID).rolledBack());
    }
}
