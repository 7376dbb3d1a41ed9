package io.jenkins.plugins.preemptible.acceptance;

import static org.junit.jupiter.api.Assertions.assertNull;

import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The controller restarts while a stage that ran is on its way to another agent: it gets there. */
@Tag("acceptance")
@Tag("slow")
class RunningMovesRestartTest extends RestartsOnTwoHosts {

    @RegisterExtension
    static final Periods PERIODS = ofMoves();

    @AfterEach
    void open() {
        HeldArtifacts.open();
    }

    @ParameterizedTest
    @EnumSource
    void itMovesAfterTheRestart(RunningMove moment) throws Throwable {
        sessions.then(j -> {
            Rig rig = prepared(j);
            moment.begin(j, rig, hosts);
        });
        sessions.then(j -> {
            HeldArtifacts.install();
            WorkflowRun stage = again(j);
            hosts.connectAgain("B");
            MovedStages.awaitMoved(stage, "A", "B");
            assertNull(Rig.awaitState(StageState.RUNNING).moveTo());
            ends(j, stage, "B");
        });
    }
}
