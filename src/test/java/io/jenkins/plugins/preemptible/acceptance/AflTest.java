package io.jenkins.plugins.preemptible.acceptance;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.startsWith;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Two instances of AFL++ give way twice and find themselves where they were. */
@WithJenkins
@Tag("soak")
class AflTest extends OneAgent {

    private static final long START_LIMIT_MILLIS = 5_000;

    private QueueTimes times;

    @Override
    void assumptions() throws Exception {
        Fuzzers.assumeInstalled();
        super.assumptions();
        times = QueueTimes.listen();
    }

    @Test
    void fuzzersOfOwnExecutorStageGiveWayTwice() throws Exception {
        WorkflowJob fuzz = rig.pipeline("fuzz", 5, "preemptible(label: 'linux') {" + Fuzzers.steps() + "}");
        twice(fuzz);
    }

    @Test
    void fuzzersOfNestedStageGiveWayTwice() throws Exception {
        WorkflowJob fuzz = rig.pipeline(
                "fuzz",
                5,
                "node('linux') { def before = pwd(); preemptible {" + Fuzzers.steps() + "}\n"
                        + "sh 'echo after in $PWD on $EXECUTOR_NUMBER; test -s out/one/fuzzer_stats'\n"
                        + "echo(pwd() == before && env.WORKSPACE == before ? 'same workspace' : 'another workspace') }");
        WorkflowRun run = twice(fuzz);
        assertThat(Rig.log(run), containsString("on 0"));
        assertThat(Rig.log(run), containsString("same workspace"));
    }

    private WorkflowRun twice(WorkflowJob fuzz) throws Exception {
        WorkflowJob high = rig.pipeline(
                "high",
                1,
                "node('linux') { sh 'echo preemptor runs; " + Rig.untilEnough() + "; echo preemptor ends' }");
        WorkflowRun victim = Rig.start(fuzz);
        Fuzzers.awaitProgress(victim, new long[] {0, 0});
        for (int cycle = 1; cycle <= 2; cycle++) {
            WorkflowRun preemptor = Rig.start(high);
            long waited = times.waitedMillis(preemptor.getExternalizableId());
            System.out.println("buildable-to-running ms: " + waited);
            assertTrue(waited < START_LIMIT_MILLIS, "the preemptor waited " + waited + " ms");
            assertEquals("high", holder());

            StageRecord stage = Rig.awaitState(StageState.SUSPENDED);
            String target = stage.workspace() + "/target";
            Rig.awaitLog(preemptor, "preemptor runs\n");
            Rig.awaitSealed(victim, cycle);
            long[] left = {execs(stage, "one"), execs(stage, "two")};
            assertFalse(victim.getArtifacts().isEmpty(), "the image is an artifact while the stage is suspended");
            assertThat(victim.getArtifacts().get(0).relativePath, startsWith("preemptible/"));
            for (int look = 1; look <= 10; look++) {
                assertEquals(List.of(), HostProcesses.mentioning(target), "processes of AFL while the preemptor runs");
                Thread.sleep(100);
            }
            assertTrue(preemptor.isBuilding());
            agent.getWorkspaceFor(high).child("enough").touch(System.currentTimeMillis());
            assertEquals(left[0], execs(stage, "one"), "executions while suspended");
            assertEquals(left[1], execs(stage, "two"), "executions while suspended");
            j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));

            Rig.awaitLog(victim, "Resumed on worker", cycle);
            Fuzzers.awaitProgress(victim, left);
        }
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        assertThat(Rig.log(victim), containsString("exit codes 0 0"));
        Fuzzers.assertCountedOn(victim);
        nothingLeft(fuzz);
        return victim;
    }

    void nothingLeft(WorkflowJob job) {
        Rig.assertNothingLeft(agent, job);
    }

    /** Whose block the agent's only executor runs now. */
    private String holder() {
        var executable = agent.toComputer().getExecutors().get(0).getCurrentExecutable();
        return executable == null
                ? "nobody"
                : executable.getParent().getOwnerTask().getName();
    }

    /** How often the instance has run its target, as the target itself counts. */
    private static long execs(StageRecord stage, String instance) throws IOException {
        return Files.size(Path.of(stage.workspace(), instance + ".count"));
    }
}
