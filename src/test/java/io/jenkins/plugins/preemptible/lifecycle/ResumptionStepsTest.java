package io.jenkins.plugins.preemptible.lifecycle;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.hasItem;
import static org.hamcrest.Matchers.startsWith;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.Resumption.Outcome;
import io.jenkins.plugins.preemptible.lifecycle.image.ImageGoneException;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StrangeHost;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The rows of the state table in docs/design.md that begin at SUSPENDED or RESUMING, and their failures. Without Jenkins. */
class ResumptionStepsTest {

    private AttemptedResume attempt = new AttemptedResume(false);

    @AfterEach
    void forget() {
        attempt.close();
    }

    private void frozen() {
        attempt.close();
        attempt = new AttemptedResume(true);
    }

    private static AgentStage.Restore refused() {
        return AgentStage.Restore.refused(
                new AgentStage.Refusal("The engine refuses.", "CRIU_FAILED", true, List.of()));
    }

    private void runs() {
        assertEquals(StageState.RUNNING, attempt.state());
        assertNull(attempt.stage().imageKey());
        assertFalse(attempt.stage().frozen());
        assertEquals(attempt.nowMillis, attempt.stage().runningSinceMillis());
        assertEquals(100, attempt.stage().withoutExecutorMillis());
    }

    private void staysSuspended() {
        assertEquals(StageState.SUSPENDED, attempt.state());
        assertNotNull(attempt.stage().imageKey(), "nothing is lost");
    }

    // SUSPENDED, an executor arrived; RESUMING, it runs

    @Test
    void frozenProcessesAreThawed() throws Exception {
        frozen();
        attempt.here = AttemptedResume.restored("FROZEN");
        assertEquals(Outcome.RUNS, attempt.run());
        assertEquals(
                List.of(
                        "RESUMING agent",
                        "RESUMING resume here",
                        "RUNNING delete",
                        "RUNNING show",
                        "RUNNING told resumed"),
                attempt.effects);
        runs();
        assertThat(attempt.log, hasItem("Not as it was before the suspension: a clock differs."));
    }

    @Test
    void whatIsLeftOnTheAgentIsTakenBeforeTheArchive() throws Exception {
        attempt.here = AttemptedResume.restored("LOCAL_IMAGE");
        assertEquals(Outcome.RUNS, attempt.run());
        assertFalse(attempt.effects.contains("RESUMING fetch"));
        assertThat(attempt.effects, hasItem("RUNNING measured"));
        runs();
    }

    @Test
    void theSealedImageIsBroughtAndRestoredAndThenDropped() throws Exception {
        assertEquals(Outcome.RUNS, attempt.run());
        assertEquals(
                List.of(
                        "RESUMING agent",
                        "RESUMING resume here",
                        "RESUMING hold",
                        "RESUMING fetch",
                        "RESUMING restore with a key",
                        "RUNNING measured",
                        "RUNNING delete",
                        "RUNNING show",
                        "RUNNING told resumed"),
                attempt.effects);
        runs();
    }

    @Test
    void aStageWhoseImageFailedIsSparedAfterItsResume() throws Exception {
        attempt.live.sealingFailed();
        attempt.run();
        assertEquals(LiveStage.REFUSED_RETRY_MILLIS, attempt.live.retryAfterMillis() - attempt.nowMillis);
    }

    @Test
    void anImageThatStaysIsTold() throws Exception {
        attempt.imageIsDeleted = false;
        assertEquals(Outcome.RUNS, attempt.run());
        assertThat(attempt.log, hasItem(startsWith("The image stays among the artifacts")));
    }

    @Test
    void aFailureToTidyUpChangesNothing() throws Exception {
        attempt.onTidyUp = () -> {
            throw new IOException("the build is gone");
        };
        assertEquals(Outcome.RUNS, attempt.run());
        runs();
        assertThat(attempt.effects, hasItem("RUNNING told resumed"));
    }

    // Not begun

    @Test
    void aStageThatRunsHasThisExecutor() throws Exception {
        attempt.run();
        assertEquals(Outcome.RUNS, attempt.run());
        assertEquals(List.of(), attempt.effects);
    }

    @Test
    void aStageThatIsAbortedIsNotResumed() throws Exception {
        attempt.live.markAborting();
        assertEquals(Outcome.ENDED, attempt.run());
        assertEquals(List.of(), attempt.effects);
    }

