package io.jenkins.plugins.preemptible.acceptance;

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
}
