package io.jenkins.plugins.preemptible.lifecycle.suspend;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.hasItem;
import static org.hamcrest.Matchers.not;
import static org.hamcrest.Matchers.startsWith;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.AgentStage.NotKilled.Tree;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StrangeHost;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The rows of the state table in docs/design.md that begin at RUNNING or SUSPENDING, and their failures. Without Jenkins. */
class SuspensionStepsTest {

    private static final OptionalLong NOT = OptionalLong.empty();

    private final AttemptedSuspension attempt = new AttemptedSuspension();

    @AfterEach
    void forget() {
        attempt.close();
    }

    private static AgentStage.Refusal refusal(String reason, boolean lasting) {
        return new AgentStage.Refusal("The engine refuses.", reason, lasting, List.of("a line of CRIU"));
    }

    private static void fail() throws IOException {
        throw new IOException("the connection was lost");
    }

    /** Nothing stands against another attempt; the stage runs, and what was frozen was thawed before that was said. */
    private void runsAfterThaw(long sparedMillis) {
        assertEquals(StageState.RUNNING, attempt.state());
        assertEquals(sparedMillis, attempt.sparedMillis());
        assertThat(attempt.effects, hasItem("SUSPENDING thaw"));
        assertFalse(attempt.stage().frozen());
        assertNull(attempt.stage().imageKey());
        assertEquals(0, attempt.stage().suspensions());
    }

    private void noImageFits() {
        attempt.frozen = AttemptedSuspension.freeze(null, false, false);
    }

    // RUNNING, chosen; SUSPENDING, frozen, memory enough

    @Test
    void theExecutorGoesWhenTheProcessesAreFrozenAndTheImageFollows() throws Exception {
        attempt.sealAfterMillis = 60_000;
        assertEquals(OptionalLong.of(7), attempt.run());
        assertEquals(
                List.of(
                        "SUSPENDING freeze",
                        "SUSPENDED keep",
                        "SUSPENDED release",
                        "SUSPENDED show",
                        "SUSPENDED told suspended",
                        "SUSPENDED image after 60000"),
                attempt.effects);
        assertTrue(attempt.stage().frozen() && !attempt.stage().memoryOnly());
        assertEquals(4_000_000, attempt.stage().residentBytes());
        assertNotNull(attempt.stage().imageKey());
        assertEquals(1, attempt.stage().suspensions());
        assertEquals(attempt.nowMillis(), attempt.stage().suspendedSinceMillis());
        assertEquals(0, attempt.sparedMillis());
    }

    // SUSPENDING, frozen, agent makes no images

    @Test
    void noImageFollowsWhereTheAgentMakesNone() throws Exception {
        attempt.frozen = AttemptedSuspension.freeze(null, true, true);
        assertEquals(OptionalLong.of(7), attempt.run());
        assertEquals(
                List.of(
                        "SUSPENDING freeze",
                        "SUSPENDED keep",
                        "SUSPENDED release",
                        "SUSPENDED show",
                        "SUSPENDED told suspended",
                        "SUSPENDED memory only"),
                attempt.effects);
        assertTrue(attempt.stage().frozen() && attempt.stage().memoryOnly());
        assertNull(attempt.stage().imageKey());
    }

    // SUSPENDING, frozen, cannot be dumped; then RESUMING, it runs

    @Test
    void whatCannotBeDumpedIsFrozenForATimeAndNotSuspendedByHandAfterwards() throws Exception {
        attempt.frozen =
                new AgentStage.Freeze(null, 1, 2, 3, 4_000_000, true, "", true, List.of("It is traced (by strace)"));
        String id = attempt.stage().id();
        for (int i = 1; i <= 2; i++) {
            attempt.effects.clear();
            attempt.stages.update(id, stage -> stage.byHand("ada"));
            assertEquals(OptionalLong.of(7), attempt.run());
            assertEquals(
                    List.of(
                            "SUSPENDING freeze",
                            "SUSPENDED keep",
                            "SUSPENDED release",
                            "SUSPENDED show",
                            "SUSPENDED told suspended"),
                    attempt.effects);
            assertEquals(attempt.nowMillis() + 600_000, attempt.stage().thawByMillis());
            assertTrue(attempt.stage().frozen() && attempt.stage().memoryOnly());
            assertFalse(attempt.stage().onMemoryOnlyAgent(), "the agent makes images");
            assertNull(attempt.stage().imageKey());
            attempt.stages.update(id, StageChanges.resuming());
            attempt.stages.update(
                    id,
                    StageChanges.resumed(
                            attempt.stage().enterCommand(), "its frozen processes", attempt.nowMillis() + 500));
            assertEquals(StageState.RUNNING, attempt.state());
            assertFalse(attempt.stage().byHand(), "else it would be frozen again at once");
            assertEquals(0, attempt.stage().thawByMillis());
            assertEquals(500, attempt.stage().lastFrozenMillis());
            assertFalse(attempt.stage().memoryOnly());
        }
        assertEquals(
                1,
                attempt.log.stream()
                        .filter(line -> line.contains("What may not survive that: It is traced (by strace)."))
                        .count(),
                "warned of once");
    }

