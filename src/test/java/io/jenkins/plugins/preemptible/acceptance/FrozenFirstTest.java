package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.matchesPattern;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hudson.Util;
import hudson.model.FreeStyleBuild;
import hudson.model.Result;
import hudson.model.queue.QueueTaskFuture;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.history.PastSuspension;
import io.jenkins.plugins.preemptible.history.SuspensionHistoryAction;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.view.PreemptorAction;
import io.jenkins.plugins.preemptible.view.RunningStagesAction;
import io.jenkins.plugins.preemptible.view.SuspendedBadgeAction;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** The executor goes to the preemptor at the freeze; what becomes of the stage while its image is made, and after. */
@WithJenkins
@Tag("acceptance")
class FrozenFirstTest extends OneHeldArchive {

    @RegisterExtension
    static final Periods PERIODS = new Periods().with("lifecycle.Sealing.retryMillis", 1000);

    private static final String FROM_FROZEN = "from the processes that were still frozen in the agent's memory";
    private static final String FROM_LOCAL = "from the image that was kept on the agent";

    /** A stage that holds 60 MB besides, which takes time to dump. */
    private static String large() {
        return "m=$(head -c 60000000 /dev/zero | tr '\\\\0' x); echo has ${#m}\n" + Rig.endless();
    }

    /** The order of events: executor given away, preemptor runs, image archived, processes gone. */
    @Test
    void preemptorRunsBeforeTheImageIsSealed() throws Exception {
        HeldArtifacts.shut();
        start(Rig.own(large()));
        FreeStyleBuild preemptor = preempt("high");
        StageRecord stage = Rig.awaitState(StageState.SUSPENDED);
        Rig.awaitLog(victim, "has the executor");
        assertTrue(stage.frozen());
        assertEquals(List.of(), victim.getArtifacts(), "no image yet");
        assertThat(Rig.log(victim), containsString("Executor worker #0 goes to high after"));
        assertThat(Rig.log(victim), containsString("the image is being sealed meanwhile"));
        assertThat(Rig.log(victim), not(containsString("Image sealed")));
        assertThat(
                victim.getAction(SuspendedBadgeAction.class).getTooltip(),
                containsString("frozen in the agent\u2019s memory"));
        assertFalse(HostProcesses.controlGroups(stage.id()).isEmpty(), "the frozen processes are there");

        HeldArtifacts.open();
        Rig.awaitSealed(victim, 1);
        assertEquals(1, victim.getArtifacts().size());
        assertTrue(preemptor.isBuilding());
        assertFalse(Rig.awaitState(StageState.SUSPENDED).frozen());
        await().atMost(Rig.PATIENCE)
                .untilAsserted(() -> assertEquals(List.of(), HostProcesses.controlGroups(stage.id())));
        assertThat(victim.getAction(SuspendedBadgeAction.class).getTooltip(), containsString("Its image has"));

        ends(preemptor);
        Rig.awaitLog(victim, FROM_LOCAL);
        assertThat(
                victim.getAction(RunningStagesAction.class).getSentences().toString(),
                containsString("the image that was kept on the agent"));
        isKept(preemptor);
        endsWell();
    }

    /** Log, pages and REST of both builds have the same figures. */
    private void isKept(FreeStyleBuild preemptor) {
        SuspensionHistoryAction history = SuspensionHistoryAction.of(victim);
        assertEquals(1, history.getCount());
        await().atMost(Rig.PATIENCE)
                .until(() -> !history.getStages().get(0).getSuspensions().get(0).isOpen());
        PastSuspension one = history.getStages().get(0).getSuspensions().get(0);
        assertEquals("HIGHER_PRIORITY_WAITS", one.getReason());
        assertEquals("LOCAL_IMAGE", one.getTier());
        assertTrue(one.getSealedMillis() >= one.getSuspendedMillis());
        assertTrue(one.getResumedMillis() >= one.getSealedMillis());
        assertTrue(one.getArchiveBytes() > 0 && one.getImageBytes() > 60_000_000, "its image has the 60 MB");
        PreemptorAction story = preemptor.getAction(PreemptorAction.class);
        assertEquals(one.getTookMillis(), story.getSuspendedMillis() - story.getRequestedMillis());
    }

