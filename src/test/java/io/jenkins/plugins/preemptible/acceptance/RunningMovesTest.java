package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import hudson.cli.CLICommandInvoker;
import hudson.model.Result;
import hudson.slaves.OfflineCause;
import io.jenkins.plugins.preemptible.acceptance.faults.FullDisk;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.HeldStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.util.List;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.jvnet.hudson.test.JenkinsRule;

/** Stages that run, and that users want on another agent: nobody wants them suspended for any longer than that needs. */
@Tag("acceptance")
class RunningMovesTest extends MovedStages {

    @RegisterExtension
    static final Periods PERIODS = new Periods()
            // In tests Pipeline's steps wait for an agent for fifteen seconds only.
            .with("lifecycle.SuspendedSteps.periodMillis", 3000)
            .with("lifecycle.Sealing.retryMillis", 1000)
            .with("lost.LostAgents.awayMillis", 3000);

    @AfterEach
    void asBefore() {
        PreemptibleConfiguration.get().setEnabled(true);
        PreemptibleConfiguration.get().setUndumpable("wait");
        HeldArtifacts.open();
    }

    /** Asks until both agents are described. */
    private void begins(WorkflowRun stage) throws Exception {
        await("it is taken")
                .atMost(LONG)
                .untilAsserted(() -> assertThat(
                        asked("B"),
                        containsString("is being suspended, and resumes on B as soon as its image is sealed")));
        Rig.awaitLog(stage, "Move to B requested by ");
    }

    private void resumesOnItsOwn(WorkflowRun stage) throws Exception {
        Rig.awaitLog(stage, "Resumed on A");
        StageRecord resumed = Rig.awaitState(StageState.RUNNING);
        assertNull(resumed.moveTo());
        Rig.awaitAnotherLook();
        Rig.awaitAnotherLook();
        assertEquals(1, record().suspensions(), "it is not suspended again");
        endsOn("A", stage);
        assertThat(Rig.log(stage), not(containsString("Moved from")));
    }

    @Test
    void oneCommandIsEnough() throws Exception {
        WorkflowRun stage = begin(counter());
        hosts.connect("B");
        begins(stage);
        awaitMoved(stage, "A", "B");
        StageRecord moved = Rig.awaitState(StageState.RUNNING);
        assertFalse(moved.byHand());
        assertNull(moved.moveTo());
        assertEquals(1, moved.suspensions());
        endsOn("B", stage);
        assertThat(Rig.log(stage), not(containsString("stays suspended until someone resumes it")));
        awaitClean("A");
    }

    @Test
    @Tag("slow")
    void oneFormIsEnough() throws Exception {
        WorkflowRun stage = begin(counter());
        hosts.connect("B");
        await("B is offered").atMost(LONG).untilAsserted(() -> assertEquals(List.of("B"), offered(stage)));
        j.submit(moveForm(stage));
        awaitMoved(stage, "A", "B");
        endsOn("B", stage);
    }

    /** A file of A's that the stage has open is not on B, which only the trial there shows. */
    @Test
    void refusedThereItResumesOnItsOwnAgent() throws Exception {
        WorkflowRun stage = begin(
                "sh 'echo content > ../../held'\n" + counter().replace("set +x\n", "set +x; exec 4< ../../held\n"));
        hosts.connect("B");
        begins(stage);
        Rig.awaitLog(stage, "Move to B cancelled: The image was tried and cannot be restored");
        assertThat(
                Rig.log(stage),
                containsString("The stage is resumed as any suspended stage is; that agent is not tried again"));
        resumesOnItsOwn(stage);
    }

    @Test
    @Tag("slow")
    void anAgentThatIsRemovedMeanwhile() throws Exception {
        WorkflowRun stage = RunningMove.SEALED.begin(j, rig, hosts);
        assertThat(asked("B"), containsString("is resumed on B as soon as an executor is idle there"));
        assertFalse(record().byHand());
        j.jenkins.removeNode(j.jenkins.getNode("B"));
        Rig.awaitLog(
                stage,
                "Move to B cancelled: that agent was removed from Jenkins. The stage is resumed as any suspended stage is.");
        resumesOnItsOwn(stage);
    }

