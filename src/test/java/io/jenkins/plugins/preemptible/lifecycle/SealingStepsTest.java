package io.jenkins.plugins.preemptible.lifecycle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.AgentStage.NotKilled.Tree;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.image.ArchiveRoom;
import io.jenkins.plugins.preemptible.lifecycle.stage.LuggageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StrangeHost;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The image of a frozen stage, see docs/design.md, "The image comes later". Without Jenkins. */
class SealingStepsTest {

    private static final long DONE = 0;

    private AttemptedSealing attempt = new AttemptedSealing(false);

    @AfterEach
    void forget() {
        attempt.close();
    }

    private void afterARestart(AgentStage.Held held) {
        attempt.close();
        attempt = new AttemptedSealing(true);
        attempt.held = held;
    }

    private static AgentStage.Dump refused(FailureReason reason) {
        return AttemptedSealing.dump(new AgentStage.Refusal("The engine refuses.", reason.name(), true, List.of()));
    }

    private static void fail() throws IOException {
        throw new IOException("the connection was lost");
    }

    private void staysFrozen() {
        assertEquals(StageState.SUSPENDED, attempt.stage().state());
        assertTrue(attempt.stage().frozen());
        assertFalse(attempt.effects.toString().contains("kill"), attempt.effects.toString());
    }

    @Test
    void nothingIsKilledBeforeTheImageIsStoredAndThatIsSaved() throws Exception {
        assertEquals(DONE, attempt.attempt());
        assertEquals(
                List.of(
                        "FROZEN dump with a key",
                        "FROZEN store",
                        "IMAGE kill",
                        "IMAGE measured",
                        "IMAGE show",
                        "IMAGE told sealed"),
                attempt.effects);
        assertEquals(
                "preemptible/sealed-0123abcd/suspended-stage.preempt",
                attempt.stage().imagePath());
        assertEquals(DONE, attempt.attempt(), "and that was all");
        assertEquals(List.of(), attempt.effects);
    }

    @Test
    void theWorkspaceIsPackedWhileTheImageIsStored() throws Exception {
        attempt.luggage = AttemptedSealing.luggage("A");
        assertEquals(DONE, attempt.attempt());
        assertEquals(List.of("dump", "begun", "image", "stored", "over"), attempt.packing);
        assertEquals(attempt.luggage.host(), attempt.stage().luggage().host());
    }

    @Test
    void whereSomebodyWaitsTheWorkspaceIsPackedWhileTheImageIsMade() throws Exception {
        attempt.awaited = true;
        attempt.luggage = AttemptedSealing.luggage("A");
        assertEquals(DONE, attempt.attempt());
        assertEquals(List.of("begun", "dump", "image", "stored", "over"), attempt.packing);
        assertEquals(attempt.luggage.host(), attempt.stage().luggage().host());
    }

    @Test
    void thePackingEndsWithADumpThatIsRefused() throws Exception {
        attempt.awaited = true;
        attempt.dumped = refused(FailureReason.CRIU_FAILED);
        attempt.attempt();
        assertEquals(List.of("begun", "dump", "over"), attempt.packing);
    }

    /** It is whole among the artifacts, and its agent may be gone for good. */
    @Test
    void anImageWhoseWorkspaceCannotBeStoredIsKept() throws Exception {
        attempt.onLuggage = SealingStepsTest::fail;
        attempt.onCommit = SealingStepsTest::fail;
        assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
        assertEquals(List.of("dump", "begun", "image", "begun", "over", "over"), attempt.packing);
        assertEquals(List.of("FROZEN dump with a key", "FROZEN store", "IMAGE kill"), attempt.effects);
        assertNull(attempt.stage().luggage());
        assertTrue(attempt.log.get(0).startsWith("Its workspace could not be stored: "), attempt.log::toString);
    }

    @Test
    void theWorkspaceIsPackedOnceMoreWhereThatFails() throws Exception {
        attempt.luggage = AttemptedSealing.luggage("A");
        attempt.onLuggage = () -> {
            attempt.onLuggage = () -> {};
            SealingStepsTest.fail();
        };
        assertEquals(DONE, attempt.attempt());
        assertEquals(attempt.luggage.host(), attempt.stage().luggage().host());
    }

    @Test
    void nobodyPacksTheWorkspaceAnyMoreWhenTheImageIsNotStored() throws Exception {
        attempt.onStore = SealingStepsTest::fail;
        attempt.attempt();
        assertEquals(List.of("dump", "begun", "image", "over"), attempt.packing);
    }

