package io.jenkins.plugins.preemptible.acceptance;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.EnvVars;
import hudson.ExtensionList;
import hudson.model.FreeStyleBuild;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.util.concurrent.TimeUnit;
import org.jenkinsci.plugins.durabletask.BourneShellScript;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.jenkinsci.plugins.workflow.steps.durable_task.DurableTaskStep;
import org.jenkinsci.plugins.workflow.support.steps.ExecutorStepExecution;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** A suspension that lasts longer than Pipeline's own patience with steps and blocks that do nothing. */
@WithJenkins
@Tag("acceptance")
class LongSuspensionTest extends OneAgent {

    /** Two checks of an untouched log end a step, so this is for the default 300 s what the periods below are. */
    private static final int HEARTBEAT_SECONDS = 6;

    private static final String HEARTBEAT = "HEARTBEAT_CHECK_INTERVAL";

    /** Ten seconds: long enough to be still under way when the preemptor comes, on a busy machine in watch mode too. */
    private static final int STEPS = 100;

    @RegisterExtension
    static final Periods PERIODS = new Periods()
            .with(BourneShellScript.class, HEARTBEAT, HEARTBEAT_SECONDS)
            .with("lifecycle.SuspendedSteps.periodMillis", 2000);

    /** In watch mode the agent's own JVM makes the check. */
    @Override
    EnvVars agentEnvironment() {
        return new EnvVars(
                "JAVA_TOOL_OPTIONS",
                "-D" + BourneShellScript.class.getName() + "." + HEARTBEAT + "=" + HEARTBEAT_SECONDS);
    }

    @AfterEach
    void pollAgain() {
        DurableTaskStep.USE_WATCHING = false;
    }

    /** Steps are checked on an agent that is marked offline too, as one that is drained may be. */
    @Test
    @Tag("soak")
    void heartbeatInPollMode() throws Exception {
        heartbeat(true);
    }

    @Test
    @Tag("soak")
    void heartbeatInWatchMode() throws Exception {
        DurableTaskStep.USE_WATCHING = true;
        heartbeat(false);
    }

    private void heartbeat(boolean markedOffline) throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, Rig.own(Rig.counter(STEPS)));
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-5\n");
        long began = System.nanoTime();
        FreeStyleBuild preemptor = rig.freestyle("high", 1, "sleep " + 4 * HEARTBEAT_SECONDS)
                .scheduleBuild2(0)
                .waitForStart();
        Rig.awaitState(StageState.SUSPENDED);
        agent.toComputer().setTemporarilyOffline(markedOffline);
        try {
            j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        } finally {
            agent.toComputer().setTemporarilyOffline(false);
        }
        assertTrue(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - began) >= 4 * HEARTBEAT_SECONDS);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.counted(victim, STEPS);
        // Durable Task's words for a log that nobody has touched name this property.
        assertThat(Rig.log(victim), not(containsString("HEARTBEAT_CHECK_INTERVAL")));
        Rig.assertNothingLeft(agent, low);
    }

    @Tag("slow")
    @Test
    void sweepForLostNodeBlocksSparesSuspendedOnes() throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, Rig.nested(Rig.counter(STEPS), "sh 'touch after'"));
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-5\n");
        FreeStyleBuild preemptor =
                rig.freestyle("high", 1, Rig.untilEnough()).scheduleBuild2(0).waitForStart();
        Rig.awaitState(StageState.SUSPENDED);
        ExecutorStepExecution.AnomalousStatus sweep =
                ExtensionList.lookupSingleton(ExecutorStepExecution.AnomalousStatus.class);
        sweep.run();
        sweep.run();
        assertTrue(preemptor.isBuilding(), "both sweeps fell into the suspension");
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.counted(victim, STEPS);
        assertThat(Rig.log(victim), not(containsString("neither running nor scheduled")));
        Rig.assertNothingLeft(agent, low);
    }
}
