package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.TimeSlices;
import io.jenkins.plugins.preemptible.queue.LastDecision;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Stages of one priority take turns when a time slice is set, and only then. */
@WithJenkins
@Tag("acceptance")
class SliceTest extends OneAgent {

    private static final long SLICE_MILLIS = 1_000;

    @Test
    void equalsTakeTurns() throws Exception {
        takeTurns(Rig.own(Rig.endless()));
    }

    @Test
    void equalNestedStagesTakeTurns() throws Exception {
        takeTurns(Rig.nested(Rig.endless(), "sh 'test \"$PWD\" = \"$WORKSPACE\"'"));
    }

    private void takeTurns(String script) throws Exception {
        WorkflowJob first = rig.pipeline("first", 3, script);
        WorkflowJob second = rig.pipeline("second", 3, script);
        WorkflowRun one = Rig.start(first);
        Rig.awaitLog(one, "count-5\n");
        TimeSlices.set(one.getExternalizableId(), SLICE_MILLIS);
        WorkflowRun two = Rig.start(second);
        Rig.awaitLog(two, "count-5\n");
        TimeSlices.set(two.getExternalizableId(), SLICE_MILLIS);
        Rig.awaitLog(one, "Resumed on worker");
        assertTrue(two.isBuilding(), "the first got its turn before the second had ended");
        Rig.awaitLog(two, "Resumed on worker");
        Rig.enough(one);
        Rig.enough(two);
        j.assertBuildStatusSuccess(j.waitForCompletion(one));
        j.assertBuildStatusSuccess(j.waitForCompletion(two));
        assertThat(Rig.log(one), containsString(Reason.TIME_SLICE_USED_UP.sentence()));
        assertThat(Rig.log(two), containsString(Reason.TIME_SLICE_USED_UP.sentence()));
        // A reservation that outlives its use keeps the other off for the minute after which it is void.
        assertThat(Rig.log(one), not(containsString("suspended for 1 min")));
        assertThat(Rig.log(two), not(containsString("suspended for 1 min")));
        Rig.countedAtLeast(one, 5);
        Rig.countedAtLeast(two, 5);
        Rig.assertNothingLeft(agent, first);
        Rig.assertNothingLeft(agent, second);
    }

    @Test
    @Tag("soak")
    void equalWithoutSliceWaits() throws Exception {
        WorkflowJob first = rig.pipeline("first", 3, Rig.own(Rig.counter(70)));
        WorkflowJob second = rig.pipeline("second", 3, Rig.own(Rig.counter(5)));
        WorkflowRun one = Rig.start(first);
        Rig.awaitLog(one, "count-5\n");
        WorkflowRun two = Rig.start(second);
        j.assertBuildStatusSuccess(j.waitForCompletion(one));
        j.assertBuildStatusSuccess(j.waitForCompletion(two));
        assertThat(Rig.log(one), not(containsString("Suspend")));
        Rig.counted(one, 70);
    }

    @Test
    void usedUpSliceDoesNotServeLowerPriority() throws Exception {
        WorkflowJob first = rig.pipeline("first", 2, Rig.own(Rig.counter(70)));
        WorkflowJob second = rig.pipeline("second", 3, Rig.own(Rig.counter(5)));
        WorkflowRun one = Rig.start(first);
        Rig.awaitLog(one, "count-5\n");
        TimeSlices.set(one.getExternalizableId(), SLICE_MILLIS);
        WorkflowRun two = Rig.start(second);
        j.assertBuildStatusSuccess(j.waitForCompletion(one));
        j.assertBuildStatusSuccess(j.waitForCompletion(two));
        assertThat(Rig.log(one), not(containsString("Suspend")));
    }

    /** Jenkins starts nothing then: the suspended stage would wait, and so would the item that it was suspended for. */
    @Test
    void nobodyIsSuspendedWhileJenkinsPreparesToShutDown() throws Exception {
        WorkflowRun one = Rig.start(rig.pipeline("first", 3, Rig.own(Rig.endless())));
        Rig.awaitLog(one, "count-5\n");
        TimeSlices.set(one.getExternalizableId(), SLICE_MILLIS);
        WorkflowRun two = Rig.start(rig.pipeline("second", 3, Rig.own(Rig.endless())));
        Rig.awaitLog(two, "count-5\n");
        StageRecord waits = Rig.awaitState(StageState.SUSPENDED);
        j.jenkins.doQuietDown();
        try {
            TimeSlices.set(two.getExternalizableId(), SLICE_MILLIS);
            long usedUp = System.currentTimeMillis() + SLICE_MILLIS;
            await("a decision after the slice").atMost(Rig.PATIENCE).until(() -> {
                LastDecision decision = LastDecision.get();
                return decision.snapshot() != null
                        && decision.snapshot().nowMillis() > usedUp
                        && decision.of(waits.id()).reason() == Reason.QUIETING_DOWN;
            });
            assertThat(Rig.log(two), not(containsString("Suspending this stage")));
        } finally {
            j.jenkins.doCancelQuietDown();
        }
        Rig.awaitLog(one, "Resumed on worker");
        Rig.enough(one);
        Rig.enough(two);
        j.assertBuildStatusSuccess(j.waitForCompletion(one));
        j.assertBuildStatusSuccess(j.waitForCompletion(two));
    }
}
