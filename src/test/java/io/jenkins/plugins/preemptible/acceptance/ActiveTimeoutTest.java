package io.jenkins.plugins.preemptible.acceptance;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.Result;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import java.util.concurrent.TimeUnit;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** A stage's own time-out counts the time for which it has an executor; that of Pipeline counts all of it. */
@WithJenkins
@Tag("acceptance")
class ActiveTimeoutTest extends OneAgent {

    /** Suspended for longer than its time-out, it has all of that left. Hours pass by changing its record. */
    @Test
    void aSuspensionDoesNotCount() throws Exception {
        WorkflowJob low = rig.pipeline(
                "low",
                5,
                "timeout(time: 1, unit: 'DAYS') { preemptible(label: 'linux', activeTimeout: [time: 1, unit: 'HOURS'])"
                        + " { sh '''" + Rig.endless() + "''' } }");
        WorkflowJob high = rig.pipeline("high", 1, Rig.preemptor());
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-2\n");
        WorkflowRun preemptor = Rig.start(high);
        Rig.awaitState(StageState.SUSPENDED);
        Rig.awaitLog(victim, "A timeout { } counts the time of this suspension, too: it ends the stage in 23 hr");
        Pretended.startedEarlier(victim.getExternalizableId(), TimeUnit.HOURS.toMillis(2));
        Pretended.suspendedEarlier(victim.getExternalizableId(), TimeUnit.HOURS.toMillis(2));
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        Rig.awaitLog(victim, "Resumed on");
        Rig.awaitCounting(victim);
        assertTrue(victim.isBuilding(), "two hours of suspension are no hour with an executor");
        Pretended.startedEarlier(victim.getExternalizableId(), TimeUnit.HOURS.toMillis(1));
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
        assertThat(Rig.log(victim), containsString("The active timeout of stage preemptible is over"));
    }

    @Test
    void whatIsNoTimeIsRefused() throws Exception {
        WorkflowRun run = Rig.start(rig.pipeline(
                "bad", 5, "preemptible(label: 'linux', activeTimeout: [time: 0]) { sh 'echo not reached' }"));
        j.assertBuildStatus(Result.FAILURE, j.waitForCompletion(run));
        assertThat(Rig.log(run), containsString("activeTimeout is 0 MINUTES, expected is a time of 1 or more."));
    }
}