    @Test
    void aStageThatGoesOnBeforeNeedsNoImage() throws Exception {
        attempt.goesOn();
        assertEquals(DONE, attempt.attempt());
        assertEquals(List.of(), attempt.effects);
    }

    @Test
    void anImageOfAStageThatWentOnMeanwhileIsRemoved() throws Exception {
        attempt.onStore = attempt::goesOn;
        assertEquals(DONE, attempt.attempt());
        assertEquals(List.of("FROZEN dump with a key", "FROZEN store", "RUNNING discard"), attempt.effects);
        assertEquals(StageState.RUNNING, attempt.stage().state());
    }

    @Test
    void anImageOfAStageThatIsAbortedMeanwhileIsRemoved() throws Exception {
        attempt.onStore = attempt.live::markAborting;
        assertEquals(DONE, attempt.attempt());
        assertEquals("FROZEN discard", attempt.effects.get(attempt.effects.size() - 1));
    }

    @Test
    void aDumpThatWasGivenUpSinceTheStageGoesOnIsNoFailure() throws Exception {
        attempt.dumped = refused(FailureReason.CRIU_FAILED);
        attempt.onDump = attempt::goesOn;
        assertEquals(DONE, attempt.attempt());
        assertEquals(List.of(), attempt.log);
        assertFalse(attempt.live.takeSealingFailed());
    }

    @Test
    void aRefusedDumpIsTriedOnceMore() throws Exception {
        attempt.dumped = refused(FailureReason.CRIU_FAILED);
        assertEquals(SealingSteps.retryMillis(), attempt.attempt());
        staysFrozen();
        assertFalse(attempt.stage().unsealed());
        assertEquals(DONE, attempt.attempt());
        staysFrozen();
        assertTrue(attempt.stage().unsealed(), "no image is made");
        assertTrue(attempt.live.takeSealingFailed());
    }

    @Test
    void anImageThatIsNotStoredIsRemovedAndTriedOnceMore() throws Exception {
        attempt.onStore = SealingStepsTest::fail;
        assertEquals(SealingSteps.retryMillis(), attempt.attempt());
        assertEquals(
                List.of("FROZEN dump with a key", "FROZEN store", "FROZEN discard", "FROZEN told refused"),
                attempt.effects);
        attempt.onStore = () -> {};
        assertEquals(DONE, attempt.attempt());
        assertEquals("FROZEN store", attempt.effects.get(0), "it is not dumped again");
        assertFalse(attempt.stage().frozen());
    }

    @Test
    void anImageThatIsTooLargeIsAFailure() throws Exception {
        attempt.tooLarge = "Its image is too large.";
        assertEquals(SealingSteps.retryMillis(), attempt.attempt());
        staysFrozen();
        assertEquals(DONE, attempt.attempt());
        assertTrue(attempt.stage().unsealed());
    }

    @Test
    void aFullDiskIsWaitedForAndToldOnce() throws Exception {
        attempt.shortage = new ArchiveRoom.Shortage(1, 2);
        for (int look = 0; look < 5; look++) {
            assertEquals(SealingSteps.retryMillis(), attempt.attempt());
            staysFrozen();
        }
        assertEquals(1, attempt.log.size());
        assertFalse(attempt.stage().unsealed());
        attempt.shortage = null;
        assertEquals(DONE, attempt.attempt());
        assertFalse(attempt.stage().frozen());
    }

    @Test
    void anAgentThatMakesNoImagesAnyMoreKeepsTheStageInMemory() throws Exception {
        attempt.dumped = refused(FailureReason.MEMORY_ONLY);
        assertEquals(DONE, attempt.attempt());
        staysFrozen();
        assertTrue(attempt.stage().memoryOnly() && !attempt.stage().notRestorable());
        assertNull(attempt.stage().imageKey());
    }

    @Test
    void anImageThatFailedItsTrialIsNotStored() throws Exception {
        attempt.dumped = refused(FailureReason.NOT_RESTORABLE);
        assertEquals(DONE, attempt.attempt());
        staysFrozen();
        assertTrue(attempt.stage().memoryOnly() && attempt.stage().notRestorable());
        assertFalse(attempt.effects.contains("FROZEN store"));
    }

