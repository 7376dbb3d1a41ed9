package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.greaterThan;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import hudson.cli.CLICommandInvoker;
import hudson.model.Computer;
import hudson.model.Result;
import hudson.model.User;
import hudson.slaves.OfflineCause;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.history.SuspensionHistoryAction;
import io.jenkins.plugins.preemptible.lifecycle.stage.ImagePath;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageCheckpoint;
import io.jenkins.plugins.preemptible.view.SuspendedBadgeAction;
import java.io.File;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A running stage whose agent is lost goes on elsewhere from its last checkpoint. */
@Tag("acceptance")
class CheckpointTest extends CheckpointedOnTwoHosts {

    @Tag("slow")
    @Test
    void onARemovedAgentItGoesOnElsewhereAndTheOldOneIsEnded() throws Exception {
        WorkflowRun run = checkpointed(4);
        // Two kept, two that they refer to, and one that is being stored, two files each.
        assertThat(run.getArtifacts().size(), not(greaterThan(10)));
        await("a difference")
                .atMost(LONG)
                .until(() -> stage().checkpoints().made().get(0).imageBase() != null);
        remove("A");
        Rig.awaitLog(
                run,
                "The agent 'A' is lost. What still runs there is ended when it connects. This stage is resumed on another agent");
        await("its badge").atMost(LONG).until(() -> badge(run).contains("goes back to its checkpoint of "));
        assertThat(
                j.createWebClient().goTo("preemptible/").getBody().getTextContent(),
                containsString("what it did since then is repeated"));
        hosts.connect("B");
        await("a move").atMost(LONG).until(() -> Rig.log(run).contains("Moved from A to B in "));
        assertThat(
                j.createWebClient()
                        .goTo(run.getUrl() + "preemptible/")
                        .getBody()
                        .getTextContent(),
                containsString(", on B"));
        assertEquals(1, hosts.stages("A"), "cut off, and still there");
        hosts.connect("C", "A");
        await("the old host is clean").atMost(LONG).until(() -> hosts.stages("A") == 0);
        endsOn("B", run);
    }

    private static String badge(WorkflowRun run) {
        SuspendedBadgeAction badge = run.getAction(SuspendedBadgeAction.class);
        return badge == null ? "" : badge.getTooltip();
    }

    @Test
    @Tag("slow")
    void onAnAgentThatStaysAwayItGoesOnElsewhere() throws Exception {
        WorkflowRun run = checkpointed(1);
        j.jenkins
                .getNode("A")
                .toComputer()
                .disconnect(new OfflineCause.ByCLI("gone"))
                .get();
        hosts.connect("B");
        Rig.awaitLog(
                run,
                "The agent 'A' is lost. What still runs there is ended when it connects. This stage is resumed on another agent");
        endsOn("B", run);
    }

