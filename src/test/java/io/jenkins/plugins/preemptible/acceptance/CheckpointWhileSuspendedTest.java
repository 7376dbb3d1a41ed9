package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.cli.CLICommandInvoker;
import hudson.model.Result;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.nio.file.Files;
import java.util.List;
import java.util.stream.Stream;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A stage with a checkpoint loses its host while it is being suspended, is frozen and not sealed yet, or is resumed from its
 * frozen processes: it goes on from the checkpoint.
 *
 * <p>{@link HeldArtifacts} keeps its image from being stored, a stopped agent from answering.
 */
@Tag("acceptance")
@Tag("slow")
class CheckpointWhileSuspendedTest extends CheckpointedOnTwoHosts {

    private static final String BACK_TO = "from its checkpoint of ";
    private static final String REPEATED = " of work are repeated.";

    /** Where the stage is when its host is lost. */
    private enum Moment {
        /** The freeze was asked for, and the agent has not answered. */
        FREEZING,
        /** It is frozen, and has its executor until its image is stored. */
        SUSPENDING,
        /** Its executor is gone, its image is being stored. */
        SEALING,
        /** Its executor is gone, and no image is made yet. */
        FROZEN,
        /** It has an executor again, and its agent was asked to thaw it. */
        RESUMING
    }

    /** How its host is lost. */
    private enum Loss {
        REMOVED,
        AWAY,
        RESTARTED
    }

    @BeforeEach
    void door() {
        HeldArtifacts.install();
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
    }

    @AfterEach
    void openDoor() throws Exception {
        HeldArtifacts.open();
        if (hosts != null) {
            hosts.signal("A", LibC.SIGCONT);
        }
    }

    private String command(String name) {
        CLICommandInvoker.Result said = new CLICommandInvoker(j, name).invokeWithArgs("low", "1");
        return said.stdout() + said.stderr();
    }

    /** A stage at that moment; moves are allowed. */
    private WorkflowRun at(Moment moment) throws Exception {
        WorkflowRun run = notAnyMoreCheckpointed(1);
        HeldArtifacts.shut();
        switch (moment) {
            case FREEZING -> {
                hosts.signal("A", LibC.SIGSTOP);
                command("preemptible-suspend");
                Rig.awaitState(StageState.SUSPENDING);
            }
            case SUSPENDING -> {
                PreemptibleConfiguration.get().setMemoryFloorMegabytes(1 << 20);
                command("preemptible-suspend");
                atTheDoor();
                assertEquals(StageState.SUSPENDING, stage().state());
            }
            case SEALING, RESUMING -> {
                command("preemptible-suspend");
                atTheDoor();
                assertTrue(stage().frozen());
            }
            case FROZEN -> {
                PreemptibleConfiguration.get().setDiskFloorMegabytes(1 << 20);
                command("preemptible-suspend");
                Rig.awaitLog(run, "No image is stored yet.");
                assertTrue(stage().frozen());
            }
        }
        if (moment == Moment.RESUMING) {
            hosts.signal("A", LibC.SIGSTOP);
            command("preemptible-resume");
            Rig.awaitState(StageState.RESUMING);
        }
        PreemptibleConfiguration.get().setMoveStages(true);
        return run;
    }

    private static void atTheDoor() {
        await("the image is being stored").atMost(LONG).until(() -> HeldArtifacts.waiting() > 0);
    }

    private void lose(Loss loss) throws Exception {
        switch (loss) {
            case REMOVED -> remove("A");
            case AWAY -> {
                hosts.kill("A");
                awaitOffline();
            }
            case RESTARTED -> {
                hosts.restart("A");
                awaitOffline();
                hosts.connectAgain("A");
            }
        }
    }

    private void awaitOffline() {
        await("A is offline")
                .atMost(LONG)
                .until(() -> j.jenkins.getComputer("A").isOffline());
    }

    /** A dump that was complete outlives its processes, unless the host is booted, and is no worse than an image. */
    private static boolean isOnItsDisk(Moment moment, Loss loss) {
        return loss == Loss.RESTARTED
                && (moment == Moment.SUSPENDING || moment == Moment.SEALING || moment == Moment.RESUMING);
    }

