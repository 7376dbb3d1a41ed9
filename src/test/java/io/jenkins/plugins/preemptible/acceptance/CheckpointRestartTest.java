package io.jenkins.plugins.preemptible.acceptance;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.cli.CLICommandInvoker;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsOnAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.nio.file.Files;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.jvnet.hudson.test.JenkinsRule;

/** The controller restarts, and the host of a frozen stage with a checkpoint is lost meanwhile. */
@Tag("acceptance")
@Tag("slow")
class CheckpointRestartTest extends RestartsOnTwoHosts {

    @RegisterExtension
    static final Periods PERIODS = CheckpointedOnTwoHosts.shortPeriods().with("lost.LostAgents.awayMillis", 5000);

    private static void command(JenkinsRule j, String name) {
        assertEquals(
                0, new CLICommandInvoker(j, name).invokeWithArgs("low", "1").returnCode());
    }

    private enum Fate {
        AWAY("B", "The agent 'A' is lost."),
        REMOVED("B", "The agent 'A' is lost."),
        RESTARTED("A", "The host of the agent 'A' has lost this stage's processes."),
        /** And the controller again, after it has asked that agent to restore the stage. */
        ASKED("A", "The host of the agent 'A' has lost this stage's processes.");

        private final String goesOnAt;
        private final String said;

        Fate(String goesOnAt, String said) {
            this.goesOnAt = goesOnAt;
            this.said = said;
        }
    }

    @ParameterizedTest
    @EnumSource
    void itGoesOnFromItsCheckpoint(Fate fate) throws Throwable {
        sessions.then(j -> {
            Rig rig = prepared(j);
            hosts.connect("A");
            WorkflowRun run =
                    Rig.start(rig.pipeline("low", 5, CheckpointedOnTwoHosts.script(CheckpointedOnTwoHosts.counting())));
            CheckpointedOnTwoHosts.noFurtherOne(run, 1);
            // No image is made as long as the disk is full.
            PreemptibleConfiguration.get().setDiskFloorMegabytes(1 << 20);
            command(j, "preemptible-suspend");
            Rig.awaitLog(run, "No image is stored yet.");
            assertTrue(CheckpointedOnTwoHosts.stage().frozen());
            PreemptibleConfiguration.get().setMoveStages(true);
            if (fate.goesOnAt.equals("B")) {
                hosts.switchOff("A");
            }
        });
        sessions.then(j -> {
            hosts = hosts.of(j);
            WorkflowRun run =
                    j.jenkins.getItemByFullName("low", WorkflowJob.class).getBuildByNumber(1);
            if (fate == Fate.REMOVED) {
                j.jenkins.removeNode(j.jenkins.getNode("A"));
            } else if (fate.goesOnAt.equals("A")) {
                hosts.restart("A");
                hosts.connectAgain("A");
            }
            Rig.awaitLog(run, fate.said);
            PreemptibleConfiguration.get().setDiskFloorMegabytes(0);
            if (fate.goesOnAt.equals("B")) {
                hosts.connect("B");
            }
            if (fate != Fate.ASKED) {
                goesOn(j, run, fate);
            }
        });
        if (fate == Fate.ASKED) {
            sessions.then(j -> {
                hosts = hosts.of(j);
                StageRegistry.get()
                        .update(
                                CheckpointedOnTwoHosts.stage().id(),
                                StageChanges.restoringOn("A").andThen(StageRecord::notByHand));
                hosts.connectAgain("A");
                goesOn(j, j.jenkins.getItemByFullName("low", WorkflowJob.class).getBuildByNumber(1), fate);
            });
        }
    }

    /** The record says that it runs on its own agent; the controller ends before its steps, which look for none, are told. */
    @Test
    void theStepsOfAResumedStageFollowAfterARestart() throws Throwable {
        sessions.then(j -> {
            Rig.assumeSuspendable();
            Rig rig = new Rig(j);
            rig.prepare();
            hosts = new TwoHosts(j);
            hosts.connect("A");
            WorkflowRun run = Rig.start(rig.pipeline("low", 5, Rig.own(Rig.endless())));
            Rig.awaitLog(run, "count-3\n");
            StepsOnAgent.leave(LiveStage.find(CheckpointedOnTwoHosts.stage().id()), "A");
        });
        sessions.then(j -> {
            WorkflowRun run = again(j);
            Rig.awaitLog(run, "Ready to run at ");
            Rig.awaitCounting(run);
            Files.createFile(hosts.workspace("A", "low").resolve("enough"));
            j.assertBuildStatusSuccess(j.waitForCompletion(run));
            hosts.close();
        });
    }

    private void goesOn(JenkinsRule j, WorkflowRun run, Fate fate) throws Exception {
        if (fate != Fate.ASKED) {
            command(j, "preemptible-resume");
        }
        Rig.awaitLog(run, "Resumed from the checkpoint of ");
        assertEquals(fate.goesOnAt, Rig.awaitState(StageState.RUNNING).node());
        Rig.awaitCounting(run);
        Files.createFile(hosts.workspace(fate.goesOnAt, "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(run));
        CheckpointedOnTwoHosts.repeatedOnce(run);
        assertThat(Rig.log(run), containsString("\nlater on " + fate.goesOnAt + "\n"));
        hosts.close();
    }
}
