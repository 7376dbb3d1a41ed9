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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.JenkinsSessionExtension;

/** The controller restarts while an image is brought to the next agent before it is made. */
@Tag("acceptance")
@Tag("slow")
class PrefetchRestartTest {

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
        if (hosts != null) {
            hosts.delete();
        }
    }

    @Test
    void itMovesAfterTheRestart() throws Throwable {
        sessions.then(this::begin);
        sessions.then(this::moves);
    }

    private void begin(JenkinsRule j) throws Exception {
        Rig.assumeSuspendable();
        Rig rig = new Rig(j);
        rig.prepare();
        PreemptibleConfiguration.get().setMoveStages(true);
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
        hosts = new TwoHosts(j);
        hosts.connect("A");
        WorkflowRun stage = Rig.start(rig.pipeline(
                "low", 5, "preemptible(label: '" + Rig.LABEL + "') {\n" + PrefetchedStages.COUNTS + "\n}"));
        Rig.awaitLog(stage, "count-3\n");
        hosts.connect("B");
        PrefetchedStages.command(j, "preemptible-drain", "A");
        Path onB = hosts.folder("B")
                .resolve("preemptible/exchange")
                .resolve(MovedStages.record().id());
        await("an image on B")
                .atMost(LONG)
                .pollInterval(Duration.ofMillis(5))
                .until(() -> Files.exists(onB.resolve("image.preempt")));
    }

    private void moves(JenkinsRule j) throws Exception {
        hosts = hosts.of(j);
        hosts.connectAgain("A");
        hosts.connectAgain("B");
        WorkflowRun stage =
                j.jenkins.getItemByFullName("low", WorkflowJob.class).getBuildByNumber(1);
        MovedStages.awaitMoved(stage, "A", "B");
        Rig.awaitCounting(stage);
        Files.createFile(hosts.workspace("B", "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
        Rig.countedAtLeast(stage, 4);
        await("nothing of it is left").atMost(LONG).untilAsserted(() -> {
            assertEquals(0, hosts.stages("A"));
            assertEquals(0, hosts.stages("B"));
            assertEquals(List.of(), stage.getArtifacts());
            for (String host : List.of("A", "B")) {
                Path exchange = hosts.folder(host).resolve("preemptible/exchange");
                assertEquals(0, Files.exists(exchange) ? exchange.toFile().list().length : 0);
            }
        });
        hosts.close();
    }
}
