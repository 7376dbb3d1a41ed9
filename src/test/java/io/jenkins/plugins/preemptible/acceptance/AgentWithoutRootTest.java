package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Result;
import hudson.slaves.DumbSlave;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** On an agent whose process runs as an ordinary user, with the privileged part of the level that makes no images. */
@WithJenkins
@Tag("acceptance")
class AgentWithoutRootTest extends OneAgent {

    private static RootlessAgent rootless;

    @Override
    DumbSlave agentToTest() throws Exception {
        rootless = RootlessAgent.inMemory();
        return rootless.connect(j);
    }

    @AfterAll
    static void remove() throws Exception {
        if (rootless != null) {
            rootless.close();
        }
    }

    private static FreeStyleBuild preempt(String name) throws Exception {
        FreeStyleProject high = rig.freestyle(name, 1, Rig.untilEnough());
        high.scheduleBuild2(0);
        await(name + " has started").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != null);
        return high.getLastBuild();
    }

    private static StageRecord stage() {
        return StageRegistry.get().all().iterator().next();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void suspendedAndResumedTwice(boolean nested) throws Exception {
        String shell = "echo \"user $(id -un) of $(id -u)\"; grep NoNewPrivs /proc/self/status\n" + Rig.endless();
        WorkflowJob low = rig.pipeline("low", 5, nested ? Rig.nested(shell, "") : Rig.own(shell));
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        for (String name : new String[] {"first", "second"}) {
            FreeStyleBuild preemptor = preempt(name);
            assertEquals(StageState.SUSPENDED, stage().state());
            Rig.enough(preemptor);
            j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
            await("it is resumed").atMost(Rig.PATIENCE).until(() -> stage().state() == StageState.RUNNING);
        }
        Rig.awaitCounting(victim);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 4);
        String log = Rig.log(victim);
        assertThat(log, containsString("user " + rootless.user + " of "));
        assertThat(log, containsString("NoNewPrivs:\t1"));
        assertThat(log, containsString(InMemoryOnlyTest.TOLD));
        assertThat(log, containsString(InMemoryOnlyTest.FROM_FROZEN));
        assertFalse(victim.getArtifactManager().root().list().length > 0, "no image was archived");
        rootless.awaitNothingLeft(agent, low);
    }

    @Test
    void anAbortWhileItIsSuspendedLeavesNothing() throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        FreeStyleBuild preemptor = preempt("high");
        victim.doStop();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
        rootless.awaitNothingLeft(agent, low);
        assertThat(rootless.processes(), not(containsString("count-")));
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
    }

    @Test
    void nobodyGainsRightsInAStage() throws Exception {
        WorkflowJob job = rig.pipeline(
                "rights", 5, Rig.own("sudo -n " + rootless.program() + " version && echo called || echo not-called"));
        WorkflowRun run = j.buildAndAssertSuccess(job);
        assertThat(run.getLog(), containsString("not-called"));
        assertThat(run.getLog(), not(containsString("protocol")));
    }
}
