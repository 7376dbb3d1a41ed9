package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.greaterThan;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.Node;
import hudson.model.Result;
import hudson.slaves.OfflineCause;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.ImagePath;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageCheckpoint;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.File;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A running stage whose agent is lost goes on elsewhere from its last checkpoint. */
@Tag("acceptance")
class CheckpointTest extends OnTwoHosts {

    static {
        System.setProperty("io.jenkins.plugins.preemptible.move.LeftAgent.delayMillis", "500");
        System.setProperty("io.jenkins.plugins.preemptible.lost.LostAgents.awayMillis", "30000");
        System.setProperty(
                "org.jenkinsci.plugins.workflow.support.pickles.ExecutorPickle.timeoutForNodeMillis", "300000");
        System.setProperty("io.jenkins.plugins.preemptible.checkpoint.DueCheckpoints.minuteMillis", "200");
        System.setProperty("io.jenkins.plugins.preemptible.lifecycle.SuspendedSteps.periodMillis", "2000");
    }

    private static final String MADE = "Checkpoint: the stage stood still for ";

    /** A stage on agent A, whose log and workspace have each number. */
    private WorkflowRun running(String shell) throws Exception {
        hosts.connect("A");
        WorkflowJob job = rig.pipeline(
                "low",
                5,
                "preemptible(label: '" + Rig.LABEL + "', checkpointEvery: 5) { sh 'echo marked > mark'\nsh '''set +x\n"
                        + shell + "\n'''\nsh 'echo \"later on $NODE_NAME\"; cat mark' }");
        return Rig.start(job);
    }

    private WorkflowRun checkpointed(int times) throws Exception {
        WorkflowRun run = running("rm -f enough; i=0; while [ ! -e enough ]; do i=$((i+1)); echo $i > number;"
                + " echo count-$i; [ $(cat number) = $i ] || echo broken; sleep 0.1; done");
        Rig.awaitLog(run, MADE, times);
        Rig.awaitCounting(run);
        return run;
    }

    private void remove(String agent) throws Exception {
        Node node = j.jenkins.getNode(agent);
        node.toComputer().disconnect(null).get();
        j.jenkins.removeNode(node);
    }

    private static StageRecord stage() {
        return StageRegistry.get().all().iterator().next();
    }

    /** All numbers in their order, but that once they begin again with one that was there. */
    private static void repeatedOnce(WorkflowRun run) throws Exception {
        List<Integer> counts = Rig.counts(run);
        int breaks = 0;
        for (int i = 1; i < counts.size(); i++) {
            if (counts.get(i) != counts.get(i - 1) + 1) {
                breaks++;
                assertTrue(counts.get(i) <= counts.get(i - 1) + 1, counts.toString());
            }
        }
        assertThat(counts.toString(), breaks, not(greaterThan(1)));
    }

    private void endsOn(String agent, WorkflowRun run) throws Exception {
        await("a move to " + agent)
                .atMost(LONG)
                .until(() -> Rig.log(run).contains("Moved from A to " + agent + " in "));
        assertEquals(agent, Rig.awaitState(StageState.RUNNING).node());
        assertThat(Rig.log(run), containsString("Resumed from the checkpoint of "));
        Rig.awaitCounting(run);
        Files.createFile(hosts.workspace(agent, "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(run));
        repeatedOnce(run);
        assertThat(Rig.log(run), not(containsString("broken")));
        assertThat(Rig.log(run), containsString("\nlater on " + agent + "\n"));
        assertThat(Rig.log(run), containsString("\nmarked\n"));
        await("nothing among the artifacts")
                .atMost(LONG)
                .untilAsserted(() -> assertEquals(List.of(), run.getArtifacts()));
    }

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
        hosts.connect("B");
        await("a move").atMost(LONG).until(() -> Rig.log(run).contains("Moved from A to B in "));
        assertEquals(1, hosts.stages("A"), "cut off, and still there");
        hosts.connect("C", "A");
        await("the old host is clean").atMost(LONG).until(() -> hosts.stages("A") == 0);
        endsOn("B", run);
    }

    @Test
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
    void anAgentThatIsBackSoonKeepsItsStage() throws Exception {
        WorkflowRun run = checkpointed(1);
        hosts.connect("B");
        j.jenkins.getNode("A").toComputer().disconnect(null).get();
        j.jenkins.getNode("A").toComputer().connect(false).get();
        Rig.awaitCounting(run);
        Files.createFile(hosts.workspace("A", "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(run));
        assertThat(Rig.log(run), not(containsString("is lost")));
        Rig.countedAtLeast(run, 4);
    }

    /** As by a restart of its host: the agent is back at once, and nothing of the stage runs there. */
    @Test
    void anAgentWhoseHostHasRestartedResumesItItself() throws Exception {
        WorkflowRun run = checkpointed(1);
        j.jenkins.getNode("A").toComputer().disconnect(null).get();
        hosts.killStages("A");
        j.jenkins.getNode("A").toComputer().connect(false).get();
        Rig.awaitLog(run, "The host of the agent 'A' has lost this stage's processes.");
        Rig.awaitLog(run, "Resumed from the checkpoint of ");
        assertEquals("A", Rig.awaitState(StageState.RUNNING).node());
        Rig.awaitCounting(run);
        Files.createFile(hosts.workspace("A", "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(run));
        repeatedOnce(run);
        assertThat(Rig.log(run), not(containsString("broken")));
    }

    /** What the current one refers to is cut off: the agent refuses it, and has the one before it then. */
    @Test
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