    /** A short preemptor: the stage is resumed before its image is made, and can be suspended again when that has ended. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void frozenStageIsThawed(boolean nested) throws Exception {
        HeldArtifacts.shut();
        start(nested ? Rig.nested(Rig.endless(), "sh 'touch after'") : Rig.own(Rig.endless()));
        ends(preempt("high"));
        Rig.awaitLog(victim, FROM_FROZEN);
        assertThat(Rig.log(victim), not(containsString("Image sealed")));
        Rig.awaitCounting(victim);
        HeldArtifacts.open();
        await("what was archived too late is gone")
                .atMost(Rig.PATIENCE)
                .untilAsserted(() -> assertEquals(List.of(), victim.getArtifacts()));

        FreeStyleBuild again = preempt("again");
        Rig.awaitSealed(victim, 1);
        StageRecord stage = Rig.awaitState(StageState.SUSPENDED);
        assertEquals(2, stage.suspensions());
        Path kept = Path.of(agent.getRemoteFS(), "preemptible", "stages", stage.id(), "images");
        assertTrue(Files.isDirectory(kept), kept + " is kept on the agent");
        Util.deleteRecursive(kept.toFile());
        ends(again);
        Rig.awaitLog(victim, FROM_ARCHIVE);
        endsWell();
    }

    @Test
    void nothingIsLostWhenTheArchiveIsFull() throws Exception {
        HeldArtifacts.full();
        nothingIsLost("The image could not be archived: the archive of this test is full");
    }

    /** A file stands where the agent wants a folder for the image. */
    @Test
    void nothingIsLostWhenTheDumpFails() throws Exception {
        Path exchange = Path.of(agent.getRemoteFS(), "preemptible", "exchange");
        Util.deleteRecursive(exchange.toFile());
        Files.createDirectories(exchange.getParent());
        Files.createFile(exchange);
        try {
            nothingIsLost("The image could not be sealed. The folder " + exchange);
        } finally {
            Files.delete(exchange);
        }
    }

    private void nothingIsLost(String why) throws Exception {
        start(Rig.own(Rig.endless()));
        FreeStyleBuild preemptor = preempt("high");
        Rig.awaitLog(victim, why, 2);
        assertThat(Rig.log(victim), containsString("Sealing is tried again in"));
        assertTrue(Rig.awaitState(StageState.SUSPENDED).frozen());
        assertTrue(preemptor.isBuilding(), "the preemptor has the executor");
        ends(preemptor);
        Rig.awaitLog(victim, FROM_FROZEN);
        StageRecord stage = Rig.awaitState(StageState.RUNNING);
        long notBefore = LiveStage.find(stage.id()).retryAfterMillis();
        assertTrue(notBefore > System.currentTimeMillis() + TimeUnit.MINUTES.toMillis(3), "suspended again soon");
        endsWell();
    }

    /** A process outside writes to a file that the stage has open, so CRIU would refuse each of its images. */
    @Test
    void aStageWhoseImageWouldNotComeBackStaysInMemory() throws Exception {
        start(Rig.own("echo x > growing; exec 5<growing\n" + Rig.endless()));
        Path growing = Rig.workspace(victim).orElseThrow().resolve("growing");
        AtomicBoolean enough = new AtomicBoolean();
        Thread grows = new Thread(() -> {
            while (!enough.get()) {
                try {
                    Files.writeString(growing, "x", StandardOpenOption.APPEND);
                    Thread.sleep(1);
                } catch (IOException | InterruptedException x) {
                    return;
                }
            }
        });
        grows.start();
        try {
            FreeStyleBuild preemptor = preempt("high");
            Rig.awaitLog(victim, "No image is sealed. The image of the stage was tried");
            assertThat(Rig.log(victim), containsString("Nothing of the stage is lost: it is resumed from memory"));
            StageRecord stage = Rig.awaitState(StageState.SUSPENDED);
            assertTrue(stage.frozen());
            assertTrue(stage.memoryOnly());
            assertEquals(List.of(), victim.getArtifacts());
            assertThat(
                    victim.getAction(SuspendedBadgeAction.class).getTooltip(),
                    containsString("stay frozen in the agent\u2019s memory until it is resumed"));
            assertTrue(preemptor.isBuilding(), "the preemptor has the executor");
            enough.set(true);
            ends(preemptor);
            Rig.awaitLog(victim, FROM_FROZEN);
            endsWell();
        } finally {
            enough.set(true);
            grows.join();
        }
    }

