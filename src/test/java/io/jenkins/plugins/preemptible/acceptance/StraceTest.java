package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.view.RunningStagesAction;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** A stage that cannot be dumped as it is says so early, keeps running, and is not counted on until it can. */
@WithJenkins
@Tag("acceptance")
class StraceTest extends OneAgent {

    @Override
    void assumptions() throws Exception {
        Rig.assumeInstalled("strace", "strace");
        super.assumptions();
    }

    @Test
    void tracedStageGoesOn() throws Exception {
        traced(Rig.own(script()));
    }

    @Test
    @Tag("soak")
    void tracedNestedStageGoesOn() throws Exception {
        traced(Rig.nested(script(), "sh 'test \"$PWD\" = \"$WORKSPACE\"'"));
    }

    private static String script() {
        return "touch started; strace -f -o /dev/null sh -c \"while [ ! -e untraced ]; do sleep 0.2; done\"\n"
                + Rig.endless();
    }

    private void traced(String pipeline) throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, pipeline);
        WorkflowJob high = rig.pipeline("high", 1, Rig.preemptor());
        QueueTimes times = QueueTimes.listen();
        WorkflowRun traced = Rig.start(low);
        Rig.awaitFile(traced, "started");
        Rig.awaitLog(traced, "This stage cannot be suspended.");
        assertThat(Rig.log(traced), containsString("is being traced (strace"));
        assertThat(
                traced.getAction(RunningStagesAction.class).getSentences().toString(),
                containsString("is being traced (strace"));
        WorkflowRun waiting = Rig.start(high);
        await("it waits")
                .atMost(Rig.PATIENCE)
                .until(() -> j.jenkins.getQueue().getBuildableItems().size() == 1);
        Rig.awaitAnotherLook();
        assertTrue(traced.isBuilding());
        assertFalse(times.runs(waiting.getExternalizableId()), "the preemptor waits while the traced stage runs");
        assertThat(Rig.log(traced), not(containsString("Suspending this stage")));

        Rig.touch(traced, "untraced");
        Rig.awaitLog(traced, "This stage can be suspended again");
        j.assertBuildStatusSuccess(j.waitForCompletion(waiting));
        Rig.awaitLog(traced, "Resumed on worker");
        Rig.awaitCounting(traced);
        Rig.enough(traced);
        j.assertBuildStatusSuccess(j.waitForCompletion(traced));
        assertEquals(1, Rig.log(traced).split("This stage cannot be suspended. ", -1).length - 1, "it is said once");
        Rig.countedAtLeast(traced, 1);
        Rig.assertNothingLeft(agent, low);
    }
}
