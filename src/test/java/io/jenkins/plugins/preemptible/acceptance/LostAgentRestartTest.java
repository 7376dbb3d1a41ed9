package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.FilePath;
import hudson.cli.CLICommandInvoker;
import hudson.model.Computer;
import hudson.model.FreeStyleProject;
import hudson.model.Label;
import hudson.model.Node;
import hudson.remoting.VirtualChannel;
import hudson.slaves.WorkspaceList;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.nio.file.Files;
import java.util.List;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.jvnet.hudson.test.JenkinsRule;

/** The controller restarts while the agent of a sealed stage is gone, or is about to go: the stage goes on elsewhere all the same. */
@Tag("acceptance")
@Tag("slow")
class LostAgentRestartTest extends RestartsOnTwoHosts {

    @RegisterExtension
    static final Periods PERIODS = new Periods()
            .with("move.LeftAgent.delayMillis", 500)
            .with("lifecycle.SuspendedSteps.periodMillis", 3000)
            .with("lost.LostAgents.awayMillis", 3000)
            .with("lifecycle.RemovedAgent.graceMillis", 2000);

    private static void command(JenkinsRule j, String name, String... arguments) {
        assertEquals(0, new CLICommandInvoker(j, name).invokeWithArgs(arguments).returnCode());
    }

    /** What becomes of the agent before the restart. */
    private enum Fate {
        /** It does not come back. */
        AWAY("has been away for"),
        REMOVED("was removed from Jenkins"),
        /** It is there again afterwards, and its stages do not wait for it. */
        EVACUATED("is evacuated by");

        private final String said;

        Fate(String said) {
            this.said = said;
        }
    }

    /** Suspends a stage on A manually and waits until its image is sealed. */
    private void suspended(JenkinsRule j, boolean moves) throws Exception {
        Rig.assumeSuspendable();
        Rig rig = new Rig(j);
        rig.prepare();
        PreemptibleConfiguration.get().setMoveStages(moves);
        hosts = new TwoHosts(j);
        hosts.connect("A");
        WorkflowRun stage = Rig.start(rig.pipeline("low", 5, Rig.own(Rig.endless())));
        Rig.awaitLog(stage, "count-3\n");
        command(j, "preemptible-suspend", "low", "1");
        Rig.awaitSealed(stage, 1);
    }