    @Test
    void afterAnOutageItIsFoundOutFirstWhatThereIsOfTheStage() throws Exception {
        attempt.isThere = false;
        attempt.onDump = SealingStepsTest::fail;
        for (int look = 0; look < 5; look++) {
            assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
        }
        assertEquals(List.of(), attempt.log, "that shows elsewhere");
        attempt.onDump = () -> {};
        assertEquals(DONE, attempt.attempt());
        assertEquals(
                List.of("FROZEN hold", "FROZEN dump with a new key", "FROZEN store", "IMAGE kill"),
                attempt.effects.subList(0, 4));
    }

    @Test
    void anAgentThatIsThereAndDoesNotAnswerIsToldOnce() throws Exception {
        attempt.onAgent = SealingStepsTest::fail;
        for (int look = 0; look < 5; look++) {
            assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
        }
        assertEquals(1, attempt.log.size());
        staysFrozen();
    }

    @ParameterizedTest
    @EnumSource(AgentStage.Held.class)
    void afterARestartTheAgentSaysWhatThereIs(AgentStage.Held held) throws Exception {
        afterARestart(held);
        long again = attempt.attempt();
        assertEquals("FROZEN hold", attempt.effects.get(0));
        boolean waits = held == AgentStage.Held.BUSY || held == AgentStage.Held.UNKNOWN;
        assertEquals(waits ? SealingSteps.LOOK_MILLIS : DONE, again);
        assertEquals(held == AgentStage.Held.GONE, attempt.effects.contains("FROZEN lost"));
        if (held == AgentStage.Held.FROZEN) {
            assertFalse(attempt.stage().frozen(), "it is sealed now");
            assertNotNull(attempt.stage().imagePath());
        }
    }

    /** What is frozen may be on the right host, which comes back when someone notices. */
    @Test
    void aHostThatHasNeverSeenTheStageIsBelievedAfterAWhileOnly() throws Exception {
        afterARestart(AgentStage.Held.UNKNOWN);
        long looks = StrangeHost.graceMillis() / SealingSteps.LOOK_MILLIS;
        for (int look = 0; look < looks; look++) {
            assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
            assertEquals(List.of("FROZEN hold"), attempt.effects);
            attempt.nanos += TimeUnit.MILLISECONDS.toNanos(SealingSteps.LOOK_MILLIS);
        }
        assertEquals(1, attempt.log.size(), attempt.log::toString);
        assertTrue(attempt.log.get(0).contains("has no record of this stage: another host"), attempt.log::toString);
        assertEquals(DONE, attempt.attempt());
        assertTrue(attempt.effects.contains("FROZEN lost"));
    }

    /** The time of an earlier suspension, or before the agent was away, does not count. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void eachSuspensionHasItsOwnWait(boolean away) throws Exception {
        afterARestart(AgentStage.Held.UNKNOWN);
        attempt.attempt();
        attempt.nanos += TimeUnit.MINUTES.toNanos(away ? 60 : 1);
        if (!away) {
            attempt.goesOn();
            attempt.suspendAgain();
        }
        attempt.effects.clear();
        assertEquals(SealingSteps.LOOK_MILLIS, attempt.later().attempt());
        assertFalse(attempt.effects.contains("FROZEN lost"));
    }

    /** It was asked to resume the stage, and the answer was lost: it may run on the right host. */
    @Test
    void aSealedStageThatMayRunIsNotGivenAwayByAnotherHost() throws Exception {
        attempt.luggage = AttemptedSealing.luggage("token");
        assertEquals(DONE, attempt.attempt());
        attempt.stages.update(attempt.stage().id(), LuggageChanges.treeEnded(false));
        AttemptedSealing before = attempt;
        before.held = AgentStage.Held.UNKNOWN;
        SealingSteps later = before.later();
        for (int look = 0; look < 3; look++) {
            assertEquals(SealingSteps.LOOK_MILLIS, later.attempt());
            assertFalse(before.stage().luggage().treeEnded());
            before.nanos += TimeUnit.MILLISECONDS.toNanos(StrangeHost.graceMillis());
        }
        before.held = AgentStage.Held.IMAGE;
        assertEquals(DONE, later.attempt());
        assertTrue(before.stage().luggage().treeEnded());
    }

