package io.jenkins.plugins.preemptible.acceptance;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hudson.model.Node;
import hudson.model.Result;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.lifecycle.RemovedAgent;
import java.util.concurrent.TimeUnit;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** How long a suspended stage waits for an agent that was removed, and is removed again or needed only later. */
@Tag("acceptance")
@Tag("slow")
class RemovedAgentGraceTest extends MovedStages {

    @RegisterExtension
    static final Periods PERIODS = new Periods().with("lifecycle.RemovedAgent.graceMillis", 20_000);

    /** @return when, as {@link System#nanoTime} */
    private long remove() throws Exception {
        Node node = j.jenkins.getNode("A");
        node.toComputer().disconnect(null).get();
        long now = System.nanoTime();
        j.jenkins.removeNode(node);
        return now;
    }

    private static void sleepUntil(long nanoTime) throws InterruptedException {
        TimeUnit.NANOSECONDS.sleep(nanoTime - System.nanoTime());
    }

    /** An agent that registers itself, as a Swarm client, is removed and added again, and removed again. */
    @Test
    void eachRemovalGivesTheStageTheWholeTime() throws Exception {
        PreemptibleConfiguration.get().setStoredWorkspaceMegabytes(0);
        WorkflowRun stage = begin(counter());
        suspend(stage, 1);
        long graceNanos = TimeUnit.MILLISECONDS.toNanos(RemovedAgent.graceMillis());
        long firstEnd = remove() + graceNanos;
        Rig.awaitLog(stage, "This stage ends in 20 sec");
        hosts.connect("A");
        sleepUntil(firstEnd - TimeUnit.SECONDS.toNanos(3));
        long secondEnd = remove() + graceNanos;
        assumeTrue(secondEnd - graceNanos < firstEnd, "this machine is too slow");
        sleepUntil(secondEnd - TimeUnit.SECONDS.toNanos(5));
        assertTrue(stage.isBuilding(), "it has ended before its log said");
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(stage));
    }

    /** What is stored of it is of no use any more. */
    @Test
    void aStoredStageEndsInTimeOnceMovesAreSwitchedOff() throws Exception {
        WorkflowRun stage = begin(counter());
        suspend(stage, 1);
        remove();
        Rig.awaitLog(stage, "This stage is resumed on another agent that fits");
        PreemptibleConfiguration.get().setMoveStages(false);
        Rig.awaitLog(stage, "This stage ends in 20 sec");
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(stage));
    }
}
