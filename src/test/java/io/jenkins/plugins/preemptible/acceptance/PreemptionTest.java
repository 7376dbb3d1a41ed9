package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Result;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.view.PreemptorAction;
import io.jenkins.plugins.preemptible.view.SuspendedBadgeAction;
import io.jenkins.plugins.preemptible.view.SuspendedStageAction;
import java.util.Objects;
import java.util.function.Predicate;
import org.jenkinsci.plugins.workflow.flow.FlowExecution;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.graphanalysis.DepthFirstScanner;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.jenkinsci.plugins.workflow.support.actions.PauseAction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** The main job on a real controller, a real agent process and real CRIU, in both forms of the step. */
@WithJenkins
@Tag("acceptance")
class PreemptionTest extends OneAgent {

    @Test
    void pipelinePreemptsOwnExecutorStageTwice() throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        WorkflowJob high = rig.pipeline("high", 1, Rig.preemptor());
        twice(low, high);
    }

    @Test
    void pipelinePreemptsNestedStageTwice() throws Exception {
        WorkflowJob low =
                rig.pipeline("low", 5, Rig.nested(Rig.endless(), "sh 'touch after; test \"$PWD\" = \"$WORKSPACE\"'"));
        WorkflowJob high = rig.pipeline("high", 1, Rig.preemptor());
        twice(low, high);
    }

    private void twice(WorkflowJob low, WorkflowJob high) throws Exception {
        WorkflowRun victim = Rig.start(low);
        for (int cycle = 1; cycle <= 2; cycle++) {
            Rig.awaitCounting(victim);
            WorkflowRun preemptor = Rig.start(high);
            j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
            assertThat(Rig.log(preemptor), containsString("[preemptible]"));
            Rig.awaitLog(victim, "Resumed on worker", cycle);
            Rig.awaitCounting(victim);
        }
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 4);
        assertThat(Rig.log(victim), containsString("Suspending this stage for"));
        Rig.assertNothingLeft(agent, low);
    }

    @Test
    void freestylePreempts() throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        FreeStyleProject high = rig.freestyle("high", 1, Rig.untilEnough());
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        FreeStyleBuild preemptor = high.scheduleBuild2(0).waitForStart();
        Rig.awaitSealed(victim, 1);
        assertFalse(victim.getArtifacts().isEmpty(), "the image is among the artifacts while the stage is suspended");
        PreemptorAction story = preemptor.getAction(PreemptorAction.class);
        assertNotNull(story, "the queue item has handed the story on to the build");
        assertEquals(victim.getFullDisplayName(), story.getVictim());
        await("the story is told").atMost(Rig.PATIENCE).until(() -> story.getStartedMillis() > 0);
        assertTrue(
                story.getRequestedMillis() <= story.getSuspendedMillis()
                        && story.getSuspendedMillis() <= story.getStartedMillis(),
                "it started before the executor was free: " + story.getSentence());
        assertShownAsSuspended(victim, true);
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        assertThat(Rig.log(preemptor), containsString("[preemptible] Preempted stage"));
        Rig.awaitLog(victim, "Resumed on worker");
        assertShownAsSuspended(victim, false);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 4);
        Rig.assertNothingLeft(agent, low);
    }

    private void assertShownAsSuspended(WorkflowRun run, boolean suspended) {
        FlowExecution execution = run.getExecution();
        Predicate<FlowNode> isSh = node -> node.getDisplayFunctionName().equals("sh");
        await().atMost(Rig.PATIENCE).untilAsserted(() -> {
            assertEquals(
                    suspended ? 1 : 0,
                    run.getBadgeActions().stream()
                            .filter(SuspendedBadgeAction.class::isInstance)
                            .count());
            FlowNode sh = new DepthFirstScanner().findFirstMatch(execution, isSh::test);
            assertEquals(suspended, PauseAction.isPaused(sh));
            SuspendedStageAction shown = sh.getEnclosingBlocks().stream()
                    .map(block -> block.getAction(SuspendedStageAction.class))
                    .filter(Objects::nonNull)
                    .findFirst()
                    .orElse(null);
            assertEquals(suspended, shown != null);
            if (shown != null) {
                assertEquals("SUSPENDED", shown.getState());
                assertThat(shown.getPreemptor(), containsString("high"));
                assertTrue(shown.getSize() > 1000, "size is " + shown.getSize());
            }
        });
    }

    @Test
    void lowerPriorityDoesNotPreempt() throws Exception {
        WorkflowJob first = rig.pipeline("first", 1, Rig.own(Rig.counter(40)));
        WorkflowJob second = rig.pipeline("second", 5, Rig.preemptor());
        WorkflowRun running = Rig.start(first);
        Rig.awaitLog(running, "count-5");
        WorkflowRun waiting = Rig.start(second);
        j.assertBuildStatusSuccess(j.waitForCompletion(running));
        j.assertBuildStatusSuccess(j.waitForCompletion(waiting));
        assertThat(Rig.log(running), not(containsString("Suspend")));
        Rig.counted(running, 40);
    }

    @Test
    void abortWhileSuspendedLeavesNothing() throws Exception {
        abortWhileSuspended(Rig.own(Rig.counter(1000)));
    }

    @Test
    void abortWhileSuspendedNestedLeavesNothing() throws Exception {
        abortWhileSuspended(Rig.nested(Rig.counter(1000), "echo 'not reached'"));
    }

    private void abortWhileSuspended(String script) throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, script);
        WorkflowJob high = rig.pipeline("high", 1, "node('linux') { sh 'sleep 300' }");
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        WorkflowRun preemptor = Rig.start(high);
        Rig.awaitState(StageState.SUSPENDED);
        Rig.awaitLog(preemptor, "sleep 300");
        long began = System.nanoTime();
        victim.getExecutor().interrupt();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
        long tookMillis = (System.nanoTime() - began) / 1_000_000;
        assertTrue(tookMillis < 10_000, "the abort took " + tookMillis + " ms");
        Rig.assertNothingLeft(agent, low);
        assertTrue(preemptor.isBuilding(), "the preemptor has nothing to do with it");
        preemptor.getExecutor().interrupt();
        j.waitForCompletion(preemptor);
        await("the executor to be free")
                .atMost(Rig.PATIENCE)
                .until(() -> agent.toComputer().countIdle() == 1);
    }
}
