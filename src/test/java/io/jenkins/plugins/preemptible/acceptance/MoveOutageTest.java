package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hudson.cli.CLICommandInvoker;
import hudson.model.Computer;
import hudson.model.Result;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LeftAgents;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** One of two agents goes away while a stage moves from one to the other. */
@Tag("acceptance")
@Tag("slow")
class MoveOutageTest extends MovedStages {

    @RegisterExtension
    static final Periods PERIODS =
            new Periods().with("move.LeftAgent.delayMillis", 500).with("lifecycle.RemovedAgent.graceMillis", 3000);

    @AfterEach
    void openDoor() {
        HeldArtifacts.open();
    }

    private static void awaitAskedOrMoved() {
        await("B is asked")
                .atMost(LONG)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(2))
                .until(() -> record().restoringOn() != null || "B".equals(record().node()));
    }

    /** Asks B to restore the stage and ends B's process before it has answered. */
    private WorkflowRun diesWhileItRestores() throws Exception {
        WorkflowRun stage = begin(largeCounter());
        suspend(stage, 1);
        hosts.connect("B");
        ProcessHandle agent = process("B");
        move("B");
        awaitAskedOrMoved();
        agent.destroyForcibly();
        awaitOffline("B");
        await("the restore has ended")
                .atMost(LONG)
                .until(() -> Rig.log(stage).matches("(?s).*(Resume postponed|Moved from A).*"));
        assumeTrue("B".equals(record().restoringOn()), "B had answered before its process was ended");
        return stage;
    }

    @Test
    void aNewAgentThatComesBackRestoresTheStage() throws Exception {
        WorkflowRun stage = diesWhileItRestores();
        reconnect("B");
        awaitMoved(stage, "A", "B");
        endsOn("B", stage);
    }

    /** It has scripts of steps and files of withCredentials in the temporary folder beside the workspace. */
    @Test
    void aNewAgentThatWasAskedIsCleanedOfAnAbortedBuild() throws Exception {
        WorkflowRun stage = diesWhileItRestores();
        Path temporary = hosts.workspace("B", "low@tmp");
        assertTrue(Files.exists(temporary));
        stage.getExecutor().interrupt();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(stage));
        reconnect("B");
        awaitClean("B");
        await(temporary + " is gone").atMost(LONG).until(() -> !Files.exists(temporary));
    }

    private List<Path> hiddenOnB() throws IOException {
        Path above = hosts.workspace("B", "low").getParent();
        if (!Files.exists(above)) {
            return List.of();
        }
        try (var all = Files.list(above)) {
            return all.filter(path -> path.getFileName().toString().startsWith(".preemptible-aside-"))
                    .toList();
        }
    }

    /** Nothing half made is in the workspace's place, neither then nor later, and nothing hidden is left. */
    @Test
    void aNewAgentThatDiesWhileItUnpacksKeepsItsWorkspace() throws Exception {
        WorkflowRun stage = begin("sh 'set +x; seq 5000 | xargs touch'\n" + counter());
        suspend(stage, 1);
        hosts.connect("B");
        Path old = Files.createDirectories(hosts.workspace("B", "low").resolve("of another build"));
        ProcessHandle agent = process("B");
        move("B");
        await("B unpacks")
                .atMost(LONG)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(2))
                .until(() -> !hiddenOnB().isEmpty());
        agent.destroyForcibly();
        awaitOffline("B");
        Rig.awaitLog(stage, "Not moved");
        assumeTrue(!hiddenOnB().isEmpty() && Files.exists(old), "B had unpacked it before its process was ended");
        assertTrue(Files.notExists(hosts.workspace("B", "low").resolve("5000")));
        new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("low", "1");
        Rig.awaitLog(stage, "Resumed on A");
        assertFalse(hiddenOnB().isEmpty());
        reconnect("B");
        await("nothing hidden is left").atMost(LONG).until(() -> hiddenOnB().isEmpty());
        assertTrue(Files.exists(old));
        endsOn("A", stage);
        assertTrue(Files.exists(old));
    }

    /** Ends A's process while B restores the stage: nothing of it is cleaned there then. */
    private WorkflowRun leavesAnAgentThatGoesAway() throws Exception {
        WorkflowRun stage = begin(largeCounter());
        suspend(stage, 1);
        hosts.connect("B");
        ProcessHandle agent = process("A");
        move("B");
        awaitAskedOrMoved();
        agent.destroyForcibly();
        awaitMoved(stage, "A", "B");
        awaitOffline("A");
        assumeTrue(LeftAgents.of(record()).containsKey("A"), "A was cleaned before its process was ended");
        assertEquals(1, hosts.stages("A"));
        return stage;
    }

    @Test
    void anAgentThatWasAwayIsCleanedWhenItIsBack() throws Exception {
        WorkflowRun stage = leavesAnAgentThatGoesAway();
        reconnect("A");
        awaitClean("A");
        assertTemporaryGone();
        endsOn("B", stage);
    }

    @Test
    void anAgentThatWasAwayIsCleanedAfterTheBuild() throws Exception {
        WorkflowRun stage = leavesAnAgentThatGoesAway();
        endsOn("B", stage);
        awaitClean("B");
        assertEquals(1, hosts.stages("A"));
        reconnect("A");
        awaitClean("A");
        assertTemporaryGone();
    }

    private void assertTemporaryGone() {
        Path temporary = hosts.workspace("A", "low@tmp");
        await(temporary + " is gone").atMost(LONG).until(() -> !Files.exists(temporary));
    }

    @Test
    void aStageGoesBackToItsOwnAgentWhenTheNewOneIsRemoved() throws Exception {
        // One whose workspace is stored does not wait.
        PreemptibleConfiguration.get().setStoredWorkspaceMegabytes(0);
        WorkflowRun stage = diesWhileItRestores();
        j.jenkins.removeNode(j.jenkins.getNode("B"));
        Rig.awaitLog(stage, "The agent 'B', which was asked to resume this stage and has not answered, was removed");
        Rig.awaitLog(stage, "The agent 'B' is not waited for any more: this stage is resumed on 'A'");
        Rig.awaitLog(stage, "Move to B cancelled: that agent was removed from Jenkins.");
        assertNull(record().restoringOn());
        new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("low", "1");
        Rig.awaitLog(stage, "Resumed on A");
        hosts.connect("B");
        awaitClean("B");
        endsOn("A", stage);
    }

    /** The new agent's host is replaced by another one, which knows nothing: the stage may run on the one that was asked. */
    @Test
    void aStrangeHostOfTheNewAgentIsNotBelieved() throws Exception {
        WorkflowRun stage = diesWhileItRestores();
        hosts.switchOff("B");
        Files.createDirectory(hosts.workspace("B", "low").getParent().getParent());
        hosts.connectAgain("B");
        Rig.awaitLog(stage, "Resume postponed: The agent 'B' has no record of this stage");
        assertEquals("B", record().restoringOn());
        assertEquals("A", record().node());
        j.jenkins.removeNode(j.jenkins.getNode("B"));
        Rig.awaitLog(stage, "The agent 'B' is not waited for any more");
        assertEquals(1, record().leftHosts().size());
        new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("low", "1");
        Rig.awaitLog(stage, "Resumed on A");
        hosts.connect("C", "B-off");
        await("its host is cleaned of the stage")
                .atMost(LONG)
                .until(() -> record().leftHosts().isEmpty());
        assertEquals(0, hosts.stages("B-off"));
        endsOn("A", stage);
    }

    /** It may run on the new one, which has all of it. */
    @Test
    void theOldAgentIsNotNeededOnceTheNewOneWasAsked() throws Exception {
        PreemptibleConfiguration.get().setStoredWorkspaceMegabytes(0);
        WorkflowRun stage = begin(largeCounter());
        suspend(stage, 1);
        hosts.connect("B");
        move("B");
        awaitAskedOrMoved();
        hosts.signal("B", 19);
        assumeTrue("B".equals(record().restoringOn()), "B had answered before its process was stopped");
        j.jenkins.removeNode(j.jenkins.getNode("A"));
        // Longer than an agent that was removed is waited for.
        TimeUnit.SECONDS.sleep(6);
        boolean building = stage.isBuilding();
        hosts.signal("B", 18);
        assertTrue(building, Rig.log(stage));
        awaitMoved(stage, "A", "B");
        endsOn("B", stage);
    }

    /** The log names the agent, and not the connection that was closed with it. */
    @Test
    void theLogSaysThatTheNewAgentWasRemovedMeanwhile() throws Exception {
        HeldArtifacts.install();
        WorkflowRun stage = begin(counter());
        suspend(stage, 1);
        Computer agent = hosts.connect("B").toComputer();
        HeldArtifacts.shut();
        move("B");
        await("its image is being fetched").atMost(LONG).until(() -> HeldArtifacts.waiting() == 1);
        j.jenkins.removeNode(j.jenkins.getNode("B"));
        await("B is away").atMost(LONG).until(agent::isOffline);
        HeldArtifacts.open();
        Rig.awaitLog(stage, "Not moved. The agent 'B' was removed from Jenkins meanwhile.");
        assertEquals("A", Rig.awaitState(StageState.SUSPENDED).node());
        assertNull(record().moveTo());
        new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("low", "1");
        Rig.awaitLog(stage, "Resumed on A");
        endsOn("A", stage);
    }
}
