package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.cli.CLICommandInvoker;
import hudson.slaves.OfflineCause;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.nio.file.Files;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The host of a frozen stage is booted when the agent has sealed its image, and nobody else has it yet. */
@Tag("acceptance")
class BootedHostTest extends OnTwoHosts {

    @RegisterExtension
    static final Periods PERIODS = new Periods()
            .with("lifecycle.SuspendedSteps.periodMillis", 3000)
            .with("lifecycle.Sealing.retryMillis", 500);

    @AfterEach
    void openDoor() {
        HeldArtifacts.open();
    }

    /** When the image, which the agent has made, is stored. */
    enum Stored {
        /** While the agent is away: all of it was brought before, and only the workspace was not. */
        AWAY,
        /** When the agent is back, after a failure while it was away. */
        BACK,
        /** Not before the stage goes on. */
        LATER
    }

    @Test
    void whatOnlyTheAgentHasSealedOutlivesItsHost() throws Exception {
        outlivesItsHost(Stored.LATER);
    }

    @ParameterizedTest
    @EnumSource(names = {"AWAY", "BACK"})
    @Tag("slow")
    void whatIsStoredAfterThatServesAsAnyImage(Stored stored) throws Exception {
        outlivesItsHost(stored);
    }

    private void outlivesItsHost(Stored stored) throws Exception {
        HeldArtifacts.install();
        hosts.connect("A");
        WorkflowRun run = Rig.start(rig.pipeline("low", 5, Rig.own(Rig.endless())));
        Rig.awaitLog(run, "count-3\n");
        HeldArtifacts.shut();
        assertEquals(
                0,
                new CLICommandInvoker(j, "preemptible-suspend")
                        .invokeWithArgs("low", "1")
                        .returnCode());
        await("the image waits to be stored").atMost(LONG).until(() -> HeldArtifacts.waiting() == 1);
        hosts.boot("A");
        j.jenkins
                .getNode("A")
                .toComputer()
                .disconnect(new OfflineCause.ByCLI("booted"))
                .get();
        if (stored == Stored.AWAY) {
            HeldArtifacts.open();
            Rig.awaitLog(run, "Its workspace could not be stored: ");
        } else if (stored == Stored.BACK) {
            HeldArtifacts.broken();
            HeldArtifacts.letIn();
            Rig.awaitLog(run, "The image could not be archived: ");
            TimeUnit.SECONDS.sleep(1);
            HeldArtifacts.open();
        }
        hosts.connectAgain("A");
        if (stored == Stored.BACK) {
            Rig.awaitLog(run, "Image stored ");
        }
        assertEquals(
                stored == Stored.LATER, Rig.awaitState(StageState.SUSPENDED).frozen());
        assertEquals(
                0,
                new CLICommandInvoker(j, "preemptible-resume")
                        .invokeWithArgs("low", "1")
                        .returnCode());
        Rig.awaitLog(
                run,
                stored == Stored.LATER
                        ? "from the sealed image that only its agent had"
                        : "from the sealed image in the build's archive");
        HeldArtifacts.open();
        Rig.awaitCounting(run);
        Files.createFile(hosts.workspace("A", "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(run));
        List<Integer> counts = Rig.counts(run);
        assertEquals(IntStream.rangeClosed(1, counts.size()).boxed().toList(), counts, "nothing is repeated");
        await("nothing among the artifacts")
                .atMost(LONG)
                .untilAsserted(() -> assertEquals(List.of(), run.getArtifacts()));
        await("the agent is clean").atMost(LONG).until(() -> hosts.stages("A") == 0);
    }
}
