package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.cli.CLICommandInvoker;
import hudson.model.Node;
import hudson.model.Result;
import hudson.slaves.OfflineCause;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.ImagePath;
import io.jenkins.plugins.preemptible.lifecycle.stage.LuggageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.File;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What was sealed outlives its host: the agent of a suspended stage is removed or stays away, and the stage goes on. */
@Tag("acceptance")
class LostAgentTest extends OnTwoHosts {

    @RegisterExtension
    static final Periods PERIODS = new Periods()
            .with("move.LeftAgent.delayMillis", 500)
            // In tests Pipeline's steps wait for an agent for fifteen seconds only.
            .with("lifecycle.SuspendedSteps.periodMillis", 3000)
            .with("lost.LostAgents.awayMillis", 3000)
            .with("lifecycle.RemovedAgent.graceMillis", 2000);

    /** A stage that is suspended manually on agent A. */
    private WorkflowRun suspended() throws Exception {
        hosts.connect("A");
        WorkflowRun stage = Rig.start(rig.pipeline("low", 5, script()));
        Rig.awaitLog(stage, "count-3\n");
        command("preemptible-suspend", "low", "1");
        return stage;
    }

    private static String script() {
        return "preemptible(label: '" + Rig.LABEL + "') { sh 'echo marked > mark'\nsh '''set +x\n" + Rig.endless()
                + "\n'''\nsh 'echo \"later on $NODE_NAME\"; cat mark' }";
    }

    private WorkflowRun sealed() throws Exception {
        WorkflowRun stage = suspended();
        Rig.awaitSealed(stage, 1);
        return stage;
    }

    private String command(String... words) {
        CLICommandInvoker.Result said =
                new CLICommandInvoker(j, words[0]).invokeWithArgs(java.util.Arrays.copyOfRange(words, 1, words.length));
        return said.stdout() + said.stderr();
    }

    private void remove(String agent) throws Exception {
        Node node = j.jenkins.getNode(agent);
        node.toComputer().disconnect(null).get();
        j.jenkins.removeNode(node);
    }