    // SUSPENDING, frozen, agent short of memory; then: that image is safe

    @Test
    void theImageIsSafeBeforeTheProcessesAreKilledAndTheExecutorGoes() throws Exception {
        noImageFits();
        assertEquals(OptionalLong.of(7), attempt.run());
        assertEquals(
                List.of(
                        "SUSPENDING freeze",
                        "SUSPENDING dump",
                        "SUSPENDING store",
                        "SUSPENDED kill",
                        "SUSPENDED keep",
                        "SUSPENDED release",
                        "SUSPENDED measured",
                        "SUSPENDED show",
                        "SUSPENDED told suspended",
                        "SUSPENDED told sealed"),
                attempt.effects);
        assertFalse(attempt.stage().frozen());
        assertEquals(4_000_000, attempt.stage().residentBytes());
        assertEquals(
                "preemptible/stage-0123abcd/suspended-stage.preempt",
                attempt.stage().imagePath());
        assertEquals(1_000_000, attempt.stage().archiveBytes());
    }

    // Not begun

    @Test
    void aStageThatIsSuspendedIsNotSuspendedAgain() throws Exception {
        attempt.run();
        attempt.effects.clear();
        assertEquals(NOT, attempt.run());
        assertEquals(List.of(), attempt.effects);
    }

    @Test
    void aStageThatEndsIsNotSuspended() throws Exception {
        attempt.live.markEnding();
        assertEquals(NOT, attempt.run());
        assertEquals(List.of(), attempt.effects);
    }

    @Test
    void aStageWithoutAnExecutorIsTriedAgainSoon() throws Exception {
        attempt.hasExecutor = false;
        assertEquals(NOT, attempt.run());
        assertEquals(List.of(), attempt.effects);
        assertEquals(SuspensionSteps.BUSY_RETRY_MILLIS, attempt.sparedMillis());
    }

    @Test
    void aStepInTheAgentsJvmIsTriedAgainSoonAndNotTold() throws Exception {
        attempt.objection = "The step 'checkout' runs in it.";
        assertEquals(NOT, attempt.run());
        assertEquals(List.of(), attempt.effects);
        assertEquals(List.of(), attempt.log);
        assertEquals(SuspensionSteps.BUSY_RETRY_MILLIS, attempt.sparedMillis());
    }

    @Test
    void aStepThatStaysIsToldOnceAndShownUntilItIsOver() throws Exception {
        String checkout = "The step 'checkout' runs in it.";
        attempt.objection = checkout;
        for (int second = 0; second < 4; second++) {
            assertEquals(NOT, attempt.run());
            attempt.nowMillis += 1000;
        }
        assertEquals(List.of(), attempt.log);
        assertEquals(checkout, attempt.live.objection().sentence());
        attempt.nowMillis += 1000;
        attempt.run();
        attempt.run();
        assertEquals(
                List.of("Not suspended yet. " + checkout + " The stage keeps running until that is over."),
                attempt.log);
        attempt.nowMillis += 16_000;
        assertNull(attempt.live.objection().sentence(), "nothing is known of it any more");
        attempt.run();
        attempt.objection = null;
        attempt.run();
        assertNull(attempt.live.objection().sentence());
    }

    @Test
    void theImageOfTheLastSuspensionIsWaitedForAndThatIsToldOnce() throws Exception {
        assertTrue(attempt.live.beginSealing());
        assertEquals(NOT, attempt.run());
        assertEquals(NOT, attempt.run());
        assertEquals(List.of(), attempt.effects);
        assertEquals(List.of(SuspensionWords.waitsForLastImage()), attempt.log);
    }

