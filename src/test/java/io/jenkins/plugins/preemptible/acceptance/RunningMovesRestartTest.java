package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.JenkinsSessionExtension;

/** The controller restarts while a stage that ran is on its way to another agent: it gets there. */
@Tag("acceptance")
@Tag("slow")
class RunningMovesRestartTest {

    @RegisterExtension
    static final Periods PERIODS = new Periods()
            .with("move.LeftAgent.delayMillis", 500)
            // Longer than the agents need after a restart.
            .with("lost.LostAgents.awayMillis", 45_000)
            .stepsWait(Duration.ofMinutes(5));

    private static final Duration LONG = Duration.ofMinutes(4);

    @RegisterExtension
    private final JenkinsSessionExtension sessions = new JenkinsSessionExtension();

    private TwoHosts hosts;

    @AfterEach
    void clear() {
        HeldArtifacts.open();
        if (hosts != null) {
            hosts.delete();
        }
    }

    private void begin(JenkinsRule j, RunningMove moment) throws Exception {
        Rig.assumeSuspendable();
        Rig rig = new Rig(j);
        rig.prepare();
        PreemptibleConfiguration.get().setMoveStages(true);
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
        hosts = new TwoHosts(j);
        moment.begin(j, rig, hosts);
    }

    private WorkflowRun again(JenkinsRule j) {
        HeldArtifacts.install();
        hosts = hosts.of(j);
        hosts.connectAgain("A");
        return j.jenkins.getItemByFullName("low", WorkflowJob.class).getBuildByNumber(1);
    }

    private void ends(JenkinsRule j, WorkflowRun stage, String agent) throws Exception {
        assertNull(Rig.awaitState(StageState.RUNNING).moveTo());
        Rig.awaitCounting(stage);
        Files.createFile(hosts.workspace(agent, "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
        Rig.countedAtLeast(stage, 4);
        await("nothing of it is left").atMost(LONG).untilAsserted(() -> {
            assertEquals(0, hosts.stages("A"));
            assertEquals(0, hosts.stages("B"));
            assertEquals(List.of(), stage.getArtifacts());
        });
        hosts.close();
    }

    @ParameterizedTest
    @EnumSource
    void itMovesAfterTheRestart(RunningMove moment) throws Throwable {
        sessions.then(j -> begin(j, moment));
        sessions.then(j -> {
            WorkflowRun stage = again(j);
            hosts.connectAgain("B");
            await("a move").atMost(LONG).until(() -> Rig.log(stage).contains("Moved from A to B in "));
            ends(j, stage, "B");
        });
    }
}