    /**
     * Its image has arrived, and is sealed without its workspace, since moves were off when that would have been packed: a
     * stage that is suspended manually waits for its agent then.
     */
    private static boolean isSealed(Moment moment, Loss loss) {
        return loss == Loss.AWAY && moment == Moment.SEALING;
    }

    /** Each moment and each loss, but not each with each. */
    private static boolean isUsual(Moment moment, Loss loss) {
        return loss == Loss.REMOVED || moment == Moment.FROZEN;
    }

    private static Stream<Arguments> momentsAndLosses(boolean usual) {
        return Stream.of(Moment.values())
                .flatMap(moment -> Stream.of(Loss.values())
                        .filter(loss ->
                                !isOnItsDisk(moment, loss) && !isSealed(moment, loss) && isUsual(moment, loss) == usual)
                        .map(loss -> Arguments.of(moment, loss)));
    }

    static Stream<Arguments> usual() {
        return momentsAndLosses(true);
    }

    static Stream<Arguments> others() {
        return momentsAndLosses(false);
    }

    /** The rest of each with each. */
    @Tag("soak")
    @ParameterizedTest
    @MethodSource("others")
    void itGoesOnFromItsCheckpointWhicheverWayItsHostIsLost(Moment moment, Loss loss) throws Exception {
        itGoesOnFromItsCheckpoint(moment, loss);
    }

    @ParameterizedTest
    @MethodSource("usual")
    void itGoesOnFromItsCheckpoint(Moment moment, Loss loss) throws Exception {
        WorkflowRun run = at(moment);
        lose(loss);
        HeldArtifacts.open();
        PreemptibleConfiguration.get().setDiskFloorMegabytes(0);
        Rig.awaitLog(run, BACK_TO);
        Rig.awaitLog(run, REPEATED);
        if (loss == Loss.RESTARTED) {
            command("preemptible-resume");
            endsRolledBack("A", run);
            assertThat(Rig.log(run), containsString("has lost this stage's processes"));
            return;
        }
        hosts.connect("B");
        command("preemptible-resume");
        endsOn("B", run);
        assertThat(Rig.log(run), containsString("The agent 'A' is lost."));
    }

    static Stream<Moment> onItsDisk() {
        return Stream.of(Moment.values()).filter(moment -> isOnItsDisk(moment, Loss.RESTARTED));
    }

    /** Its dump was complete, though it was not stored: nothing is repeated. */
    @ParameterizedTest
    @MethodSource("onItsDisk")
    void aHostThatRestartsWithItsDumpResumesIt(Moment moment) throws Exception {
        WorkflowRun run = at(moment);
        lose(Loss.RESTARTED);
        HeldArtifacts.open();
        command("preemptible-resume");
        Rig.awaitLog(run, "Resumed on A");
        keeps(run);
        assertThat(Rig.log(run), not(containsString(REPEATED)));
    }

    /** Within the time after which an agent counts as lost: nothing is repeated. */
    @ParameterizedTest
    @EnumSource
    void anAgentThatIsBackSoonKeepsIt(Moment moment) throws Exception {
        WorkflowRun run = at(moment);
        hosts.kill("A");
        awaitOffline();
        hosts.connectAgain("A");
        HeldArtifacts.open();
        PreemptibleConfiguration.get().setDiskFloorMegabytes(0);
        hosts.connect("B");
        command("preemptible-resume");
        keeps(run);
        assertThat(Rig.log(run), not(containsString(REPEATED)));
    }

    private void keeps(WorkflowRun run) throws Exception {
        await("it runs").atMost(LONG).until(() -> stage().state() == StageState.RUNNING);
        ends(stage().node(), run);
        Rig.countedAtLeast(run, 4);
        assertThat(Rig.log(run), not(containsString("Resumed from the checkpoint of ")));
        assertThat(Rig.log(run), not(containsString("broken")));
    }

