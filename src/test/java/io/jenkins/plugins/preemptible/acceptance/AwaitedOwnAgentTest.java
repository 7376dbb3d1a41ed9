package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.FreeStyleProject;
import hudson.model.Label;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.engine.policy.Action;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.move.MadeUpMoves;
import io.jenkins.plugins.preemptible.queue.LastDecision;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * A suspended stage waits for its own agent where the build there is known to end before a move was through.
 *
 * <p>Earlier builds and moves are made up. All take minutes: for a build of less than two the stage would stay in memory, and
 * could not move at all.
 */
@Tag("acceptance")
class AwaitedOwnAgentTest extends MovedStages {

    @RegisterExtension
    static final Periods PERIODS = new Periods().with("move.LeftAgent.delayMillis", 500);

    private static final long MOVE_MILLIS = 300_000;
    private static final long SHORT_MILLIS = 150_000;
    private static final long LONG_MILLIS = 3_600_000;

    @BeforeEach
    void movesAreSlow() {
        MadeUpMoves.take(MOVE_MILLIS);
    }

    @AfterEach
    void movesAreAsBefore() {
        MadeUpMoves.forget();
    }

    /** A job of which one build has taken that long; the next one takes the executor of A until it is told that it is enough. */
    private FreeStyleProject known(String name, long millis) throws Exception {
        FreeStyleProject job = rig.freestyle(name, 1, "[ $BUILD_NUMBER = 1 ] || { " + Rig.untilEnough() + "; }");
        job.setAssignedLabel(j.jenkins.getSelfLabel());
        took(j.buildAndAssertSuccess(job), millis);
        job.setAssignedLabel(Label.get("A"));
        return job;
    }

    private static void took(Run<?, ?> build, long millis) throws Exception {
        Field duration = Run.class.getDeclaredField("duration");
        duration.setAccessible(true);
        duration.set(build, millis);
        assertEquals(millis, build.getParent().getEstimatedDuration());
    }

    private void ends(Run<?, ?> build) throws Exception {
        Path workspace = hosts.workspace("A", build.getParent().getName());
        await("a workspace of " + build).atMost(LONG).until(() -> Files.isDirectory(workspace));
        Files.createFile(workspace.resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(build));
    }

    private static void awaitWaiting(WorkflowRun stage) {
        String id = record().id();
        await("it waits for its own agent")
                .atMost(LONG)
                .failFast("it moves", () -> Rig.log(stage).contains("Moved from"))
                .until(() -> LastDecision.get().of(id) instanceof Action.Wait wait
                        && wait.reason() == Reason.OWN_AGENT_FREE_SOON);
    }

    @Test
    void itWaitsForAShortBuild() throws Exception {
        FreeStyleProject high = known("short", SHORT_MILLIS);
        WorkflowRun stage = begin(counter());
        high.scheduleBuild2(0).waitForStart();
        Rig.awaitSealed(stage, 1);
        hosts.connect("B");
        awaitWaiting(stage);
        Rig.awaitAnotherLook();
        assertEquals("A", Rig.awaitState(StageState.SUSPENDED).node());
        ends(high.getLastBuild());
        Rig.awaitLog(stage, "Resumed on A");
        endsOn("A", stage);
        assertThat(Rig.log(stage), not(containsString("Moved from")));
    }

    @Test
    @Tag("slow")
    void itMovesWhenTheBuildTakesLong() throws Exception {
        FreeStyleProject high = known("long", LONG_MILLIS);
        WorkflowRun stage = begin(counter());
        high.scheduleBuild2(0).waitForStart();
        Rig.awaitSealed(stage, 1);
        hosts.connect("B");
        awaitMoved(stage, "A", "B");
        assertTrue(high.getLastBuild().isBuilding());
        endsOn("B", stage);
        ends(high.getLastBuild());
    }

    /** A node block of a Pipeline, too; and the stage moves when moves turn out to be quicker. */
    @Test
    @Tag("slow")
    void itWaitsForANodeBlock() throws Exception {
        WorkflowJob high = rig.pipeline("block", 1, "echo 'quick'");
        took(j.buildAndAssertSuccess(high), SHORT_MILLIS);
        high.setDefinition(new CpsFlowDefinition("node('A') { sh '''" + Rig.untilEnough() + "''' }", true));
        WorkflowRun stage = begin(counter());
        WorkflowRun block = Rig.start(high);
        Rig.awaitSealed(stage, 1);
        hosts.connect("B");
        awaitWaiting(stage);
        MadeUpMoves.take(1000);
        awaitMoved(stage, "A", "B");
        assertTrue(block.isBuilding());
        endsOn("B", stage);
        ends(block);
    }
}
