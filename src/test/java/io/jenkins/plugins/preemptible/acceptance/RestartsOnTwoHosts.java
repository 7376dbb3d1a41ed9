package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.JenkinsSessionExtension;

/** Tests that restart a controller which moves the stage of the job {@code low} between agents as if on hosts of their own. */
abstract class RestartsOnTwoHosts {

    static final Duration LONG = Duration.ofMinutes(4);

    @RegisterExtension
    final JenkinsSessionExtension sessions = new JenkinsSessionExtension();

    TwoHosts hosts;

    /** Those of a move; an agent counts as lost after longer than the agents need after a restart. */
    static Periods ofMoves() {
        return new Periods()
                .with("move.LeftAgent.delayMillis", 500)
                .with("lost.LostAgents.awayMillis", 45_000)
                .stepsWait(Duration.ofMinutes(5));
    }

    @AfterEach
    void deleteHosts() {
        if (hosts != null) {
            hosts.delete();
        }
    }

    /** In the first session. */
    Rig prepared(JenkinsRule j) throws Exception {
        Rig.assumeSuspendable();
        Rig rig = new Rig(j);
        rig.prepare();
        PreemptibleConfiguration.get().setMoveStages(true);
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
        hosts = new TwoHosts(j);
        return rig;
    }

    /** In a further session: agent A is back. */
    WorkflowRun again(JenkinsRule j) {
        hosts = hosts.of(j);
        hosts.connectAgain("A");
        return j.jenkins.getItemByFullName("low", WorkflowJob.class).getBuildByNumber(1);
    }

    /** The stage counts on there, and ends when it is told to. */
    void ends(JenkinsRule j, WorkflowRun stage, String agent) throws Exception {
        Rig.awaitCounting(stage);
        Files.createFile(hosts.workspace(agent, "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
        Rig.countedAtLeast(stage, 4);
        await("nothing of it is left").atMost(LONG).untilAsserted(() -> {
            for (String host : List.of("A", "B")) {
                assertEquals(0, hosts.stages(host));
                Path exchange = hosts.folder(host).resolve("preemptible/exchange");
                assertEquals(0, Files.exists(exchange) ? exchange.toFile().list().length : 0);
            }
            assertEquals(List.of(), stage.getArtifacts());
        });
        hosts.close();
    }
}
