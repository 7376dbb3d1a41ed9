package io.jenkins.plugins.preemptible.acceptance;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** A stage that cannot be dumped goes on, says why, and the preemptor waits for it. */
@WithJenkins
@Tag("acceptance")
class StraceTest extends OneAgent {

    @Override
    void assumptions() throws Exception {
        super.assumptions();
        Rig.assumeInstalled("strace", "strace");
    }

    @Test
    void tracedStageGoesOn() throws Exception {
        traced(Rig.own(script()));
    }

    @Test
    void tracedNestedStageGoesOn() throws Exception {
        traced(Rig.nested(script(), "sh 'test \"$PWD\" = \"$WORKSPACE\"'"));
    }

    private static String script() {
        return "cat > count.sh <<\"END\"\n" + Rig.counter(80) + "\nEND\nstrace -f -o /dev/null sh ./count.sh";
    }

    private void traced(String pipeline) throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, pipeline);
        WorkflowJob high = rig.pipeline("high", 1, Rig.preemptor());
        QueueTimes times = QueueTimes.listen();
        WorkflowRun traced = Rig.start(low);
        Rig.awaitLog(traced, "count-10\n");
        WorkflowRun waiting = Rig.start(high);
        Rig.awaitLog(traced, "Not suspended.");
        assertTrue(traced.isBuilding());
        assertFalse(times.runs(waiting.getExternalizableId()), "the preemptor waits while the traced stage runs");
        assertEquals(0, traced.getArtifacts().size(), "no image of a stage that was not suspended");

        j.assertBuildStatusSuccess(j.waitForCompletion(traced));
        j.assertBuildStatusSuccess(j.waitForCompletion(waiting));
        assertThat(Rig.log(traced), containsString("is being traced (strace"));
        assertThat(Rig.log(traced), containsString("The stage runs on, part of high #1 waits"));
        assertThat(Rig.log(traced), not(containsString("Suspended in")));
        assertThat("it preempted nobody", Rig.log(waiting), not(containsString("[preemptible]")));
        Rig.counted(traced, 80);
        Rig.assertNothingLeft(agent, low);
    }
}