    /** In between the right one was there: another outage is another wait. */
    @Test
    void theRightHostEndsTheWait() throws Exception {
        afterARestart(AgentStage.Held.UNKNOWN);
        attempt.attempt();
        attempt.nanos += TimeUnit.MILLISECONDS.toNanos(StrangeHost.graceMillis());
        attempt.held = AgentStage.Held.BUSY;
        attempt.attempt();
        attempt.held = AgentStage.Held.UNKNOWN;
        assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
        assertFalse(attempt.effects.contains("FROZEN lost"));
    }

    /** The agent was away for a moment: on one that a cloud takes away the stage would be lost for it. */
    @Test
    void aWorkspaceThatWasMissedIsStoredWhenTheAgentIsBack() throws Exception {
        attempt.luggage = AttemptedSealing.luggage("token");
        attempt.onLuggage = SealingStepsTest::fail;
        attempt.onCommit = SealingStepsTest::fail;
        assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
        assertNull(attempt.stage().luggage());
        attempt.onLuggage = () -> {};
        attempt.onCommit = () -> {};
        attempt.held = AgentStage.Held.IMAGE;
        assertEquals(DONE, attempt.attempt());
        assertTrue(attempt.stage().luggage().treeEnded());
        assertEquals("dropped", attempt.packing.get(attempt.packing.size() - 1));
        assertTrue(
                attempt.log.get(attempt.log.size() - 1).startsWith("Its workspace is stored now, "),
                attempt.log::toString);
    }

    /** With the agent there the processes are ended meanwhile, and there is time for another try. */
    @Test
    void aWorkspaceIsTriedOnceMoreAfterTheEndOfTheProcesses() throws Exception {
        attempt.luggage = AttemptedSealing.luggage("token");
        int[] failures = {0};
        attempt.onLuggage = () -> {
            if (failures[0]++ < 2) {
                fail();
            }
        };
        assertEquals(DONE, attempt.attempt());
        assertTrue(attempt.stage().luggage().treeEnded());
    }

    /** As {@code Sealing.takeUp} does it. */
    @Test
    void aWorkspaceThatWasMissedIsStoredAfterARestartOfTheController() throws Exception {
        missed();
        attempt.onLuggage = () -> {};
        attempt.held = AgentStage.Held.IMAGE;
        assertEquals(DONE, attempt.later().attempt());
        assertTrue(attempt.stage().luggage().treeEnded());
        attempt.packing.clear();
        assertEquals(DONE, attempt.later().attempt());
        assertEquals(List.of(), attempt.packing, "once");
    }

    /** The connection is lost once more in the midst of it. */
    @Test
    void aLateStoreThatFailsIsTriedAgainAtGrowingIntervals() throws Exception {
        missed();
        attempt.held = AgentStage.Held.IMAGE;
        assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
        assertEquals(2 * SealingSteps.LOOK_MILLIS, attempt.attempt());
        assertNotNull(attempt.steps.wanted(), "it is not over");
        attempt.onLuggage = () -> {};
        assertEquals(DONE, attempt.attempt());
        assertTrue(attempt.stage().luggage().treeEnded());
        assertNull(attempt.steps.wanted());
    }

    /** No workspace was missed: it is too large, for instance. */
    @Test
    void aWorkspaceThatIsNotToBeStoredIsNotTriedAfterARestart() throws Exception {
        assertEquals(DONE, attempt.attempt());
        attempt.held = AgentStage.Held.IMAGE;
        attempt.packing.clear();
        assertEquals(DONE, attempt.later().attempt());
        assertEquals(List.of(), attempt.packing);
    }

    /** An image is stored, its workspace is not, and whether the processes are ended is not known. */
    private void missed() throws InterruptedException {
        attempt.luggage = AttemptedSealing.luggage("token");
        attempt.onLuggage = SealingStepsTest::fail;
        attempt.onCommit = SealingStepsTest::fail;
        assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
        assertNull(attempt.stage().luggage());
        attempt.onCommit = () -> {};
    }

