package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.model.Result;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.view.SuspendedStageAction;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.jenkinsci.plugins.workflow.actions.LabelAction;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.graphanalysis.DepthFirstScanner;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.jenkinsci.plugins.workflow.support.actions.PauseAction;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Pipeline's views draw stages, not steps: the stages around and inside of a suspended block say that it is. */
@WithJenkins
@Tag("acceptance")
class StageNodesTest extends OneAgent {

    private WorkflowRun victim;
    private WorkflowRun preemptor;
    private Path over;

    @BeforeEach
    void aStageIsSuspended() throws Exception {
        over = Files.createTempDirectory("preemptible-nodes").resolve("over");
        WorkflowJob low = rig.pipeline(
                "low",
                5,
                "stage('before') { echo 'x' }\nstage('outer') { parallel a: { preemptible(label: 'linux') { stage('inner') { sh '''"
                        + Rig.endless() + "''' } } }, b: { sleep 3600 } }");
        victim = Rig.start(low);
        Rig.awaitLog(victim, "count-2\n");
        preemptor = Rig.start(
                rig.pipeline("high", 1, "node('linux') { sh 'while [ ! -e " + over + " ]; do sleep 0.1; done' }"));
        Rig.awaitState(StageState.SUSPENDED);
        await().atMost(Rig.PATIENCE).untilAsserted(() -> assertEquals(Set.of("outer", "a", "inner"), marked()));
        // The other branch of the outer stage runs.
        await().atMost(Rig.PATIENCE).untilAsserted(() -> assertEquals(Set.of("a", "inner"), paused()));
    }

    /** The names of the stages and branches that are told to be suspended. */
    private Set<String> marked() {
        return stages(node -> node.getPersistentAction(SuspendedStageAction.class) != null);
    }

    /** The names of those that views show as paused. */
    private Set<String> paused() {
        return stages(PauseAction::isPaused);
    }

    private Set<String> stages(Predicate<FlowNode> wanted) {
        Set<String> names = new TreeSet<>();
        for (FlowNode node : new DepthFirstScanner().allNodes(victim.getExecution())) {
            LabelAction label = node.getPersistentAction(LabelAction.class);
            if (label != null && wanted.test(node)) {
                names.add(label.getDisplayName().replace("Branch: ", ""));
            }
        }
        return names;
    }

    @Test
    void afterItsResumeNoneIs() throws Exception {
        Files.createFile(over);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        Rig.awaitLog(victim, "Resumed on");
        await().atMost(Rig.PATIENCE).untilAsserted(() -> {
            assertEquals(Set.of(), marked());
            assertEquals(Set.of(), paused());
        });
        victim.doStop();
        j.waitForCompletion(victim);
    }

    @Test
    void afterItsAbortNoneIs() throws Exception {
        victim.doStop();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
        await().atMost(Rig.PATIENCE).untilAsserted(() -> {
            assertEquals(Set.of(), marked());
            assertEquals(Set.of(), paused());
        });
        Files.createFile(over);
        j.waitForCompletion(preemptor);
    }
}
