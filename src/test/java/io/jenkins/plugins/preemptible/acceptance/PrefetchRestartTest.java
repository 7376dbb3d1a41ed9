package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.jvnet.hudson.test.JenkinsRule;

/** The controller restarts while an image is brought to the next agent before it is made. */
@Tag("acceptance")
@Tag("slow")
class PrefetchRestartTest extends RestartsOnTwoHosts {

    @RegisterExtension
    static final Periods PERIODS = ofMoves();

    @Test
    void itMovesAfterTheRestart() throws Throwable {
        sessions.then(this::begin);
        sessions.then(j -> {
            WorkflowRun stage = again(j);
            hosts.connectAgain("B");
            MovedStages.awaitMoved(stage, "A", "B");
            ends(j, stage, "B");
        });
    }

    private void begin(JenkinsRule j) throws Exception {
        Rig rig = prepared(j);
        hosts.connect("A");
        WorkflowRun stage = Rig.start(rig.pipeline(
                "low", 5, "preemptible(label: '" + Rig.LABEL + "') {\n" + PrefetchedStages.COUNTS + "\n}"));
        Rig.awaitLog(stage, "count-3\n");
        PrefetchedStages.awaitFits(hosts.connect("B"));
        PrefetchedStages.command(j, "preemptible-drain", "A");
        Path onB = hosts.folder("B")
                .resolve("preemptible/exchange")
                .resolve(MovedStages.record().id());
        await("an image on B")
                .atMost(LONG)
                .pollInterval(Duration.ofMillis(5))
                .until(() -> Files.exists(onB.resolve("image.preempt")));
    }
}