    /** The kill was not answered, and another host connects by the agent's name. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anotherHostDoesNotKnowWhetherTheProcessesAreGone(boolean withWorkspace) throws Exception {
        attempt.luggage = withWorkspace ? AttemptedSealing.luggage("token") : null;
        attempt.onCommit = SealingStepsTest::fail;
        assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
        attempt.onCommit = () -> {};
        attempt.held = AgentStage.Held.UNKNOWN;
        assertEquals(withWorkspace ? SealingSteps.LOOK_MILLIS : DONE, attempt.attempt());
        String told = attempt.log.get(attempt.log.size() - 1);
        assertTrue(told.contains("The agent has not said whether the frozen processes are gone"), told);
        assertFalse(told.contains("without this agent"), told);
        if (withWorkspace) {
            assertFalse(attempt.stage().luggage().treeEnded());
            assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
            assertFalse(attempt.stage().luggage().treeEnded());
            attempt.held = AgentStage.Held.IMAGE;
            assertEquals(DONE, attempt.attempt());
            assertTrue(attempt.stage().luggage().treeEnded());
        }
    }

    /** What was missed was of an image that is given up. */
    @Test
    void aWorkspaceThatIsStoredIsNotReplacedByALaterOne() throws Exception {
        SealedLuggage first = AttemptedSealing.luggage("first");
        attempt.luggage = first;
        attempt.onLuggage = SealingStepsTest::fail;
        attempt.onCommit = SealingStepsTest::fail;
        assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
        attempt.onLuggage = () -> {};
        // The agent is back, its tree has to be sealed anew, and the next answer is lost as well.
        int[] commits = {0};
        attempt.onCommit = () -> {
            if (++commits[0] == 2) {
                fail();
            }
        };
        assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
        assertEquals(2, commits[0]);
        attempt.held = AgentStage.Held.IMAGE;
        attempt.packing.clear();
        assertEquals(DONE, attempt.attempt());
        assertEquals(List.of(), attempt.packing);
        assertTrue(attempt.stage().luggage().isSame(first));
    }

    /** It may have another workspace of that path, or none. */
    @ParameterizedTest
    @EnumSource(
            value = AgentStage.Held.class,
            names = {"GONE", "UNKNOWN"})
    void aHostThatHasNothingOfTheStageIsNotAskedForItsWorkspace(AgentStage.Held held) throws Exception {
        attempt.luggage = AttemptedSealing.luggage("token");
        attempt.onLuggage = SealingStepsTest::fail;
        attempt.onCommit = SealingStepsTest::fail;
        assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
        attempt.onLuggage = () -> {};
        attempt.onCommit = () -> {};
        attempt.held = held;
        attempt.packing.clear();
        assertEquals(DONE, attempt.attempt());
        assertEquals(List.of(), attempt.packing);
        assertNull(attempt.stage().luggage());
        assertTrue(attempt.effects.contains("IMAGE show"), "what is stored is told");
    }

    /** Its answer was lost: it may run, and its workspace is not its image's any more. */
    @Test
    void aStageThatMayRunMeanwhileIsNotMarkedAsEnded() throws Exception {
        attempt.luggage = AttemptedSealing.luggage("token");
        int[] calls = {0};
        attempt.onLuggage = () -> {
            if (++calls[0] <= 2) {
                fail();
            }
            attempt.stages.update(attempt.stage().id(), StageChanges.resuming());
            attempt.stages.update(attempt.stage().id(), StageChanges.postponed(5_000_000));
        };
        assertEquals(DONE, attempt.attempt());
        assertEquals(StageState.SUSPENDED, attempt.stage().state());
        assertNull(attempt.stage().luggage());
        assertEquals("removed", attempt.packing.get(attempt.packing.size() - 1));
        assertTrue(attempt.effects.contains("IMAGE told sealed"), attempt.effects::toString);
    }

    /** Resumed in between, it has changed its workspace. */
    @Test
    void aWorkspaceOfAStageThatIsResumedIsNotItsImages() throws Exception {
        attempt.luggage = AttemptedSealing.luggage("token");
        attempt.onLuggage = SealingStepsTest::fail;
        attempt.onCommit = SealingStepsTest::fail;
        attempt.attempt();
        attempt.onLuggage = () -> attempt.stages.update(attempt.stage().id(), StageChanges.resuming());
        attempt.onCommit = () -> {};
        attempt.held = AgentStage.Held.IMAGE;
        attempt.attempt();
        assertNull(attempt.stage().luggage());
        assertEquals("removed", attempt.packing.get(attempt.packing.size() - 1));
        assertFalse(attempt.effects.contains("RESUMING show"));
    }

