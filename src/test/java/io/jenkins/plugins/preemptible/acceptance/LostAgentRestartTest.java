package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.cli.CLICommandInvoker;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.nio.file.Files;
import java.time.Duration;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.JenkinsSessionExtension;

/** The controller restarts while the agent of a sealed stage is gone: the stage goes on elsewhere all the same. */
@Tag("acceptance")
class LostAgentRestartTest {

    static {
        System.setProperty("io.jenkins.plugins.preemptible.move.LeftAgent.delayMillis", "500");
        System.setProperty("io.jenkins.plugins.preemptible.lifecycle.SuspendedSteps.periodMillis", "3000");
        System.setProperty("io.jenkins.plugins.preemptible.lost.LostAgents.awayMillis", "3000");
        System.setProperty("io.jenkins.plugins.preemptible.lifecycle.RemovedAgent.graceMillis", "2000");
    }

    private static final Duration LONG = Duration.ofMinutes(4);

    @RegisterExtension
    private final JenkinsSessionExtension sessions = new JenkinsSessionExtension();

    private TwoHosts hosts;

    @AfterEach
    void clear() throws Exception {
        if (hosts != null) {
            hosts.delete();
        }
    }

    private static void command(JenkinsRule j, String name) {
        assertEquals(
                0, new CLICommandInvoker(j, name).invokeWithArgs("low", "1").returnCode());
    }

    /** @param removed from Jenkins before the restart; else it does not come back after it */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theControllerRestarts(boolean removed) throws Throwable {
        sessions.then(j -> {
            Rig.assumeSuspendable();
            Rig rig = new Rig(j);
            rig.prepare();
            PreemptibleConfiguration.get().setMoveStages(true);
            hosts = new TwoHosts(j);
            Node a = hosts.connect("A");
            WorkflowRun stage = Rig.start(rig.pipeline("low", 5, Rig.own(Rig.endless())));
            Rig.awaitLog(stage, "count-3\n");
            command(j, "preemptible-suspend");
            Rig.awaitSealed(stage, 1);
            if (removed) {
                a.toComputer().disconnect(null).get();
                j.jenkins.removeNode(a);
            } else {
                hosts.switchOff("A");
            }
        });
        sessions.then(j -> {
            hosts = hosts.of(j);
            WorkflowRun stage =
                    j.jenkins.getItemByFullName("low", WorkflowJob.class).getBuildByNumber(1);
            command(j, "preemptible-resume");
            hosts.connect("B");
            await("a move").atMost(LONG).until(() -> Rig.log(stage).contains("Moved from A to B in "));
            assertEquals("B", Rig.awaitState(StageState.RUNNING).node());
            Rig.awaitCounting(stage);
            Files.createFile(hosts.workspace("B", "low").resolve("enough"));
            j.assertBuildStatusSuccess(j.waitForCompletion(stage));
            Rig.countedAtLeast(stage, 4);
            assertThat(Rig.log(stage), containsString(removed ? "was removed from Jenkins" : "has been away for"));
            hosts.close();
        });
    }
}
