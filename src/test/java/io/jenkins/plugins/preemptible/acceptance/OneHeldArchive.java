package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;

import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Tests in which the archive of artifacts takes what it is given only when they let it. */
abstract class OneHeldArchive extends OneAgent {

    static final String FROM_ARCHIVE = "from the sealed image in the build's archive";

    /** Set by the test that starts them. */
    WorkflowJob low;

    WorkflowRun victim;

    @BeforeEach
    void door() {
        HeldArtifacts.install();
        // Whatever else runs on this machine has no say.
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
    }

    @AfterEach
    void openDoor() {
        HeldArtifacts.open();
    }

    void start(String script) throws Exception {
        low = rig.pipeline("low", 5, script);
        victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
    }

    FreeStyleBuild preempt(String name) throws Exception {
        FreeStyleProject high = rig.freestyle(name, 1, Rig.untilEnough());
        high.scheduleBuild2(0);
        // Not waitForStart, which waits for ever: where the sandbox cannot be opened, it never starts.
        await(name + " has started").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != null);
        return high.getLastBuild();
    }

    void ends(FreeStyleBuild preemptor) throws Exception {
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
    }

    void endsWell() throws Exception {
        Rig.awaitCounting(victim);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 4);
        Rig.assertNothingLeft(agent, low);
    }
}
