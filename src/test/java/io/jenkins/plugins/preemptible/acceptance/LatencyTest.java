package io.jenkins.plugins.preemptible.acceptance;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.util.ArrayList;
import java.util.List;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** How long a preemptor waits, ten times; the figures are printed, and only the promised 5 s are checked. */
@WithJenkins
@Tag("soak")
class LatencyTest extends OneAgent {

    private static final int PREEMPTIONS = 10;
    private static final long LIMIT_MILLIS = 5_000;

    @Test
    void preemptorsOfOwnExecutorStageWaitBriefly() throws Exception {
        tenTimes(Rig.own(Rig.endless()));
    }

    @Test
    void preemptorsOfNestedStageWaitBriefly() throws Exception {
        tenTimes(Rig.nested(Rig.endless(), ""));
    }

    private void tenTimes(String script) throws Exception {
        QueueTimes times = QueueTimes.listen();
        WorkflowJob low = rig.pipeline("low", 5, script);
        WorkflowJob high = rig.pipeline("high", 1, "node('linux') { sh 'true' }");
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-20\n");
        List<Long> waited = new ArrayList<>();
        for (int i = 1; i <= PREEMPTIONS; i++) {
            WorkflowRun preemptor = Rig.start(high);
            waited.add(times.waitedMillis(preemptor.getExternalizableId()));
            j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
            Rig.awaitLog(victim, "Resumed on worker", i);
            Rig.awaitState(StageState.RUNNING);
            Rig.awaitCounting(victim);
        }
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 20);

        List<Long> sorted = waited.stream().sorted().toList();
        System.out.println("buildable-to-running ms: " + waited + " median "
                + (sorted.get(PREEMPTIONS / 2 - 1) + sorted.get(PREEMPTIONS / 2)) / 2);
        for (int i = 1; i < PREEMPTIONS; i++) {
            assertTrue(waited.get(i) < LIMIT_MILLIS, "preemptor " + (i + 1) + " waited " + waited.get(i) + " ms");
        }
        Rig.assertNothingLeft(agent, low);
    }
}
