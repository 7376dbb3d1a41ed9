package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.Node;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of stages that have checkpoints, on agents as if on hosts of their own. */
abstract class CheckpointedOnTwoHosts extends OnTwoHosts {

    @RegisterExtension
    static final Periods SHORT = shortPeriods();

    static Periods shortPeriods() {
        return new Periods()
                .stepsWait(Duration.ofMinutes(5))
                .with("move.LeftAgent.delayMillis", 500)
                .with("lost.LostAgents.awayMillis", 30_000)
                .with("checkpoint.DueCheckpoints.minuteMillis", 200)
                .with("lifecycle.SuspendedSteps.periodMillis", 2000)
                .with("lifecycle.RemovedAgent.graceMillis", 10_000)
                .with("lifecycle.Sealing.retryMillis", 2000);
    }

    static final String MADE = "Checkpoint: the stage stood still for ";

    /** A stage on agent A, whose log and workspace have each number. */
    WorkflowRun running(String shell) throws Exception {
        hosts.connect("A");
        return Rig.start(rig.pipeline("low", 5, script(shell)));
    }

    static String script(String shell) {
        return "preemptible(label: '" + Rig.LABEL + "', checkpointEvery: 5) { sh 'echo marked > mark'\nsh '''set +x\n"
                + shell + "\n'''\nsh 'echo \"later on $NODE_NAME\"; cat mark' }";
    }

    static String counting() {
        return "rm -f enough; i=0; while [ ! -e enough ]; do i=$((i+1)); echo $i > number;"
                + " echo count-$i; [ $(cat number) = $i ] || echo broken; sleep 0.1; done";
    }

    /** Such a stage, of which no further checkpoint is made until moves are allowed again. */
    WorkflowRun notAnyMoreCheckpointed(int times) throws Exception {
        WorkflowRun run = running(counting());
        noFurtherOne(run, times);
        return run;
    }

    static void noFurtherOne(WorkflowRun run, int times) {
        Rig.awaitLog(run, MADE, times);
        // So that some of its numbers are of no checkpoint.
        PreemptibleConfiguration.get().setMoveStages(false);
        await("numbers since the last checkpoint").atMost(LONG).until(() -> {
            String log = Rig.log(run);
            return log.substring(log.lastIndexOf(MADE)).split("\ncount-").length > 10;
        });
    }

    WorkflowRun checkpointed(int times) throws Exception {
        WorkflowRun run = notAnyMoreCheckpointed(times);
        PreemptibleConfiguration.get().setMoveStages(true);
        return run;
    }

    void remove(String agent) throws Exception {
        Node node = j.jenkins.getNode(agent);
        node.toComputer().disconnect(null).get();
        j.jenkins.removeNode(node);
    }

    static StageRecord stage() {
        return StageRegistry.get().all().iterator().next();
    }

    /** All numbers in their order, but that exactly once they begin again with one that was there. */
    static void repeatedOnce(WorkflowRun run) throws Exception {
        List<Integer> counts = Rig.counts(run);
        int breaks = 0;
        for (int i = 1; i < counts.size(); i++) {
            if (counts.get(i) != counts.get(i - 1) + 1) {
                breaks++;
                assertTrue(counts.get(i) <= counts.get(i - 1) + 1, counts.toString());
            }
        }
        assertEquals(1, breaks, counts.toString());
    }

    /** From its checkpoint. */
    void endsOn(String agent, WorkflowRun run) throws Exception {
        await("a move to " + agent)
                .atMost(LONG)
                .until(() -> Rig.log(run).contains("Moved from A to " + agent + " in "));
        endsRolledBack(agent, run);
        assertThat(Rig.log(run), containsString("\nlater on " + agent + "\n"));
        assertThat(Rig.log(run), containsString("\nmarked\n"));
    }

    /** From its checkpoint, wherever that is. */
    void endsRolledBack(String agent, WorkflowRun run) throws Exception {
        Rig.awaitLog(run, "Resumed from the checkpoint of ");
        ends(agent, run);
        repeatedOnce(run);
        assertThat(Rig.log(run), not(containsString("broken")));
        await("nothing among the artifacts")
                .atMost(LONG)
                .untilAsserted(() -> assertEquals(List.of(), run.getArtifacts()));
    }

    void ends(String agent, WorkflowRun run) throws Exception {
        assertEquals(agent, Rig.awaitState(StageState.RUNNING).node());
        Rig.awaitCounting(run);
        Files.createFile(hosts.workspace(agent, "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(run));
    }
}