    private void endsOn(String agent, WorkflowRun stage) throws Exception {
        await("a move to " + agent)
                .atMost(LONG)
                .until(() -> Rig.log(stage).contains("Moved from A to " + agent + " in "));
        assertEquals(agent, Rig.awaitState(StageState.RUNNING).node());
        Rig.awaitCounting(stage);
        Files.createFile(hosts.workspace(agent, "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
        Rig.countedAtLeast(stage, 4);
        assertThat(Rig.log(stage), containsString("\nlater on " + agent + "\n"));
        assertThat(Rig.log(stage), containsString("\nmarked\n"));
        await("nothing among the artifacts")
                .atMost(LONG)
                .untilAsserted(() -> assertEquals(0, stage.getArtifacts().size()));
    }

    @Test
    @Tag("slow")
    void aStageOfARemovedAgentGoesOnElsewhere() throws Exception {
        WorkflowRun stage = sealed();
        assertThat(Rig.log(stage), containsString("the stage can be resumed without this agent"));
        remove("A");
        Rig.awaitLog(stage, "The agent 'A' was removed from Jenkins. This stage is resumed on another agent that fits");
        command("preemptible-resume", "low", "1");
        hosts.connect("B");
        endsOn("B", stage);
    }

    /** Its own agent is back when the stage runs elsewhere: it is cleaned, and never resumes the stage. */
    @Test
    void aStageOfAnAgentThatStaysAwayGoesOnElsewhere() throws Exception {
        WorkflowRun stage = sealed();
        command("preemptible-resume", "low", "1");
        j.jenkins
                .getNode("A")
                .toComputer()
                .disconnect(new OfflineCause.ByCLI("gone"))
                .get();
        // Not before: an agent that is there already may have the stage at once.
        Rig.awaitLog(stage, "The agent 'A' has been away for");
        hosts.connect("B");
        await("a move").atMost(LONG).until(() -> Rig.log(stage).contains("Moved from A to B in "));
        StageRecord runs = Rig.awaitState(StageState.RUNNING);
        assertEquals(1, runs.leftHosts().size());
        assertTrue(Files.exists(hosts.workspace("A", "low@tmp")));
        j.jenkins.getNode("A").toComputer().connect(false);
        await("A is clean").atMost(LONG).until(() -> hosts.stages("A") == 0);
        await("nothing is noted of it any more")
                .atMost(LONG)
                .until(() -> StageRegistry.get().find(runs.id()).leftHosts().isEmpty());
        await("no secrets are left there").atMost(LONG).until(() -> !Files.exists(hosts.workspace("A", "low@tmp")));
        assertEquals(1, hosts.stages("B"));
        endsOn("B", stage);
    }

    /** Its agent answers, and takes no builds. */
    @Test
    @Tag("slow")
    void aSuspendedStageOfAnAgentThatIsMarkedOfflineGoesOnElsewhere() throws Exception {
        WorkflowRun stage = sealed();
        command("preemptible-resume", "low", "1");
        j.jenkins.getNode("A").toComputer().setTemporaryOfflineCause(new OfflineCause.ByCLI("disk check"));
        Rig.awaitLog(stage, "The agent 'A' has been marked offline for");
        hosts.connect("B");
        endsOn("B", stage);
        await("A is clean, though marked").atMost(LONG).until(() -> hosts.stages("A") == 0);
    }

    /** A notice that it is about to go: what runs there is suspended, sealed, and goes on elsewhere before it is gone. */
    @Test
    @Tag("slow")
    void anEvacuatedAgentGivesItsStagesAway() throws Exception {
        hosts.connect("A");
        WorkflowRun stage = Rig.start(rig.pipeline("low", 5, script()));
        Rig.awaitLog(stage, "count-3\n");
        assertThat(command("preemptible-evacuate", "A"), containsString("suspended and sealed: 1"));
        Rig.awaitLog(stage, "The agent A is evacuated by ");
        Rig.awaitSealed(stage, 1);
        await("it is told")
                .atMost(LONG)
                .until(() -> command("preemptible-evacuate", "A").contains("need it no more: 1"));
        hosts.connect("B");
        endsOn("B", stage);
        assertTrue(j.jenkins.getNode("A").toComputer().isOnline());
        command("preemptible-drain", "A", "--undo");
    }

    @Test
    void withoutMovesThereIsNoEvacuation() throws Exception {
        PreemptibleConfiguration.get().setMoveStages(false);
        hosts.connect("A");
        assertThat(command("preemptible-evacuate", "A"), containsString("Drain the agent instead"));
        assertFalse(DrainedAgents.get().contains("A"));
    }

    /** It goes in the midst of the sealing: nothing was stored, and the build says so. */
    @Test
    void anAgentThatGoesBeforeItsStageIsSealedTakesItAlong() throws Exception {
        WorkflowRun stage = suspended();
        Rig.awaitState(StageState.SUSPENDED);
        remove("A");
        hosts.connect("B");
        j.waitForCompletion(stage);
        String log = Rig.log(stage);
        if (log.contains("can be resumed without this agent")) {
            // It was faster.
            return;
        }
        j.assertBuildStatus(Result.ABORTED, stage);
        assertThat(log, containsString("was removed while the stage was suspended"));
    }

    /** The process of the agent is killed, and is not back in time. */
    @Test
    @Tag("slow")
    void aKilledAgentIsLeft() throws Exception {
        WorkflowRun stage = sealed();
        hosts.kill("A");
        awaitOffline("A");
        command("preemptible-resume", "low", "1");
        hosts.connect("B");
        endsOn("B", stage);
    }

    private void awaitOffline(String agent) {
        await(agent + " is offline")
                .atMost(LONG)
                .until(() -> j.jenkins.getNode(agent).toComputer().isOffline());
    }

    /** It may run there, so that it waits, until the agent is removed. */
    @Test
    @Tag("slow")
    void anAgentThatHasNotAnsweredIsWaitedForUntilItIsRemoved() throws Exception {
        WorkflowRun stage = sealed();
        StageRecord record = Rig.awaitState(StageState.SUSPENDED);
        hosts.kill("A");
        awaitOffline("A");
        StageRegistry.get().update(record.id(), LuggageChanges.treeEnded(false));
        command("preemptible-resume", "low", "1");
        hosts.connect("B");
        Rig.awaitLog(stage, "It was asked to resume this stage and has not answered");
        Rig.awaitAnotherLook();
        assertEquals("A", Rig.awaitState(StageState.SUSPENDED).node());
        remove("A");
        Rig.awaitLog(stage, "It may still run on the host of that agent");
        endsOn("B", stage);
    }

    /** It is named where the stage waits for it, and not its own agent, which is there. */
    @Test
    @Tag("slow")
    void anotherAgentThatHasNotAnsweredIsNamed() throws Exception {
        WorkflowRun stage = sealed();
        hosts.connect("B");
        String token = hosts.token("B");
        hosts.kill("B");
        awaitOffline("B");
        StageRegistry.get()
                .update(
                        Rig.awaitState(StageState.SUSPENDED).id(),
                        StageChanges.restoringOn("B", token).andThen(StageRecord::notByHand));
        Rig.awaitLog(stage, "The agent 'B' has been away for");
        assertThat(Rig.log(stage), containsString("It was asked to resume this stage and has not answered"));
        assertThat(Rig.log(stage), not(containsString("The agent 'A' has been away for")));
        assertEquals("A", Rig.awaitState(StageState.SUSPENDED).node());
        remove("B");
        Rig.awaitLog(stage, "Resumed on A");
        Rig.awaitCounting(stage);
        Files.createFile(hosts.workspace("A", "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
    }

    /** As an instance that was replaced, and connects by the name of the old one. */
    @Test
    @Tag("slow")
    void anotherHostOfTheSameNameIsAnotherAgent() throws Exception {
        WorkflowRun stage = sealed();
        hosts.kill("A");
        awaitOffline("A");
        hosts.switchOff("A");
        Files.createDirectory(hosts.workspace("A", "low").getParent().getParent());
        hosts.connectAgain("A");
        command("preemptible-resume", "low", "1");
        endsOn("A", stage);
    }

    /** No agent has the label any more; later one has. */
    @Test
    @Tag("slow")
    void aLabelThatNobodyHasIsWaitedFor() throws Exception {
        WorkflowRun stage = sealed();
        remove("A");
        hosts.connect("B");
        j.jenkins.getNode("B").setLabelString("other");
        j.jenkins.updateNode(j.jenkins.getNode("B"));
        command("preemptible-resume", "low", "1");
        Rig.awaitAnotherLook();
        Rig.awaitAnotherLook();
        assertEquals("A", Rig.awaitState(StageState.SUSPENDED).node());
        j.jenkins.getNode("B").setLabelString(Rig.LABEL);
        j.jenkins.updateNode(j.jenkins.getNode("B"));
        endsOn("B", stage);
    }

    /** It comes back in time, and is not left. */
    @Test
    @Tag("slow")
    void anAgentThatIsBackSoonKeepsItsStage() throws Exception {
        WorkflowRun stage = sealed();
        hosts.connect("B");
        j.jenkins.getNode("A").toComputer().disconnect(null).get();
        hosts.connectAgain("A");
        command("preemptible-resume", "low", "1");
        Rig.awaitLog(stage, "Resumed on");
        assertThat(Rig.log(stage), not(containsString("has been away for")));
        StageRecord runs = Rig.awaitState(StageState.RUNNING);
        Rig.awaitCounting(stage);
        Files.createFile(hosts.workspace(runs.node(), "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
    }

    @Test
    @Tag("slow")
    void withoutItsWorkspaceItEndsWithItsAgent() throws Exception {
        PreemptibleConfiguration.get().setStoredWorkspaceMegabytes(0);
        WorkflowRun stage = sealed();
        hosts.connect("B");
        remove("A");
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(stage));
        assertThat(Rig.log(stage), containsString("was removed while the stage was suspended"));
    }

    /** It needs its agent for that, and comes with it all the same when it moves. */
    @Test
    @Tag("slow")
    void aLargeWorkspaceIsNotStored() throws Exception {
        PreemptibleConfiguration.get().setStoredWorkspaceMegabytes(1);
        hosts.connect("A");
        WorkflowJob low = rig.pipeline(
                "low",
                5,
                "preemptible(label: '" + Rig.LABEL + "') { sh 'truncate -s 3M large'\nsh '''set +x\n" + Rig.endless()
                        + "\n''' }");
        WorkflowRun stage = Rig.start(low);
        Rig.awaitLog(stage, "count-3\n");
        command("preemptible-suspend", "low", "1");
        Rig.awaitSealed(stage, 1);
        assertThat(
                Rig.log(stage),
                containsString(
                        "The workspace is not stored with the image. The workspace is larger than what is stored"));
        assertThat(Rig.log(stage), containsString(" Without its own agent the stage cannot be resumed."));
        assertEquals(1, stage.getArtifacts().size());
        hosts.connect("B");
        await("it is taken")
                .atMost(LONG)
                .until(() -> new CLICommandInvoker(j, "preemptible-move")
                                .invokeWithArgs("low", "1", "--to", "B")
                                .returnCode()
                        == 0);
        Rig.awaitLog(stage, "Moved from A to B in ");
        assertEquals(3 << 20, Files.size(hosts.workspace("B", "low").resolve("large")));
        Files.createFile(hosts.workspace("B", "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
    }

    /** An archive that was changed or cut off is refused by every agent, and the stage is not lost by that. */
    @Test
    @Tag("slow")
    void aSpoiledWorkspaceIsRefused() throws Exception {
        WorkflowRun stage = sealed();
        StageRecord record = Rig.awaitState(StageState.SUSPENDED);
        Path luggage = new File(stage.getArtifactsDir(), ImagePath.of(record.id(), ImagePath.LUGGAGE)).toPath();
        byte[] whole = Files.readAllBytes(luggage);
        try (FileChannel file = FileChannel.open(luggage, StandardOpenOption.WRITE)) {
            file.truncate(whole.length / 2);
        }
        remove("A");
        hosts.connect("B");
        command("preemptible-resume", "low", "1");
        Rig.awaitLog(stage, "Not moved.");
        assertEquals("A", Rig.awaitState(StageState.SUSPENDED).node());
        try (FileChannel file = FileChannel.open(luggage, StandardOpenOption.WRITE)) {
            file.write(ByteBuffer.wrap(whole));
        }
        hosts.connect("C");
        endsOn("C", stage);
    }
}