    @Test
    @Tag("slow")
    void anAgentThatStaysAway() throws Exception {
        WorkflowRun stage = RunningMove.SEALED.begin(j, rig, hosts);
        j.jenkins
                .getNode("B")
                .toComputer()
                .disconnect(new OfflineCause.ByCLI("gone"))
                .get();
        Rig.awaitLog(stage, "Move to B cancelled: An agent is offline");
        resumesOnItsOwn(stage);
    }

    /** A user has suspended it as well, and it stays so when the move is refused. */
    @Test
    @Tag("slow")
    void oneThatIsToStaySuspendedStaysSo() throws Exception {
        WorkflowRun stage = RunningMove.SEALED.begin(j, rig, hosts);
        suspend(stage, 1);
        j.jenkins.removeNode(j.jenkins.getNode("B"));
        Rig.awaitLog(
                stage,
                "Move to B cancelled: that agent was removed from Jenkins. The stage stays suspended until someone resumes it.");
        Rig.awaitAnotherLook();
        assertEquals(StageState.SUSPENDED, record().state());
        new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("low", "1");
        resumesOnItsOwn(stage);
    }

    @Test
    void itIsTakenBack() throws Exception {
        WorkflowRun stage = RunningMove.SEALED.begin(j, rig, hosts);
        CLICommandInvoker.Result back = new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("low", "1");
        assertEquals(0, back.returnCode(), back.stderr());
        resumesOnItsOwn(stage);
    }

