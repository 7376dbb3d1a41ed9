package io.jenkins.plugins.preemptible.acceptance;

import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.slaves.DumbSlave;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.agents.HowSuspended;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The controller restarts while a stage of a user without root's rights is suspended by a checkpoint. */
@Tag("acceptance")
@Tag("soak")
class RootlessRestartTest extends Restarts {

    private RootlessAgent rootless;

    @AfterEach
    void remove() throws Exception {
        if (rootless != null) {
            rootless.close();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void itGoesOnAfterARestart(boolean nested) throws Throwable {
        rootless = RootlessAgent.withCheckpoints();
        sessions.then(j -> {
            rootless.connect(j);
            suspendedForPipeline(
                    new Rig(j),
                    "low",
                    Rig.LABEL,
                    nested ? Rig.nested(Rig.endless(), "sh 'touch after'") : Rig.own(Rig.endless()));
            Rig.awaitSealed(build(j, "low"), 1);
            rootless.awaitRehearsed();
        });
        sessions.then(j -> {
            assertEquals(
                    StageState.SUSPENDED, Rig.awaitState(StageState.SUSPENDED).state());
            assertEquals(HowSuspended.Way.CHECKPOINTS, HowSuspended.on("worker").way());
            j.waitOnline((DumbSlave) j.jenkins.getNode("worker"));
            enough(build(j, "for-low"), "worker");
            WorkflowRun victim = build(j, "low");
            goneOn(j, victim, "worker");
            rootless.awaitNothingLeft((DumbSlave) j.jenkins.getNode("worker"), victim.getParent());
        });
    }
}
