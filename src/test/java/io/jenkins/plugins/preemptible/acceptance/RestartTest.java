package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Slave;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.StageRegistry;
import java.util.List;
import jenkins.model.Jenkins;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.InboundAgentExtension;
import org.jvnet.hudson.test.junit.jupiter.JenkinsSessionExtension;

/**
 * The controller restarts while a stage is suspended: with its executor taken by the preemptor, and with it idle.
 *
 * <p>The agent is a process of its own that outlives the controller, as in production.
 */
@Tag("acceptance")
class RestartTest {

    private static final int COUNT = 60;

    @RegisterExtension
    final JenkinsSessionExtension sessions = new JenkinsSessionExtension();

    @RegisterExtension
    final InboundAgentExtension agents = new InboundAgentExtension();

    @BeforeEach
    void suspendable() throws Exception {
        Rig.assumeSuspendable();
    }

    @Test
    void ownExecutorTaken() throws Throwable {
        taken(Rig.own(Rig.counter(COUNT)));
    }

    @Test
    void nestedExecutorTaken() throws Throwable {
        taken(Rig.nested(Rig.counter(COUNT), "sh 'touch after'"));
    }

    @Test
    void ownExecutorIdle() throws Throwable {
        idle(Rig.own(Rig.counter(COUNT)));
    }

    @Test
    void nestedExecutorIdle() throws Throwable {
        idle(Rig.nested(Rig.counter(COUNT), "sh 'touch after'"));
    }

    /** A Pipeline that preempted holds the executor before the restart, and has to get it back after it. */
    private void taken(String script) throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            WorkflowJob low = rig.pipeline("low", 5, script);
            WorkflowJob high = rig.pipeline("high", 1, "node('linux') { sh 'sleep 20; echo preemptor is done' }");
            WorkflowRun victim = Rig.start(low);
            Rig.awaitLog(victim, "count-15");
            WorkflowRun preemptor = Rig.start(high);
            Rig.awaitState(StageState.SUSPENDED);
            Rig.awaitLog(preemptor, "sleep 20");
        });
        sessions.then(j -> {
            WorkflowRun preemptor = build(j, "high");
            WorkflowRun victim = build(j, "low");
            j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
            j.assertLogContains("preemptor is done", preemptor);
            goneOn(j, victim);
        });
    }

    /**
     * Somebody asks for a restart while the preemptor runs; it ends, the executor is idle, and nothing is dispatched
     * any more because the controller is about to go down.
     */
    private void idle(String script) throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            WorkflowJob low = rig.pipeline("low", 5, script);
            FreeStyleProject high = rig.freestyle("high", 1, "sleep 5");
            WorkflowRun victim = Rig.start(low);
            Rig.awaitLog(victim, "count-15");
            FreeStyleBuild preemptor = high.scheduleBuild2(0).waitForStart();
            Rig.awaitState(StageState.SUSPENDED);
            j.jenkins.doQuietDown();
            j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
            Slave agent = (Slave) j.jenkins.getNode("worker");
            await().atMost(Rig.PATIENCE).until(() -> agent.toComputer().countIdle() == 1);
            // Long enough for the plugin to want the stage back, and to be held off.
            Thread.sleep(6_000);
            assertEquals(1, agent.toComputer().countIdle(), "nothing is dispatched before the restart");
            Rig.awaitState(StageState.SUSPENDED);
        });
        sessions.then(j -> goneOn(j, build(j, "low")));
    }

    private static void goneOn(JenkinsRule j, WorkflowRun victim) throws Exception {
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.counted(victim, COUNT);
        j.assertLogContains("Resumed on worker", victim);
        Slave agent = (Slave) j.jenkins.getNode("worker");
        assertTrue(agent.getWorkspaceRoot().child("low").exists());
        Rig.assertNothingLeft(agent, victim.getParent());
        assertEquals(List.of(), List.copyOf(StageRegistry.get().all()));
        await().atMost(Rig.PATIENCE).until(() -> agent.toComputer().countIdle() == 1);
        assertEquals(0, Jenkins.get().getQueue().getItems().length);
    }

    private static WorkflowRun build(JenkinsRule j, String job) {
        return j.jenkins.getItemByFullName(job, WorkflowJob.class).getBuildByNumber(1);
    }
}