    /** Whatever has been done for it by then. */
    @ParameterizedTest
    @Tag("slow")
    @EnumSource
    void anAbortedBuildLeavesNothing(RunningMove moment) throws Exception {
        WorkflowRun stage = moment.begin(j, rig, hosts);
        stage.doStop();
        HeldArtifacts.open();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(stage));
        StagesSeen.assertNothingRuns();
        awaitClean("A");
        awaitClean("B");
        await("no record").atMost(LONG).untilAsserted(() -> {
            assertEquals(List.of(), List.copyOf(StageRegistry.get().all()));
            assertEquals(List.of(), List.copyOf(StageRegistry.get().leftovers()));
            assertEquals(List.of(), stage.getArtifacts());
        });
    }

    /** How large it is shows once it is sealed. */
    @Test
    @Tag("slow")
    void anAgentThatHasNoRoomForIt() throws Exception {
        WorkflowRun stage = begin("sh 'head -c 90000000 /dev/urandom > big'\n" + counter());
        try (FullDisk disk = diskOfB("60m")) {
            hosts.connect("B");
            begins(stage);
            Rig.awaitLog(stage, "Move to B cancelled: " + sentence(MoveObstacle.DISK_FULL));
            resumesOnItsOwn(stage);
        }
    }

    /** Others have written there since that was asked. */
    @Test
    @Tag("slow")
    void anAgentWhoseDiskIsFullMeanwhile() throws Exception {
        try (FullDisk disk = diskOfB("400m")) {
            WorkflowRun stage = RunningMove.MOVING.begin(j, rig, hosts);
            disk.fill();
            HeldArtifacts.open();
            Rig.awaitLog(stage, "Not moved. " + sentence(MoveObstacle.DISK_FULL));
            resumesOnItsOwn(stage);
            disk.empty();
            awaitClean("B");
        }
    }

    /** Such a stage is refused beforehand, and nothing of it is begun. */
    @Test
    void oneThatIsNeverSealed() throws Exception {
        WorkflowRun stage = begin("sh '''set +x\n" + FrozenOnlyTest.traced() + "\n'''");
        hosts.connect("B");
        Rig.awaitLog(stage, "This stage cannot be suspended. ");
        FrozenOnlyTest.freezeOnly(600);
        await("it is refused").atMost(LONG).until(() -> asked("B").contains("cannot be dumped, so no image of it"));
        PreemptibleConfiguration.get().setUndumpable("wait");
        assertThat(asked("B"), containsString("runs and cannot be suspended."));
        PreemptibleConfiguration.get().setEnabled(false);
        assertThat(asked("B"), containsString("preemption is switched off"));
        PreemptibleConfiguration.get().setEnabled(true);
        PreemptibleConfiguration.get().setMoveStages(false);
        assertThat(asked("B"), containsString(MoveObstacle.SWITCHED_OFF.sentence()));
        Rig.awaitAnotherLook();
        assertEquals(StageState.RUNNING, record().state());
        assertThat(Rig.log(stage), not(containsString("Move to B requested")));
        endsOn("A", stage);
    }

    /** Once the move was promised it runs under strace: it could be suspended, but not sealed. */
    @Test
    @Tag("slow")
    void oneThatCannotBeSealedAnyMore() throws Exception {
        Rig.assumeInstalled("strace", "strace");
        FrozenOnlyTest.freezeOnly(600);
        WorkflowRun stage = begin("parallel(one: { sh '''set +x\n" + Rig.counter(3)
                + "\nwhile [ ! -e trace ]; do sleep 0.2; done\nstrace -f -o /dev/null sleep 3600\n''' },"
                + " other: { sleep 3600 })");
        hosts.connect("B");
        begins(stage);
        Files.createFile(hosts.workspace("A", "low").resolve("trace"));
        Rig.awaitLog(stage, "Move to B cancelled: this stage cannot be dumped. ");
        assertThat(Rig.log(stage), containsString("strace"));
        Rig.awaitLog(stage, "The stage keeps running.");
        assertEquals(StageState.RUNNING, record().state());
        assertNull(record().moveTo());
        stage.doStop();
        j.waitForCompletion(stage);
    }

    /** Of a connection that was opened a moment ago only the freeze knows. */
    @Test
    @Tag("slow")
    void oneThatTheFreezeFindsThatItCannotBeSealed() throws Exception {
        Rig.assumeInstalled("bash", "bash");
        FrozenOnlyTest.freezeOnly(600);
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            WorkflowRun stage = begin("sh '''set +x\ncat > count.sh <<'END'\n" + Rig.counter(3)
                    + "\nwhile [ ! -e connect ]; do sleep 0.1; done\nexec 3<>/dev/tcp/127.0.0.1/"
                    + server.getLocalPort()
                    + "\nsleep 3600\nEND\nbash count.sh\n'''");
            hosts.connect("B");
            await("B is offered").atMost(LONG).untilAsserted(() -> assertEquals(List.of("B"), offered(stage)));
            try (HeldStage untouched = new HeldStage(record().id())) {
                Files.createFile(hosts.workspace("A", "low").resolve("connect"));
                server.accept();
                begins(stage);
            }
            Rig.awaitLog(stage, "Move to B cancelled: this stage cannot be dumped. ");
            assertThat(Rig.log(stage), containsString("127.0.0.1:" + server.getLocalPort()));
            Rig.awaitLog(stage, "The stage keeps running.");
            assertEquals(StageState.RUNNING, record().state());
            assertNull(record().moveTo());
            stage.doStop();
            j.waitForCompletion(stage);
        }
    }

    /** It would be in its agent's memory for ever, and nobody wants that. */
    @Test
    @Tag("slow")
    void oneWhoseImageCannotBeStored() throws Exception {
        HeldArtifacts.install();
        WorkflowRun stage = begin(counter());
        hosts.connect("B");
        HeldArtifacts.full();
        begins(stage);
        Rig.awaitLog(
                stage,
                "Move to B cancelled: no image of this stage is made. The stage is resumed as any suspended stage is.");
        resumesOnItsOwn(stage);
    }

    /** It cannot be suspended yet, so the wish waits; it is gone with the agent. */
    @Test
    @Tag("slow")
    void aStepThatIsNoProcessIsAwaited() throws Exception {
        WorkflowRun stage = begin("parallel(one: {\n" + counter() + "\n}, other: { sleep 3600 })");
        hosts.connect("B");
        begins(stage);
        Rig.awaitLog(stage, "Not suspended yet.");
        try (JenkinsRule.WebClient web = j.createWebClient()) {
            assertThat(
                    web.getPage(stage).asNormalizedText(),
                    containsString("will be suspended as soon as possible, and resumes on B then."));
        }
        j.jenkins.removeNode(j.jenkins.getNode("B"));
        Rig.awaitLog(stage, "Move to B cancelled: that agent was removed from Jenkins. The stage keeps running.");
        assertNull(record().moveTo());
        stage.doStop();
        j.waitForCompletion(stage);
    }
}