    @Test
    void anAgentThatIsOfflineLeavesTheStageAsItIs() {
        attempt.agentIsThere = false;
        assertThrows(IOException.class, attempt::run);
        assertEquals(StageState.RUNNING, attempt.state());
        assertEquals(List.of(), attempt.effects);
    }

    @Test
    void nothingIsFrozenBeforeTheStateIsSaved() {
        attempt.stages.room = 0;
        assertThrows(UncheckedIOException.class, attempt::run);
        assertEquals(StageState.RUNNING, attempt.state());
        assertEquals(List.of(), attempt.effects);
    }

    // The freeze fails

    @ParameterizedTest
    @EnumSource(
            value = FailureReason.class,
            names = {"OBJECTION", "STAGE_BUSY", "ENTERING"})
    void aRefusalOfTheMomentIsTriedAgainSoonAndIsNoEvent(FailureReason reason) throws Exception {
        attempt.frozen = AttemptedSuspension.freeze(refusal(reason.name(), false), false, false);
        assertEquals(NOT, attempt.run());
        assertEquals(List.of("SUSPENDING freeze"), attempt.effects);
        assertEquals(StageState.RUNNING, attempt.state());
        assertEquals(SuspensionSteps.BUSY_RETRY_MILLIS, attempt.sparedMillis());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aRefusedFreezeSparesTheStageForAsLongAsItsCauseStays(boolean lasting) throws Exception {
        attempt.frozen = AttemptedSuspension.freeze(refusal("TRACED", lasting), false, false);
        assertEquals(NOT, attempt.run());
        assertEquals(List.of("SUSPENDING freeze", "RUNNING told refused"), attempt.effects);
        assertEquals(
                lasting ? LiveStage.REFUSED_RETRY_MILLIS : SuspensionSteps.passingRetryMillis(),
                attempt.sparedMillis());
        assertThat(attempt.log, hasItem("Not suspended. The engine refuses. The stage keeps running."));
        assertThat(attempt.log, hasItem("a line of CRIU"));
        assertEquals("The engine refuses.", attempt.live.refusal());
    }

    @Test
    void aRefusalCountsUntilTheNextAttempt() throws Exception {
        attempt.frozen = AttemptedSuspension.freeze(refusal("TRACED", false), false, false);
        assertEquals(NOT, attempt.run());
        attempt.frozen = AttemptedSuspension.freeze(null, true, false);
        attempt.run();
        assertNull(attempt.live.refusal());
    }

    @Test
    void aRefusalThatIsNotTriedAgainCountsForSomeSeconds() throws Exception {
        attempt.frozen = AttemptedSuspension.freeze(refusal("TRACED", false), false, false);
        assertEquals(NOT, attempt.run());
        attempt.nowMillis += SuspensionSteps.passingRetryMillis() + 14_000;
        assertEquals("The engine refuses.", attempt.live.refusal());
        attempt.nowMillis += 2_000;
        assertNull(attempt.live.refusal());
    }

    @Test
    void aLostConnectionSaysNothingAgainstTheStage() throws Exception {
        attempt.onFreeze = SuspensionStepsTest::fail;
        assertEquals(NOT, attempt.run());
        runsAfterThaw(SuspensionSteps.passingRetryMillis());
        assertThat(attempt.log, hasItem(startsWith("Not suspended, since the agent could not be asked")));
    }

    @Test
    void anAnswerThatIsNoneSparesTheStage() throws Exception {
        attempt.onFreeze = () -> {
            throw new ClassCastException("not an answer");
        };
        assertEquals(NOT, attempt.run());
        runsAfterThaw(LiveStage.REFUSED_RETRY_MILLIS);
    }

    @Test
    void aStateThatCannotBeSavedIsThawed() throws Exception {
        attempt.stages.room = 1;
        assertEquals(NOT, attempt.run());
        runsAfterThaw(SuspensionSteps.passingRetryMillis());
        assertFalse(attempt.effects.contains("SUSPENDING release"));
    }

    @Test
    void theStageIsRunningOnlyWhenItsAgentHasSaidSo() throws Exception {
        attempt.wanted = false;
        attempt.onThaw = SuspensionStepsTest::fail;
        assertEquals(NOT, attempt.run());
        assertEquals(StageState.SUSPENDING, attempt.state());
        attempt.later.remove(0).run();
        assertEquals(StageState.SUSPENDING, attempt.state());
        attempt.onThaw = () -> {};
        attempt.later.remove(0).run();
        runsAfterThaw(0);
        assertEquals(List.of(), attempt.later);
    }

    /** Its agent is lost, and later there again: the stage may run elsewhere by then. */
    @Test
    void aStageThatWentBackToItsCheckpointMeanwhileIsNotThawed() throws Exception {
        attempt.wanted = false;
        attempt.onThaw = SuspensionStepsTest::fail;
        assertEquals(NOT, attempt.run());
        attempt.stages.rollBack(attempt.stage().id());
        attempt.effects.clear();
        attempt.onThaw = () -> {};
        attempt.later.remove(0).run();
        assertEquals(List.of(), attempt.effects);
        assertEquals(List.of(), attempt.later);
        assertTrue(attempt.stage().rolledBack());
    }

    // Frozen, and then not to be suspended

    @Test
    void aStepThatEndedBeforeTheFreezeIsThawed() throws Exception {
        attempt.stepsChanged = true;
        assertEquals(NOT, attempt.run());
        runsAfterThaw(SuspensionSteps.BUSY_RETRY_MILLIS);
    }

    @Test
    void aStepThatBeganBeforeTheFreezeIsThawed() throws Exception {
        attempt.onFreeze = attempt.live::launching;
        assertEquals(NOT, attempt.run());
        runsAfterThaw(SuspensionSteps.BUSY_RETRY_MILLIS);
    }

    @Test
    void aStageThatIsAbortedMeanwhileIsThawed() throws Exception {
        attempt.onFreeze = attempt.live::markAborting;
        assertEquals(NOT, attempt.run());
        runsAfterThaw(SuspensionSteps.BUSY_RETRY_MILLIS);
    }

    @Test
    void aStageThatNobodyWaitsForIsThawedAndNotSpared() throws Exception {
        attempt.onFreeze = () -> attempt.wanted = false;
        assertEquals(NOT, attempt.run());
        runsAfterThaw(0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aStageThatEndedMeanwhileKeepsItsExecutor(boolean imageFirst) throws Exception {
        if (imageFirst) {
            noImageFits();
        }
        attempt.stages.untilEnd = 1;
        assertEquals(NOT, attempt.run());
        assertFalse(attempt.effects.toString().contains("release"), attempt.effects.toString());
        assertFalse(attempt.effects.toString().contains("kill"), attempt.effects.toString());
    }

    // The image that has to be made first fails

    @ParameterizedTest
    @ValueSource(longs = {-1, 0})
    void anImageWithoutRoomIsNotMadeOrNotStored(long roomBytes) throws Exception {
        noImageFits();
        attempt.roomBytes = roomBytes;
        assertEquals(NOT, attempt.run());
        runsAfterThaw(LiveStage.REFUSED_RETRY_MILLIS);
        assertEquals(roomBytes == 0, attempt.effects.contains("SUSPENDING dump"));
        assertFalse(attempt.effects.contains("SUSPENDING store"));
    }

    @Test
    void anImageThatIsTooLargeIsNotStored() throws Exception {
        noImageFits();
        attempt.tooLarge = "Its image is too large.";
        assertEquals(NOT, attempt.run());
        runsAfterThaw(LiveStage.REFUSED_RETRY_MILLIS);
        assertFalse(attempt.effects.contains("SUSPENDING store"));
    }

    @Test
    void aStageWhoseDumpIsRefusedIsThawed() throws Exception {
        noImageFits();
        attempt.dumped = AttemptedSuspension.dump(refusal("CRIU_FAILED", true));
        assertEquals(NOT, attempt.run());
        assertEquals(
                List.of("SUSPENDING freeze", "SUSPENDING dump", "SUSPENDING thaw", "RUNNING told refused"),
                attempt.effects);
        assertEquals(StageState.RUNNING, attempt.state());
        assertEquals(LiveStage.REFUSED_RETRY_MILLIS, attempt.sparedMillis());
    }

    @Test
    void aConnectionThatIsLostInTheDumpIsThawed() throws Exception {
        noImageFits();
        attempt.onDump = SuspensionStepsTest::fail;
        assertEquals(NOT, attempt.run());
        runsAfterThaw(SuspensionSteps.passingRetryMillis());
    }

    @Test
    void anImageThatIsNotStoredIsRemovedBeforeTheThaw() throws Exception {
        noImageFits();
        attempt.onStore = SuspensionStepsTest::fail;
        assertEquals(NOT, attempt.run());
        runsAfterThaw(LiveStage.REFUSED_RETRY_MILLIS);
        assertEquals(
                List.of(
                        "SUSPENDING freeze",
                        "SUSPENDING dump",
                        "SUSPENDING store",
                        "SUSPENDING discard",
                        "SUSPENDING thaw"),
                attempt.effects);
    }

    @Test
    void aHostThatHasRestartedWithTheDumpRunsItOn() throws Exception {
        noImageFits();
        attempt.onStore = SuspensionStepsTest::fail;
        EnterCommand enter =
                new EnterCommand.Direct(attempt.stage().id(), 77, "", "/usr/bin/nsenter", "/usr/bin/setsid");
        attempt.found = new AgentStage.Restore(null, Tier.LOCAL_IMAGE.name(), enter, 0, 5, 3, List.of());
        assertEquals(NOT, attempt.run());
        runsAfterThaw(LiveStage.REFUSED_RETRY_MILLIS);
        assertEquals(enter.facts(), attempt.stage().enterCommand().facts());
        assertThat(attempt.log, hasItem(SuspensionWords.restored("agent", attempt.found)));
    }

    @Test
    void aDumpThatCannotBeRestoredLeavesTheStageToItsSteps() throws Exception {
        noImageFits();
        attempt.onStore = SuspensionStepsTest::fail;
        attempt.found = AgentStage.Restore.refused(refusal(FailureReason.NOT_RESTORABLE.name(), true));
        assertEquals(NOT, attempt.run());
        runsAfterThaw(LiveStage.REFUSED_RETRY_MILLIS);
        assertThat(attempt.log, hasItem(SuspensionWords.notRestored("agent", "The engine refuses.")));
    }

    /** A process id that is taken, a disk that is full: the dump stays on the agent, and is tried again. */
    @Test
    void aDumpThatCannotBeRestoredYetIsTriedAgain() throws Exception {
        noImageFits();
        attempt.onStore = SuspensionStepsTest::fail;
        attempt.found = AgentStage.Restore.refused(refusal(FailureReason.PID_TAKEN.name(), false));
        assertEquals(NOT, attempt.run());
        for (int i = 2; i < FrozenStage.MOST_REFUSALS; i++) {
            attempt.later.remove(0).run();
            assertEquals(StageState.SUSPENDING, attempt.state());
        }
        assertThat(attempt.log, not(hasItem(SuspensionWords.notRestored("agent", "The engine refuses."))));
        attempt.later.remove(0).run();
        runsAfterThaw(LiveStage.REFUSED_RETRY_MILLIS);
        assertThat(attempt.log, hasItem(SuspensionWords.notRestored("agent", "The engine refuses.")));
        assertEquals(List.of(), attempt.later);
    }

    /** The right host may have its processes, frozen, or what was dumped of them. */
    @Test
    void aHostThatHasNoRecordOfTheStageIsAskedAgain() throws Exception {
        attempt.wanted = false;
        attempt.held = AgentStage.Held.UNKNOWN;
        assertEquals(NOT, attempt.run());
        long pause = 30_000;
        for (long waited = 0; waited + pause < StrangeHost.graceMillis(); waited += pause) {
            attempt.nowMillis += pause;
            attempt.later.remove(0).run();
            assertEquals(StageState.SUSPENDING, attempt.state());
        }
        attempt.nowMillis += pause;
        attempt.later.remove(0).run();
        assertEquals(StageState.RUNNING, attempt.state());
        assertThat(attempt.log, hasItem(SuspensionWords.notRestored("agent", "Nothing of them is left there.")));
    }

    /** A restore whose answer was lost has given it other processes. */
    @Test
    void aStageThatTurnsOutToRunIsEnteredByWhatTheAgentSays() throws Exception {
        noImageFits();
        attempt.onStore = SuspensionStepsTest::fail;
        EnterCommand enter =
                new EnterCommand.Direct(attempt.stage().id(), 78, "", "/usr/bin/nsenter", "/usr/bin/setsid");
        attempt.found = new AgentStage.Restore(null, "ALREADY_RUNNING", enter, 0, 0, 0, List.of());
        assertEquals(NOT, attempt.run());
        runsAfterThaw(LiveStage.REFUSED_RETRY_MILLIS);
        assertEquals(enter.facts(), attempt.stage().enterCommand().facts());
    }

    /** Found at the commit: the stage keeps its executor, so it can run. */
    @Test
    void anImageThatCannotServeLetsTheStageRun() throws Exception {
        noImageFits();
        attempt.notKilled = new AgentStage.NotKilled("A file of it was changed.", Tree.FROZEN);
        assertEquals(NOT, attempt.run());
        assertEquals(StageState.RUNNING, attempt.state());
        assertThat(attempt.effects, hasItem("SUSPENDED thaw"));
        assertEquals("SUSPENDED discard", attempt.effects.get(attempt.effects.size() - 1));
        assertFalse(attempt.effects.contains("SUSPENDED release"));
    }

    @Test
    void anImageThatWentWithAGivenUpSuspensionIsNoFailure() throws Exception {
        noImageFits();
        attempt.onStore = () -> {
            attempt.wanted = false;
            fail();
        };
        assertEquals(NOT, attempt.run());
        runsAfterThaw(0);
        assertThat(attempt.log, hasItem("Suspension cancelled; the stage keeps running."));
    }

    @Test
    void anImageOfAStageThatIsAbortedMeanwhileIsRemoved() throws Exception {
        noImageFits();
        attempt.onStore = attempt.live::markAborting;
        assertEquals(NOT, attempt.run());
        runsAfterThaw(SuspensionSteps.BUSY_RETRY_MILLIS);
        assertThat(attempt.effects, hasItem("SUSPENDING discard"));
    }

    @Test
    void anImageThatNobodyWaitsForIsRemoved() throws Exception {
        noImageFits();
        attempt.onStore = () -> attempt.wanted = false;
        assertEquals(NOT, attempt.run());
        runsAfterThaw(0);
        assertThat(attempt.effects, hasItem("SUSPENDING discard"));
    }

    @Test
    void nothingIsKilledBeforeItIsSavedThatThereIsAnImage() throws Exception {
        noImageFits();
        attempt.stages.room = 1;
        assertEquals(NOT, attempt.run());
        runsAfterThaw(SuspensionSteps.passingRetryMillis());
        assertFalse(attempt.effects.toString().contains("kill"));
    }

    // The image is safe, and the rest fails

    @Test
    void processesThatAreNotKilledStayFrozenAndTheExecutorGoes() throws Exception {
        noImageFits();
        attempt.onCommit = SuspensionStepsTest::fail;
        assertEquals(OptionalLong.of(7), attempt.run());
        assertEquals(StageState.SUSPENDED, attempt.state());
        assertThat(attempt.effects, hasItem("SUSPENDED release"));
        assertEquals("SUSPENDED find out", attempt.effects.get(attempt.effects.size() - 1), "their memory is needed");
    }

    @Test
    void aTreeThatIsBusyIsAskedForAgain() throws Exception {
        noImageFits();
        attempt.notKilled = new AgentStage.NotKilled("It is at work.", Tree.BUSY);
        assertEquals(OptionalLong.of(7), attempt.run());
        assertThat(attempt.effects, hasItem("SUSPENDED find out"));
    }

    @Test
    void aTreeThatIsKilledIsNotAskedForAgain() throws Exception {
        noImageFits();
        assertEquals(OptionalLong.of(7), attempt.run());
        assertThat(attempt.effects, not(hasItem("SUSPENDED find out")));
    }

    @Test
    void aProcessThatEnteredAtTheLastMomentKeepsTheStageRunning() throws Exception {
        noImageFits();
        attempt.notKilled = new AgentStage.NotKilled("A process entered.", Tree.RUNS);
        assertEquals(NOT, attempt.run());
        assertEquals(StageState.RUNNING, attempt.state());
        assertEquals(0, attempt.stage().suspensions());
        assertNull(attempt.stage().imageKey());
        assertEquals(SuspensionSteps.BUSY_RETRY_MILLIS, attempt.sparedMillis());
        assertEquals("SUSPENDED discard", attempt.effects.get(attempt.effects.size() - 1));
        assertFalse(attempt.effects.contains("SUSPENDED release"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anExecutorThatJenkinsKeepsIsUsedToResumeAtOnce(boolean imageFirst) throws Exception {
        if (imageFirst) {
            noImageFits();
        }
        attempt.onRelease = SuspensionStepsTest::fail;
        assertEquals(NOT, attempt.run());
        assertEquals("SUSPENDED resume", attempt.effects.get(attempt.effects.size() - 1));
        assertFalse(attempt.effects.toString().contains("image after"), attempt.effects.toString());
    }
}