    @Test
    void nothingIsAskedBeforeTheStateIsSaved() throws Exception {
        attempt.stages.room = 0;
        assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
        assertFalse(attempt.effects.contains("RESUMING agent"));
        staysSuspended();
        assertEquals(ResumptionSteps.outageMillis(), attempt.pauseMillis());
    }

    // The engine refuses

    @Test
    void aRefusedRestoreIsTriedThreeTimesAndThenWaitsForADecision() throws Exception {
        attempt.fromImage = refused();
        for (int failures = 1; failures < ResumptionSteps.MOST_FAILURES; failures++) {
            assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
            staysSuspended();
            assertEquals(failures * ResumptionSteps.retryMillis(), attempt.pauseMillis());
            assertNull(attempt.stage().whyNotResumed());
        }
        assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
        staysSuspended();
        assertEquals(Long.MAX_VALUE, attempt.pauseMillis());
        assertEquals("The engine refuses.", attempt.stage().whyNotResumed());
        assertFalse(attempt.effects.toString().contains("fail"), "people decide");

        attempt.stages.update(attempt.stage().id(), StageChanges.tryAgain());
        attempt.fromImage = AttemptedResume.restored("ARCHIVE");
        assertEquals(Outcome.RUNS, attempt.run());
        runs();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anImageThatIsGoneFailsTheStageInTheEnd(boolean hasBody) throws Exception {
        attempt.hasBody = hasBody;
        attempt.onFetch = () -> {
            throw new ImageGoneException("the image is no longer among the artifacts");
        };
        for (int failures = 1; failures < ResumptionSteps.MOST_FAILURES; failures++) {
            assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
        }
        assertEquals(hasBody ? Outcome.ENDED : Outcome.STAYS_SUSPENDED, attempt.run());
        assertEquals(hasBody, attempt.effects.contains("SUSPENDED fail"));
        assertNull(attempt.stage().whyNotResumed(), "there is nothing to decide about");
    }

    /** Where it could be resumed is no more: nobody can decide about anything. */
    @Test
    void aStageWhoseContainerIsGoneFailsAtOnceAndItsImageIsNotKept() throws Exception {
        attempt.fromImage = AgentStage.Restore.refused(new AgentStage.Refusal(
                "Its container has ended.", FailureReason.CONTAINER_GONE.name(), true, List.of()));
        assertEquals(Outcome.ENDED, attempt.run());
        assertThat(attempt.effects, hasItem("SUSPENDED fail"));
        assertNull(attempt.stage().imageKey());
        assertNull(attempt.stage().whyNotResumed());
    }

    @Test
    void aFrozenStageOfWhichNothingIsLeftIsLost() throws Exception {
        frozen();
        assertEquals(Outcome.ENDED, attempt.run());
        assertEquals(
                List.of(
                        "RESUMING agent",
                        "RESUMING resume here",
                        "RESUMING restore unstored with a key",
                        "SUSPENDED agent",
                        "SUSPENDED hold",
                        "SUSPENDED lost"),
                attempt.effects);
    }

    /** What is frozen, or sealed, may be on the right host, which is there again when someone notices. */
    @Test
    void aHostThatHasNoRecordOfAFrozenStageIsWaitedOut() throws Exception {
        frozen();
        attempt.held = AgentStage.Held.UNKNOWN;
        assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
        assertFalse(attempt.effects.contains("SUSPENDED lost"));
        assertTrue(attempt.stage().frozen());
        assertTrue(
                attempt.log.get(0).startsWith("Resume postponed: The agent 'agent' has no record of this stage: "),
                attempt.log::toString);
        long pause = TimeUnit.SECONDS.toMillis(50);
        for (long waited = 0; waited + pause < StrangeHost.graceMillis(); waited += pause) {
            attempt.nowMillis += pause;
            assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
        }
        attempt.nowMillis += pause;
        assertEquals(Outcome.ENDED, attempt.run());
        assertThat(attempt.effects, hasItem("SUSPENDED lost"));
    }

    /** Its workspace is not there, whatever has that path; and it may run on the right host, whose answer was lost. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aSealedStageIsNotRestoredOnAnotherHost(boolean luggage) throws Exception {
        if (luggage) {
            attempt.withLuggage();
        }
        attempt.held = AgentStage.Held.UNKNOWN;
        for (int i = 0; i < 5; i++) {
            assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
            assertFalse(attempt.effects.contains("RESUMING fetch"));
            attempt.nowMillis += StrangeHost.graceMillis();
        }
        assertNull(attempt.stage().whyNotResumed());
        assertTrue(
                attempt.log.get(0).startsWith("Resume postponed: The agent 'agent' has no record of this stage: ")
                        && attempt.log
                                .get(0)
                                .contains(
                                        luggage
                                                ? "once this one is removed from Jenkins"
                                                : "ends if its agent is removed"),
                attempt.log::toString);
        assertEquals(luggage, OutlivesAgent.isTreeEnded(attempt.stage()), "it ran nowhere");
        attempt.held = AgentStage.Held.IMAGE;
        assertEquals(Outcome.RUNS, attempt.run());
    }

    @Test
    void aWorkspaceThatABuildHasIsWaitedFor() throws Exception {
        attempt.onLease = () -> {
            throw new Restorer.PostponedException("The workspace is in use.");
        };
        assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
        assertEquals(ResumptionSteps.outageMillis(), attempt.pauseMillis());
        assertFalse(attempt.effects.contains("RESUMING agent"), "it is not asked");
    }

    /** Another call has left it so, whose answer was lost. */
    @ParameterizedTest
    @EnumSource(
            value = AgentStage.Held.class,
            names = {"FROZEN", "BUSY"})
    void processesThatTurnUpAreNotLost(AgentStage.Held held) throws Exception {
        frozen();
        attempt.held = held;
        assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
        assertFalse(attempt.effects.contains("SUSPENDED lost"));
        assertEquals(ResumptionSteps.outageMillis(), attempt.pauseMillis());
    }

    /** As after a boot of its host, which comes before the image was brought. */
    @Test
    void aFrozenStageWhoseAgentHasSealedItGoesOnFromThat() throws Exception {
        frozen();
        attempt.unstored = AttemptedResume.restored("ARCHIVE");
        assertEquals(Outcome.RUNS, attempt.run());
        assertFalse(attempt.effects.contains("SUSPENDED lost"));
    }

    /** It is all there is of the stage, and what is in its way may pass. */
    @Test
    void aDumpThatOnlyTheAgentHasIsTriedLikeAnyImage() throws Exception {
        frozen();
        attempt.here = AgentStage.Restore.refused(AgentStage.Refusal.of("A process id is taken."));
        for (int failure = 1; failure <= ResumptionSteps.MOST_FAILURES; failure++) {
            assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
            staysSuspended();
        }
        assertNotNull(attempt.stage().whyNotResumed());
        assertTrue(attempt.stage().frozen());
        assertFalse(attempt.effects.contains("SUSPENDED lost"));
    }

    /** Frozen processes are better than a checkpoint, whatever is in their way. */
    @ParameterizedTest
    @EnumSource(AgentStage.Held.class)
    void aDumpThatFailsForGoodGivesWayToACheckpoint(AgentStage.Held held) throws Exception {
        frozen();
        attempt.held = held;
        attempt.goesBack = true;
        attempt.here = AgentStage.Restore.refused(AgentStage.Refusal.of("A process id is taken."));
        for (int failure = 1; failure <= ResumptionSteps.MOST_FAILURES; failure++) {
            assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
        }
        boolean isGone = held == AgentStage.Held.IMAGE || held == AgentStage.Held.GONE;
        assertEquals(isGone, attempt.stage().rolledBack());
        assertEquals(isGone, attempt.stage().whyNotResumed() == null);
        String line = attempt.log.get(attempt.log.size() - 1);
        assertEquals(isGone, line.endsWith("This was tried 3 times."), line);
    }

    /** CRIU's own files are not forced to disk, and the sealed image is. */
    @Test
    void whatTheAgentHasSealedServesWhereItsFilesDoNot() throws Exception {
        frozen();
        attempt.here = AgentStage.Restore.refused(AgentStage.Refusal.of("A file is damaged."));
        attempt.unstored = AttemptedResume.restored("ARCHIVE");
        assertEquals(Outcome.RUNS, attempt.run());
        assertTrue(attempt.log.get(0).contains("from the sealed image that only its agent had"), attempt.log::toString);
    }

    /** Also on its own agent it is resumed from there in another way, with another executor. */
    @Test
    void aFrozenStageOfWhichACheckpointIsLeftStaysSuspended() throws Exception {
        frozen();
        attempt.onLost = () -> attempt.stages.rollBack(attempt.stage().id());
        attempt.goesBack = true;
        assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
        assertTrue(attempt.stage().rolledBack());
        assertThat(attempt.effects, hasItem("SUSPENDED lost"));
    }

    @Test
    void whetherACheckpointIsLeftIsAskedAgain() throws Exception {
        frozen();
        attempt.onLost = () -> {
            throw new IOException("the Pipeline does not say which steps it runs");
        };
        assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
        assertTrue(attempt.stage().frozen());
        assertEquals(ResumptionSteps.outageMillis(), attempt.pauseMillis());
    }

    // The agent or the archive does not answer

    @Test
    void anOutageIsWaitedForWithGrowingPausesAndCountsAsNoFailure() throws Exception {
        attempt.onAgent = () -> {
            throw new IOException("the agent is offline");
        };
        long pause = ResumptionSteps.outageMillis();
        for (int outage = 0; outage <= ResumptionSteps.MOST_DOUBLINGS + 2; outage++) {
            assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
            staysSuspended();
            assertEquals(pause, attempt.pauseMillis());
            assertEquals(List.of("RESUMING agent", "SUSPENDED find out"), attempt.effects);
            pause = outage < ResumptionSteps.MOST_DOUBLINGS ? 2 * pause : pause;
        }
        assertEquals(0, attempt.stage().restoreFailures());
        attempt.onAgent = () -> {};
        assertEquals(Outcome.RUNS, attempt.run());
        assertEquals(0, attempt.live.outage(), "the next outage begins with the shortest pause");
    }

    /** Not an outage of anything: a build has the workspace there. */
    @Test
    void whatIsPostponedSaysWhyInOneSentence() throws Exception {
        attempt.onAgent = () -> {
            throw new Restorer.PostponedException("The workspace is in use.");
        };
        assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
        staysSuspended();
        String line = attempt.log.get(0);
        assertTrue(
                line.startsWith("Resume postponed: The workspace is in use. The stage waits, nothing of it is lost;"),
                line);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aResumeThatIsStoppedIsFoundOutAbout(boolean inTheMidstOfIo) {
        attempt.onFetch = () -> {
            if (inTheMidstOfIo) {
                throw new IOException(new ClosedByInterruptException());
            }
            throw new InterruptedException();
        };
        assertThrows(InterruptedException.class, attempt::run);
        staysSuspended();
        assertTrue(attempt.effects.contains("SUSPENDED find out"));
    }

    @Test
    void aStageWhoseEndWasSavedMeanwhileHasEnded() throws Exception {
        attempt.stages.untilEnd = 0;
        assertEquals(Outcome.ENDED, attempt.run());
        assertEquals(List.of(), attempt.effects);
    }

    /** Until its own agent has answered, the stage may run there, and no other one may have it. */
    @Test
    void anAgentThatWasAskedMayRunItUntilItAnswers() throws Exception {
        attempt.withLuggage();
        assertTrue(attempt.stage().luggage().treeEnded());
        attempt.onAgent = () -> {
            throw new IOException("the agent is offline");
        };
        assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
        assertTrue(attempt.stage().luggage().treeEnded(), "it was not asked");
        attempt.onAgent = () -> {};
        attempt.onResumeHere = () -> {
            throw new IOException("the connection was lost");
        };
        assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
        assertFalse(attempt.stage().luggage().treeEnded());
        attempt.onResumeHere = () -> {};
        attempt.fromImage = AgentStage.Restore.refused(AgentStage.Refusal.of("It cannot."));
        assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
        assertTrue(attempt.stage().luggage().treeEnded(), "it has answered");
        attempt.fromImage = AttemptedResume.restored("ARCHIVE");
        assertEquals(Outcome.RUNS, attempt.run());
        assertNull(attempt.stage().luggage());
        assertEquals(List.of(), attempt.stage().leftHosts());
    }

    /** It is tried on another agent at once, so that nothing is waited for. */
    @ParameterizedTest
    @CsvSource({"OTHER_KERNEL, MOVE OTHER_KERNEL", "CRIU_FAILED, MOVE CRIU_FAILED", "'made up by an agent', MOVE OTHER"
    })
    void aMoveThatIsRefusedIsCountedByItsReason(String reason, String counted) throws Exception {
        attempt.notMoved = new Restorer.NotMovedException(reason, "Because.", null);
        assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
        assertEquals(List.of("Not moved. Because. The stage stays suspended."), attempt.log);
        assertEquals(List.of(counted), attempt.counted);
        assertEquals(StageState.SUSPENDED, attempt.state());
    }

    @Test
    void aMoveThatIsTakenBackIsNoRefusal() throws Exception {
        attempt.notMoved = new Restorer.NotMovedException(null, "Taken back.", null);
        assertEquals(Outcome.STAYS_SUSPENDED, attempt.run());
        assertEquals(List.of(), attempt.counted);
    }
}