    private void endsOnA(JenkinsRule j, WorkflowRun stage) throws Exception {
        Rig.awaitLog(stage, "Resumed on A");
        Rig.awaitCounting(stage);
        Files.createFile(hosts.workspace("A", "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
        hosts.close();
    }

    /** Its agent was added again before, and another build has the workspace: it is waited for by this stage alone. */
    @Test
    void aStageWhoseWorkspaceIsTakenHoldsNobodyUp() throws Throwable {
        sessions.then(j -> suspended(j, false));
        sessions.then(j -> {
            hosts = hosts.of(j);
            WorkflowRun stage =
                    j.jenkins.getItemByFullName("low", WorkflowJob.class).getBuildByNumber(1);
            String workspace = StageRegistry.get().all().iterator().next().workspace();
            WorkspaceList.Lease taken = j.jenkins
                    .getComputer("A")
                    .getWorkspaceList()
                    .allocate(new FilePath((VirtualChannel) null, workspace));
            assertEquals(workspace, taken.path.getRemote());
            hosts.connectAgain("A");
            FreeStyleProject other = j.createFreeStyleProject("other");
            other.setAssignedLabel(Label.get(Rig.LABEL));
            j.buildAndAssertSuccess(other);
            command(j, "preemptible-resume", "low", "1");
            Rig.awaitLog(stage, "Resume postponed: Another build has this stage's workspace");
            taken.release();
            endsOnA(j, stage);
        });
    }

    /** What has begun after the restart was not cut off by it. */
    @Test
    void anAgentThatComesBackLeavesAResumeElsewhereAlone() throws Throwable {
        sessions.then(j -> {
            suspended(j, true);
            hosts.switchOff("A");
        });
        sessions.then(j -> {
            hosts = hosts.of(j);
            WorkflowRun stage =
                    j.jenkins.getItemByFullName("low", WorkflowJob.class).getBuildByNumber(1);
            String id = StageRegistry.get().all().iterator().next().id();
            await("it is loaded").atMost(LONG).until(() -> LiveStage.find(id) != null);
            LiveStage live = LiveStage.find(id);
            live.operation().lock();
            try {
                StageRegistry.get().update(id, StageChanges.resuming());
                hosts.switchOn("A");
                hosts.connectAgain("A");
                await("A takes builds")
                        .atMost(LONG)
                        .until(() -> !StageRegistry.get().firstTurnsOn("A"));
                assertEquals(StageState.RESUMING, StageRegistry.get().find(id).state());
                StageRegistry.get().cutOff(id);
            } finally {
                live.operation().unlock();
            }
            command(j, "preemptible-resume", "low", "1");
            endsOnA(j, stage);
        });
    }

    /** It was asked to resume the stage and had not answered; such as an agent of a cloud that no restart outlives. */
    @Test
    void anAskedAgentThatIsGoneAfterTheRestartIsNotWaitedFor() throws Throwable {
        sessions.then(j -> {
            suspended(j, true);
            String id = StageRegistry.get().all().iterator().next().id();
            StageRegistry.get().update(id, StageChanges.restoringOn("B", "token of B"));
        });
        sessions.then(j -> {
            hosts = hosts.of(j);
            WorkflowRun stage =
                    j.jenkins.getItemByFullName("low", WorkflowJob.class).getBuildByNumber(1);
            hosts.connectAgain("A");
            command(j, "preemptible-resume", "low", "1");
            Rig.awaitLog(stage, "Resumed on A");
            assertEquals(
                    List.of("token of B"),
                    StageRegistry.get().all().iterator().next().leftHosts());
            assertThat(Rig.log(stage), not(containsString("Not moved")));
            endsOnA(j, stage);
        });
    }

    /** B has not answered, and its own agent is not back: what B has of it is found there. */
    @ParameterizedTest
    @EnumSource(names = {"AWAY", "REMOVED"})
    void aStageGoesOnWhereItWasAsked(Fate fate) throws Throwable {
        sessions.then(j -> {
            suspended(j, true);
            hosts.connect("B");
            hosts.switchOff("A");
            if (fate == Fate.REMOVED) {
                j.jenkins.getComputer("A").disconnect(null).get();
                j.jenkins.removeNode(j.jenkins.getNode("A"));
            }
            StageRegistry.get()
                    .update(
                            StageRegistry.get().all().iterator().next().id(),
                            StageChanges.resuming()
                                    .andThen(StageChanges.restoringOn("B", hosts.token("B")))
                                    .andThen(StageRecord::notByHand));
        });
        sessions.then(j -> {
            hosts = hosts.of(j);
            WorkflowRun stage =
                    j.jenkins.getItemByFullName("low", WorkflowJob.class).getBuildByNumber(1);
            hosts.connectAgain("B");
            await("a move").atMost(LONG).until(() -> Rig.log(stage).contains("Moved from A to B in "));
            Rig.awaitCounting(stage);
            Files.createFile(hosts.workspace("B", "low").resolve("enough"));
            j.assertBuildStatusSuccess(j.waitForCompletion(stage));
            Rig.countedAtLeast(stage, 4);
            hosts.close();
        });
    }

    @ParameterizedTest
    @EnumSource
    void theControllerRestarts(Fate fate) throws Throwable {
        sessions.then(j -> {
            Rig.assumeSuspendable();
            Rig rig = new Rig(j);
            rig.prepare();
            PreemptibleConfiguration.get().setMoveStages(true);
            hosts = new TwoHosts(j);
            Node a = hosts.connect("A");
            WorkflowRun stage = Rig.start(rig.pipeline("low", 5, Rig.own(Rig.endless())));
            Rig.awaitLog(stage, "count-3\n");
            if (fate == Fate.EVACUATED) {
                command(j, "preemptible-evacuate", "A");
            } else {
                command(j, "preemptible-suspend", "low", "1");
            }
            Rig.awaitSealed(stage, 1);
            if (fate == Fate.REMOVED) {
                a.toComputer().disconnect(null).get();
                j.jenkins.removeNode(a);
            } else if (fate == Fate.AWAY) {
                hosts.switchOff("A");
            }
        });
        sessions.then(j -> {
            hosts = hosts.of(j);
            WorkflowRun stage =
                    j.jenkins.getItemByFullName("low", WorkflowJob.class).getBuildByNumber(1);
            if (fate == Fate.EVACUATED) {
                Computer a = j.jenkins.getComputer("A");
                a.connect(false);
                await("A is back").atMost(LONG).until(a::isOnline);
            } else {
                command(j, "preemptible-resume", "low", "1");
            }
            hosts.connect("B");
            await("a move").atMost(LONG).until(() -> Rig.log(stage).contains("Moved from A to B in "));
            assertEquals("B", Rig.awaitState(StageState.RUNNING).node());
            Rig.awaitCounting(stage);
            Files.createFile(hosts.workspace("B", "low").resolve("enough"));
            j.assertBuildStatusSuccess(j.waitForCompletion(stage));
            Rig.countedAtLeast(stage, 4);
            assertThat(Rig.log(stage), containsString(fate.said));
            hosts.close();
        });
    }
}