    /** Killed after they were dumped, for want of memory or with their host: nobody else has the image yet. */
    @Test
    void anImageThatTheAgentHasAlreadyIsStored() throws Exception {
        afterARestart(AgentStage.Held.IMAGE);
        attempt.dumped = new AgentStage.Dump(null, 0, 0, 0, 1_000_000, 0);
        assertEquals(DONE, attempt.attempt());
        assertEquals(
                List.of("FROZEN hold", "FROZEN dump with a key", "FROZEN store", "IMAGE kill", "IMAGE show"),
                attempt.effects.subList(0, 5));
        assertTrue(attempt.log.get(0).startsWith("Image stored "), attempt.log::toString);
    }

    @Test
    void aDumpWithoutItsImageIsAFailureAndIsTold() throws Exception {
        afterARestart(AgentStage.Held.IMAGE);
        attempt.dumped = refused(FailureReason.STAGE_SUSPENDED);
        assertEquals(SealingSteps.retryMillis(), attempt.attempt());
        assertTrue(
                attempt.log.get(0).contains("no sealed image of them is on it. What CRIU wrote may still"),
                attempt.log::toString);
        assertEquals(DONE, attempt.attempt());
        assertTrue(attempt.stage().unsealed());
    }

    /** A file that it needs was changed since, for instance; one that grows all along would have it made for ever. */
    @Test
    void anImageThatCannotServeAnyMoreIsMadeOnceMore() throws Exception {
        attempt.notKilled = new AgentStage.NotKilled("A file of it was changed.", Tree.FROZEN);
        assertEquals(SealingSteps.retryMillis(), attempt.attempt());
        assertTrue(attempt.stage().frozen());
        assertEquals(
                List.of("FROZEN dump with a key", "FROZEN store", "IMAGE kill", "IMAGE discard", "FROZEN told refused"),
                attempt.effects);
        assertTrue(
                attempt.log
                        .get(0)
                        .startsWith("The image that was sealed cannot serve. A file of it was changed. The stage"),
                attempt.log::toString);
        assertEquals(DONE, attempt.attempt());
        assertEquals(List.of("FROZEN hold", "FROZEN dump with a new key"), attempt.effects.subList(0, 2));
        assertTrue(attempt.stage().frozen());
        assertTrue(attempt.stage().unsealed());
    }

    /** A restore whose connection was lost is still at it: that is no failure of anything. */
    @Test
    void aStageThatIsAtWorkIsLeftAndNothingIsSaid() throws Exception {
        attempt.onCommit = SealingStepsTest::fail;
        assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
        attempt.onCommit = () -> {};
        attempt.notKilled = new AgentStage.NotKilled("It is being resumed.", Tree.BUSY);
        for (int i = 0; i < 5; i++) {
            assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
            assertEquals(List.of("IMAGE kill"), attempt.effects);
        }
        assertEquals(List.of(), attempt.log);
    }

    @Test
    void whileItIsNotKnownWhetherProcessesAreKilledTheImageIsKept() throws Exception {
        attempt.onCommit = SealingStepsTest::fail;
        for (int i = 0; i < 3; i++) {
            assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
            assertFalse(attempt.stage().frozen());
            assertEquals("a key", attempt.stage().imageKey().getPlainText());
        }
        assertEquals(List.of("IMAGE kill"), attempt.effects);
    }

    @Test
    void processesThatWereNotKilledYetAreKilledAtTheNextLook() throws Exception {
        attempt.onCommit = SealingStepsTest::fail;
        assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
        assertFalse(attempt.stage().frozen(), "the image is safe");
        attempt.onCommit = () -> {};
        attempt.held = AgentStage.Held.IMAGE;
        assertEquals(DONE, attempt.attempt());
        assertEquals(
                List.of("IMAGE kill", "IMAGE hold", "IMAGE measured", "IMAGE show", "IMAGE told sealed"),
                attempt.effects);
        assertFalse(attempt.stage().frozen());
    }

    @Test
    void aStageThatRunsAlthoughItIsSuspendedIsFrozenAndSealedAnew() throws Exception {
        attempt.notKilled = new AgentStage.NotKilled("A process entered.", Tree.RUNS);
        assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
        attempt.notKilled = null;
        assertEquals(DONE, attempt.attempt());
        assertEquals(
                List.of("IMAGE kill", "IMAGE hold", "FROZEN dump with a new key", "FROZEN store", "IMAGE kill"),
                attempt.effects.subList(0, 5));
    }

