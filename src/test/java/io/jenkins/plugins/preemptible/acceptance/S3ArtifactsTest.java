package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.everyItem;
import static org.hamcrest.Matchers.hasItem;
import static org.hamcrest.Matchers.lessThanOrEqualTo;
import static org.hamcrest.Matchers.startsWith;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.cli.CLICommandInvoker;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.acceptance.store.S3Artifacts;
import io.jenkins.plugins.preemptible.acceptance.store.S3Server;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.lifecycle.stage.ImagePath;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Images and workspaces lie in a real S3 server: nothing of them on the controller's disk, and nothing can be removed alone. */
@Tag("acceptance")
class S3ArtifactsTest extends OnTwoHosts {

    private static final int PART = 1 << 20;
    private static final String STAYS = "The image stays among the artifacts";

    @RegisterExtension
    static final Periods PERIODS = new Periods()
            .with("lifecycle.image.StageImages.partBytes", PART)
            .with("lifecycle.Resumption.outageMillis", 500)
            .with("move.LeftAgent.delayMillis", 500)
            // In tests Pipeline's steps wait for an agent for fifteen seconds only.
            .with("lifecycle.SuspendedSteps.periodMillis", 3000)
            .with("lifecycle.RemovedAgent.graceMillis", 2000);

    private static S3Server server;

    @BeforeAll
    static void start() throws Exception {
        server = S3Server.start();
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    @BeforeEach
    void useIt() {
        S3Artifacts.install(server, PART);
    }

    /** Counts with noise in its memory and in a file, which are compared at its end. */
    private WorkflowRun counting() throws Exception {
        hosts.connect("A");
        WorkflowRun stage = Rig.start(rig.pipeline(
                "low",
                5,
                "preemptible(label: '" + Rig.LABEL + "') { sh '''set +x\n"
                        + "head -c 3000000 /dev/urandom > noise; sha256sum noise > sum\n"
                        + "kept=$(head -c 1500000 /dev/urandom | base64); before=$(echo \"$kept\" | sha256sum)\n"
                        + Rig.endless()
                        + "\n[ \"$before\" = \"$(echo \"$kept\" | sha256sum)\" ] && echo 'memory is whole'\n'''\n"
                        + "sh 'sha256sum -c sum' }"));
        Rig.awaitLog(stage, "count-3\n");
        return stage;
    }

    private void sealed(WorkflowRun stage, int times) {
        command("preemptible-suspend");
        Rig.awaitSealed(stage, times);
    }

    private void command(String name) {
        assertEquals(
                0, new CLICommandInvoker(j, name).invokeWithArgs("low", "1").returnCode());
    }

    private void endsOn(String host, WorkflowRun stage) throws Exception {
        Rig.awaitCounting(stage);
        Files.createFile(hosts.workspace(host, "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
        Rig.countedAtLeast(stage, 4);
        assertThat(Rig.log(stage), containsString("\nmemory is whole\n"));
        assertThat(Rig.log(stage), containsString("\nnoise: OK\n"));
    }

    private static Map<String, Long> full(Map<String, Long> objects) {
        return objects.entrySet().stream()
                .filter(object -> object.getValue() > 0)
                .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
    }

    @Test
    void aStageOfARemovedAgentIsResumedElsewhereFromTheStore() throws Exception {
        WorkflowRun stage = counting();
        sealed(stage, 1);
        assertThat(Rig.log(stage), containsString("the stage can be resumed without this agent"));
        Map<String, Long> objects = server.objects();
        assertThat(objects.values(), everyItem(lessThanOrEqualTo((long) PART)));
        String folder =
                "low/1/preemptible/" + Rig.awaitState(StageState.SUSPENDED).id() + "/";
        assertThat(objects.keySet(), hasItem(startsWith(folder + ImagePath.FILE + ".2-of-")));
        assertThat(objects.keySet(), hasItem(startsWith(folder + ImagePath.LUGGAGE + ".2-of-")));
        try (Stream<Path> files = Files.walk(stage.getRootDir().toPath())) {
            assertEquals(
                    List.of(),
                    files.filter(file -> file.toString().contains("suspended-stage"))
                            .toList(),
                    "on the controller's disk");
        }
        Node a = j.jenkins.getNode("A");
        a.toComputer().disconnect(null).get();
        j.jenkins.removeNode(a);
        command("preemptible-resume");
        hosts.connect("B");
        Rig.awaitLog(stage, "Moved from A to B in ");
        endsOn("B", stage);
        Rig.awaitLog(stage, STAYS);
        await("none was removed, and nothing is in them")
                .atMost(LONG)
                .untilAsserted(() -> assertEquals(Map.of(), full(server.objects())));
        assertEquals(objects.keySet(), server.objects().keySet());
        stage.delete();
        assertEquals(Map.of(), server.objects());
    }

    /** Its image is fetched from a store that has an earlier one of another size, and that did not answer at first. */
    @Test
    @Tag("slow")
    void aStoreThatDoesNotAnswerIsWaitedFor() throws Exception {
        WorkflowRun stage = counting();
        for (int time = 1; time <= 2; time++) {
            sealed(stage, time);
            String id = Rig.awaitState(StageState.SUSPENDED).id();
            Path images = hosts.workspace("A", "low")
                    .getParent()
                    .resolveSibling("preemptible/stages")
                    .resolve(id)
                    .resolve("images");
            await("its processes are gone")
                    .atMost(LONG)
                    .until(() -> HostProcesses.controlGroups(id).isEmpty());
            assertTrue(Files.isDirectory(images), images::toString);
            StageFolder.delete(images);
            server.standStill();
            command("preemptible-resume");
            Rig.awaitLog(stage, "the agent or the artifact store is unavailable", time);
            server.goOn();
            Rig.awaitLog(stage, "from the sealed image in the build's archive", time);
        }
        endsOn("A", stage);
    }
}
