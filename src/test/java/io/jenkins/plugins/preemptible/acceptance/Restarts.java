package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;

import hudson.model.Slave;
import java.time.Duration;
import jenkins.model.Jenkins;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.InboundAgentExtension;
import org.jvnet.hudson.test.junit.jupiter.JenkinsSessionExtension;

/** Tests that restart the controller; what the agents have launched outlives it, as in production. */
abstract class Restarts {

    /**
     * As outside of tests: on a busy machine the agents are not back within the 15 s that Pipeline gives them in tests.
     */
    @RegisterExtension
    static final Periods AS_OUTSIDE_OF_TESTS = new Periods().stepsWait(Duration.ofMinutes(5));

    @RegisterExtension
    final JenkinsSessionExtension sessions = new JenkinsSessionExtension();

    @RegisterExtension
    final InboundAgentExtension agents = new InboundAgentExtension();

    @BeforeEach
    void suspendable() throws Exception {
        Rig.assumeSuspendable();
    }

    static void suspendedForPipeline(Rig rig, String form, String label, String script) throws Exception {
        WorkflowRun victim = Rig.start(rig.pipeline(form, 5, script));
        Rig.awaitLog(victim, "count-5\n");
        WorkflowRun preemptor = Rig.start(rig.pipeline(
                "for-" + form,
                1,
                "node('" + label + "') { sh 'echo it runs; "
                        + "while [ ! -e enough ]; do sleep 0.2; done; echo preemptor is done' }"));
        Rig.awaitLog(preemptor, "it runs\n");
        Rig.awaitLog(victim, "has the executor");
    }

    static void enough(WorkflowRun preemptor, String agent) throws Exception {
        Jenkins.get()
                .getNode(agent)
                .getRootPath()
                .child("workspace/" + preemptor.getParent().getName() + "/enough")
                .touch(System.currentTimeMillis());
    }

    static void goneOn(JenkinsRule j, WorkflowRun victim, String node) throws Exception {
        Rig.awaitLog(victim, "Resumed on " + node);
        Rig.awaitCounting(victim);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 6);
    }

    static void nothingLeft(JenkinsRule j, WorkflowRun victim, String node) throws Exception {
        Slave agent = (Slave) j.jenkins.getNode(node);
        Rig.assertNothingLeft(agent, victim.getParent());
        await().atMost(Rig.PATIENCE).until(() -> agent.toComputer().countIdle() == 1);
    }

    static WorkflowRun build(JenkinsRule j, String job) {
        return j.jenkins.getItemByFullName(job, WorkflowJob.class).getBuildByNumber(1);
    }
}