    /** A connection to the outside postpones a suspension, or is cut by it where the step says so. */
    @Test
    void connectionsAreCutWhereTheStepSaysSo() throws Exception {
        Rig.assumeInstalled("bash", "bash");
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            String connected = "bash -c \"exec 3<>/dev/tcp/127.0.0.1/" + server.getLocalPort()
                    + "; touch connected; while [ ! -e enough ]; do sleep 0.2; done\"";
            WorkflowRun keeps = Rig.start(rig.pipeline("keeps", 5, Rig.own(connected)));
            Rig.awaitFile(keeps, "connected");
            QueueTaskFuture<FreeStyleBuild> waiting =
                    rig.freestyle("waits", 1, "true").scheduleBuild2(0);
            Rig.awaitLog(keeps, "Not suspended. A process of the stage holds a TCP connection to the outside");
            assertTrue(keeps.isBuilding());
            Rig.enough(keeps);
            j.assertBuildStatusSuccess(j.waitForCompletion(keeps));
            j.assertBuildStatusSuccess(waiting);

            low = rig.pipeline("low", 5, Rig.own(connected).replace("label:", "tcp: 'close', label:"));
            victim = Rig.start(low);
            Rig.awaitFile(victim, "connected");
            FreeStyleBuild preemptor = preempt("high");
            Rig.awaitSealed(victim, 1);
            ends(preemptor);
            Rig.awaitLog(victim, FROM_LOCAL);
            Rig.enough(victim);
            j.assertBuildStatusSuccess(j.waitForCompletion(victim));
            Rig.assertNothingLeft(agent, low);
        }
    }

    @Test
    void withLittleMemoryTheImageComesFirst() throws Exception {
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(1_048_576);
        start(Rig.own(Rig.endless()));
        FreeStyleBuild preemptor = preempt("high");
        assertFalse(victim.getArtifacts().isEmpty(), "the image was archived before the preemptor started");
        assertFalse(Rig.awaitState(StageState.SUSPENDED).frozen());
        Rig.awaitLog(victim, "Suspended in");
        assertThat(Rig.log(victim), containsString("The executor is free only after the dump"));
        assertThat(Rig.log(victim), not(containsString("sealed meanwhile")));
        ends(preemptor);
        Rig.awaitLog(victim, FROM_LOCAL);
        endsWell();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void abortOfAFrozenStageLeavesNothing(boolean nested) throws Exception {
        HeldArtifacts.shut();
        start(nested ? Rig.nested(Rig.counter(1000), "echo 'not reached'") : Rig.own(Rig.counter(1000)));
        FreeStyleBuild preemptor = preempt("high");
        Rig.awaitState(StageState.SUSPENDED);
        await("the sealing is under way").atMost(Rig.PATIENCE).until(() -> HeldArtifacts.waiting() == 1);
        victim.getExecutor().interrupt();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
        StagesSeen.assertNothingRuns();
        HeldArtifacts.open();
        Rig.assertNothingLeft(agent, low);
        assertThat(Rig.log(victim), not(containsString("not reached")));
        assertTrue(preemptor.isBuilding(), "the preemptor has nothing to do with it");
        ends(preemptor);
    }

    /** The agent's host restarts, or its frozen processes are killed: the stage ends, and the build says why. */
    @Test
    void killedWhileFrozenGoesOnFromTheImageThatIsOnTheAgent() throws Exception {
        HeldArtifacts.full();
        start(Rig.own(Rig.counter(30)));
        FreeStyleBuild preemptor = preempt("high");
        Rig.awaitLog(victim, "The image could not be archived", 2);
        killFrozen(Rig.awaitState(StageState.SUSPENDED));
        HeldArtifacts.open();
        ends(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        assertThat(Rig.log(victim), containsString(FROM_LOCAL));
        Rig.counted(victim, 30);
        Rig.assertNothingLeft(agent, low);
    }

    @Test
    @Tag("soak")
    void killedWhileFrozenAndWithoutAnyImageIsLostAndSaysSo() throws Exception {
        HeldArtifacts.full();
        start(Rig.own(Rig.counter(1000)));
        FreeStyleBuild preemptor = preempt("high");
        Rig.awaitLog(victim, "The image could not be archived", 2);
        StageRecord stage = Rig.awaitState(StageState.SUSPENDED);
        for (String folder : List.of("stages/" + stage.id() + "/images", "exchange/" + stage.id())) {
            agent.getRootPath().child("preemptible").child(folder).deleteRecursive();
        }
        killFrozen(stage);
        ends(preemptor);
        j.assertBuildStatus(Result.FAILURE, j.waitForCompletion(victim));
        assertThat(
                Rig.log(victim).replace('\n', ' '),
                matchesPattern(".*The stage is lost, as a running one would be: its processes were frozen.*"));
        Rig.assertNothingLeft(agent, low);
    }

    private static void killFrozen(StageRecord stage) throws Exception {
        for (String group : HostProcesses.controlGroups(stage.id())) {
            Path kill = Path.of(group, "cgroup.kill");
            assumeTrue(Files.exists(kill), "control groups of version 2 are needed");
            Files.writeString(kill, "1");
        }
    }
}