    /** Only then another agent may have the stage. */
    @Test
    void whatIsStoredIsEnoughWhenTheAgentSaysThatNoProcessIsLeft() throws Exception {
        attempt.luggage = AttemptedSealing.luggage("token");
        attempt.onCommit = SealingStepsTest::fail;
        assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
        assertFalse(attempt.stage().luggage().treeEnded(), "the answer was lost");
        attempt.onCommit = () -> {};
        attempt.held = AgentStage.Held.IMAGE;
        assertEquals(DONE, attempt.attempt());
        assertTrue(attempt.stage().luggage().treeEnded());
        assertEquals("token", attempt.stage().luggage().host().token());
    }

    @Test
    void whatIsStoredIsNothingWhenTheStageIsFrozenAgain() throws Exception {
        attempt.luggage = AttemptedSealing.luggage("token");
        attempt.onCommit = SealingStepsTest::fail;
        attempt.attempt();
        attempt.onAgent = () -> attempt.luggage = null;
        attempt.onCommit = () -> {};
        attempt.notKilled = new AgentStage.NotKilled("Another image has its name.", Tree.FROZEN);
        attempt.held = AgentStage.Held.FROZEN;
        attempt.attempt();
        assertNull(attempt.stage().luggage());
    }

    /** Its steps are not known at that moment, for instance. */
    @Test
    void whetherItCanGoBackToItsCheckpointIsAskedAgain() throws Exception {
        afterARestart(AgentStage.Held.GONE);
        attempt.onLost = SealingStepsTest::fail;
        assertEquals(SealingSteps.LOOK_MILLIS, attempt.attempt());
        attempt.onLost = attempt::rolledBack;
        assertEquals(DONE, attempt.attempt());
        assertTrue(attempt.stage().rolledBack());
        assertEquals(DONE, attempt.attempt());
        assertEquals(List.of(), attempt.effects);
    }

    @Test
    void anImageOfAStageThatWentBackToItsCheckpointMeanwhileIsRemoved() throws Exception {
        attempt.onStore = attempt::rolledBack;
        assertEquals(DONE, attempt.attempt());
        assertEquals(List.of("FROZEN dump with a key", "FROZEN store", "IMAGE discard"), attempt.effects);
        assertTrue(attempt.stage().rolledBack());
    }

    /** What is frozen there would be killed by a commit, and nothing of it is sealed. */
    @Test
    void anAgentThatIsBackInTimeKeepsTheStageThatWentBackToItsCheckpoint() throws Exception {
        afterARestart(AgentStage.Held.FROZEN);
        attempt.rolledBack();
        assertEquals(DONE, attempt.attempt());
        assertEquals(
                List.of("IMAGE hold", "FROZEN kept", "FROZEN dump with a new key", "FROZEN store", "IMAGE kill"),
                attempt.effects.subList(0, 5));
        assertFalse(attempt.stage().rolledBack());
    }

    /** It would stand still until an executor happens to be free. */
    @Test
    void aKeptStageThatCannotBeDumpedHasItsLongestTimeAndNoImage() throws Exception {
        afterARestart(AgentStage.Held.FROZEN);
        attempt.rolledBack();
        attempt.thawByMillis = 3_000_000;
        assertEquals(DONE, attempt.attempt());
        assertEquals(List.of("IMAGE hold", "FROZEN kept"), attempt.effects);
        assertEquals(3_000_000, attempt.stage().thawByMillis());
        assertNull(attempt.stage().imageKey());
        assertFalse(attempt.stage().rolledBack());
    }

    @ParameterizedTest
    @EnumSource(
            value = AgentStage.Held.class,
            names = {"GONE", "IMAGE"})
    void anAgentThatIsBackWithoutItsProcessesDoesNot(AgentStage.Held held) throws Exception {
        afterARestart(held);
        attempt.rolledBack();
        assertEquals(DONE, attempt.attempt());
        assertEquals(List.of("IMAGE hold"), attempt.effects);
        assertTrue(attempt.stage().rolledBack());
    }

    /** It may run there already, and must not run twice. */
    @Test
    void norDoesOneWhoseStageIsBeingRestoredElsewhere() throws Exception {
        afterARestart(AgentStage.Held.FROZEN);
        attempt.rolledBack();
        attempt.stages.update(attempt.stage().id(), StageChanges.restoringOn("another agent"));
        assertEquals(DONE, attempt.attempt());
        assertEquals(List.of(), attempt.effects);
        assertTrue(attempt.stage().rolledBack());
    }
}
