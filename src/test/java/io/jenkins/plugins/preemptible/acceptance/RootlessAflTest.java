package io.jenkins.plugins.preemptible.acceptance;

import hudson.slaves.DumbSlave;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** The same by checkpoints of a user without root's rights. */
@WithJenkins
@Tag("soak")
class RootlessAflTest extends AflTest {

    private static RootlessAgent rootless;

    @Override
    DumbSlave agentToTest() throws Exception {
        rootless = RootlessAgent.withCheckpoints();
        return rootless.connect(j);
    }

    @AfterAll
    static void remove() throws Exception {
        if (rootless != null) {
            rootless.close();
        }
    }

    @Override
    void nothingLeft(WorkflowJob job) {
        rootless.awaitNothingLeft(agent, job);
    }
}