    @Test
    @Tag("slow")
    void anAgentThatIsBackSoonKeepsItsStage() throws Exception {
        WorkflowRun run = checkpointed(1);
        hosts.connect("B");
        j.jenkins.getNode("A").toComputer().disconnect(null).get();
        hosts.connectAgain("A");
        Rig.awaitCounting(run);
        Files.createFile(hosts.workspace("A", "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(run));
        assertThat(Rig.log(run), not(containsString("is lost")));
        Rig.countedAtLeast(run, 4);
    }

    /** An administrator or a monitor of disks marks it: Jenkins lets what runs there go on. */
    @Test
    @Tag("slow")
    void anAgentThatIsMarkedOfflineKeepsItsRunningStage() throws Exception {
        WorkflowRun run = checkpointed(1);
        hosts.connect("B");
        Computer agent = j.jenkins.getNode("A").toComputer();
        agent.setTemporaryOfflineCause(new OfflineCause.UserCause(User.getUnknown(), "disk check"));
        assertNotNull(agent.getChannel());
        // Longer than an agent that is away is waited for.
        TimeUnit.SECONDS.sleep(45);
        assertThat(Rig.log(run), not(containsString("is lost")));
        ends("A", run);
        Rig.countedAtLeast(run, 4);
        await("A is clean, though marked").atMost(LONG).until(() -> hosts.stages("A") == 0);
    }

    /** As by a restart of its host: the agent is back at once, and nothing of the stage runs there. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Tag("slow")
    void anAgentWhoseHostHasRestartedResumesItItself(boolean anotherBoot) throws Exception {
        WorkflowRun run = checkpointed(1);
        j.jenkins.getNode("A").toComputer().disconnect(null).get();
        if (anotherBoot) {
            hosts.boot("A");
        } else {
            hosts.killStages("A");
        }
        hosts.connectAgain("A");
        Rig.awaitLog(run, "The host of the agent 'A' has lost this stage's processes.");
        Rig.awaitLog(run, "Resumed from the checkpoint of ");
        Rig.awaitState(StageState.RUNNING);
        assertEquals(List.of(), stage().leftHosts(), "it runs there");
        // A host that the stage had left is cleaned of it when it connects.
        j.jenkins.getNode("A").toComputer().disconnect(null).get();
        hosts.connectAgain("A");
        endsRolledBack("A", run);
        assertThat(Rig.log(run), not(containsString("Not resumed. ")));
        assertThat(Rig.log(run), not(containsString("whose answer was lost")));
    }

    /** A store that is away says nothing of the checkpoint: an older one repeats more work. */
    @Test
    @Tag("slow")
    void theNewestOneIsWaitedForWhileTheStoreIsAway() throws Exception {
        HeldArtifacts.install();
        try {
            WorkflowRun run = checkpointed(2);
            StageCheckpoint newest = stage().checkpoints().made().get(0);
            remove("A");
            Rig.awaitLog(run, "The agent 'A' is lost.");
            HeldArtifacts.shut();
            hosts.connect("B");
            await("its image is being fetched").atMost(LONG).until(() -> HeldArtifacts.waiting() == 1);
            HeldArtifacts.broken();
            HeldArtifacts.letIn();
            Rig.awaitLog(run, "Not moved. ");
            assertEquals(newest.file(), stage().imageFile());
            HeldArtifacts.open();
            new CLICommandInvoker(j, "preemptible-move").invokeWithArgs("low", "1", "--to", "B");
            endsOn("B", run);
            assertThat(Rig.log(run), not(containsString(" ago is tried next, in place of ")));
        } finally {
            HeldArtifacts.open();
        }
    }

    /** What the current one refers to is cut off: the agent refuses it, and has the one before it then. */
    @Test
    @Tag("slow")
    void aBadOneFallsBackToTheOneBefore() throws Exception {
        WorkflowRun run = checkpointed(4);
        assertEquals(2, stage().checkpoints().made().size());
        remove("A");
        Rig.awaitLog(run, "The agent 'A' is lost.");
        StageCheckpoint newest = stage().checkpoints().made().get(0);
        Path image = new File(run.getArtifactsDir(), ImagePath.of(stage().id(), newest.fullImage())).toPath();
        try (FileChannel file = FileChannel.open(image, StandardOpenOption.WRITE)) {
            file.truncate(file.size() / 2);
        }
        hosts.connect("B");
        Rig.awaitLog(run, " ago is tried next, in place of that of ");
        endsOn("B", run);
    }

    @Test
    void whereMovesAreNotAllowedTheLogSaysThatNoneIsMade() throws Exception {
        PreemptibleConfiguration.get().setMoveStages(false);
        WorkflowRun run = running("true");
        j.assertBuildStatusSuccess(j.waitForCompletion(run));
        assertThat(
                Rig.log(run),
                containsString("No checkpoint of this stage is made (checkpointEvery) until an administrator allows"));
    }

    /** That one does nothing to the stage's files: while both are in flight, a checkpoint of then is of use. */
    @Tag("slow")
    @Test
    void aStepThatWaitsInTheControllerOnlyDoesNotStandAgainstIt() throws Exception {
        hosts.connect("A");
        WorkflowRun run = Rig.start(rig.pipeline("low", 5, besideSh("sleep 3000")));
        noFurtherOne(run, 1);
        PreemptibleConfiguration.get().setMoveStages(true);
        remove("A");
        Rig.awaitLog(
                run, "The agent 'A' is lost. What still runs there is ended when it connects. This stage is resumed");
        hosts.connect("B");
        Rig.awaitLog(run, "Resumed from the checkpoint of ");
        assertEquals("B", Rig.awaitState(StageState.RUNNING).node());
        await("it is in the build's history").atMost(LONG).until(() -> {
            SuspensionHistoryAction history = run.getAction(SuspensionHistoryAction.class);
            return history != null
                    && history.getStages().get(0).getSuspensions().stream()
                            .anyMatch(each -> each.getReason().equals(Reason.PROCESSES_LOST.name()) && !each.isOpen());
        });
        Rig.awaitCounting(run);
        run.doStop();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(run));
    }

    @Test
    void aStepThatKeepsItFromBeingMadeIsNamed() throws Exception {
        hosts.connect("A");
        WorkflowRun run = Rig.start(rig.pipeline("low", 5, besideSh("waitUntil { false }")));
        Rig.awaitLog(run, "No checkpoint is made. The step 'waitUntil' runs in it");
        run.doStop();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(run));
        assertThat(Rig.log(run), not(containsString(MADE)));
    }

    private static String besideSh(String step) {
        return "preemptible(label: '" + Rig.LABEL + "', checkpointEvery: 5) { parallel(a: { sh '" + counting()
                + "' }, b: { " + step + " }) }";
    }

    /** Nothing undoes the end of a step: the stage is told, and its build ends as without checkpoints. */
    @Test
    void aCheckpointOfAStepThatHasEndedIsOfNoUse() throws Exception {
        WorkflowRun run = running("while [ ! -e next ]; do sleep 0.1; done'''\nsh '''set +x\n" + Rig.endless());
        Rig.awaitLog(run, MADE);
        PreemptibleConfiguration.get().setMoveStages(false);
        Files.createFile(hosts.workspace("A", "low").resolve("next"));
        Rig.awaitCounting(run);
        PreemptibleConfiguration.get().setMoveStages(true);
        remove("A");
        Rig.awaitLog(run, "no checkpoint of this stage is of use");
        run.doStop();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(run));
        await("nothing among the artifacts")
                .atMost(LONG)
                .untilAsserted(() -> assertEquals(List.of(), run.getArtifacts()));
    }
}