    /** It went back to its checkpoint, and nobody has resumed it since. */
    @ParameterizedTest
    @EnumSource(names = {"SUSPENDING", "FROZEN"})
    void anAgentThatIsBackBeforeItRunsElsewhereKeepsIt(Moment moment) throws Exception {
        WorkflowRun run = at(moment);
        lose(Loss.AWAY);
        HeldArtifacts.open();
        PreemptibleConfiguration.get().setDiskFloorMegabytes(0);
        Rig.awaitLog(run, BACK_TO);
        hosts.connectAgain("A");
        hosts.connect("B");
        if (moment != Moment.RESUMING) {
            Rig.awaitLog(run, "is back and still has this stage's processes");
            command("preemptible-resume");
        }
        keeps(run);
    }

    /** What is frozen there never runs again. */
    @Tag("soak")
    @ParameterizedTest
    @EnumSource(names = {"FREEZING", "RESUMING"})
    void anAgentThatIsBackBeforeItRunsElsewhereKeepsItAtAnyMoment(Moment moment) throws Exception {
        anAgentThatIsBackBeforeItRunsElsewhereKeepsIt(moment);
    }

    @Test
    void anAgentThatIsBackLaterIsCleaned() throws Exception {
        WorkflowRun run = at(Moment.FROZEN);
        lose(Loss.AWAY);
        HeldArtifacts.open();
        PreemptibleConfiguration.get().setDiskFloorMegabytes(0);
        hosts.connect("B");
        Rig.awaitLog(run, BACK_TO);
        command("preemptible-resume");
        await("a move").atMost(LONG).until(() -> Rig.log(run).contains("Moved from A to B in "));
        assertEquals(1, hosts.stages("A"), "frozen there");
        j.jenkins.getComputer("A").connect(false);
        await("A is clean").atMost(LONG).until(() -> hosts.stages("A") == 0);
        endsOn("B", run);
    }

    /** Its image is sealed and its workspace is not: an agent of its own name could still resume it as it was. */
    @Test
    void aSealedImageWithoutItsWorkspaceIsWaitedForAndThenGivenUp() throws Exception {
        WorkflowRun run = notAnyMoreCheckpointed(1);
        command("preemptible-suspend");
        Rig.awaitSealed(run, 1);
        assertNull(stage().luggage());
        PreemptibleConfiguration.get().setMoveStages(true);
        hosts.connect("B");
        remove("A");
        Rig.awaitLog(run, "This stage goes back to its checkpoint in ");
        Rig.awaitLog(run, "since its workspace is not stored");
        command("preemptible-resume");
        endsOn("B", run);
    }

    /** Its agent could be away for ever, and the stage has what it takes to go on. */
    @Test
    void aSealedImageWithoutItsWorkspaceIsGivenUpWhenItsAgentStaysAway() throws Exception {
        WorkflowRun run = notAnyMoreCheckpointed(1);
        command("preemptible-suspend");
        Rig.awaitSealed(run, 1);
        PreemptibleConfiguration.get().setMoveStages(true);
        hosts.connect("B");
        lose(Loss.AWAY);
        command("preemptible-resume");
        Rig.awaitLog(run, "since its workspace is not stored");
        endsOn("B", run);
    }

    /** Nothing undoes the end of a step: the stage ends as one without checkpoints. */
    @Test
    void aCheckpointOfAStepThatHasEndedIsOfNoUse() throws Exception {
        WorkflowRun run = running("while [ ! -e next ]; do sleep 0.1; done'''\nsh '''set +x\n" + Rig.endless());
        Rig.awaitLog(run, MADE);
        PreemptibleConfiguration.get().setMoveStages(false);
        Files.createFile(hosts.workspace("A", "low").resolve("next"));
        Rig.awaitCounting(run);
        PreemptibleConfiguration.get().setDiskFloorMegabytes(1 << 20);
        command("preemptible-suspend");
        Rig.awaitLog(run, "No image is stored yet.");
        PreemptibleConfiguration.get().setMoveStages(true);
        lose(Loss.RESTARTED);
        PreemptibleConfiguration.get().setDiskFloorMegabytes(0);
        Rig.awaitLog(run, "no checkpoint of this stage is of use");
        j.assertBuildStatus(Result.FAILURE, j.waitForCompletion(run));
        assertThat(Rig.log(run), containsString("The stage is lost, as a running one would be"));
        assertEquals(List.of(), run.getArtifacts());
    }
}
