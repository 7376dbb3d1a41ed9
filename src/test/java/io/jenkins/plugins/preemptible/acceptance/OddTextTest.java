package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hudson.model.Result;
import hudson.slaves.DumbSlave;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import io.jenkins.plugins.preemptible.lifecycle.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.StageRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Characters that XML cannot hold, in what processes and Jenkinsfiles choose: they harm nobody else. */
@WithJenkins
@Tag("acceptance")
class OddTextTest extends OneAgent {

    private static final Path DEVICE = Path.of("/dev/net/tun");

    @Test
    void oddNamesOfProcessesAndStagesHarmNobodyElse() throws Exception {
        assumeTrue(Files.isReadable(DEVICE), DEVICE + " cannot be opened here");
        if (j.jenkins.getNode("other") == null) {
            DumbSlave other = j.createSlave("other", "other", null);
            j.waitOnline(other);
        }
        WorkflowJob odd = rig.pipeline("odd", 5, "preemptible(label: 'other', name: 'a\\u0000b\\uFFFE\\uD800') { sh '''\n"
                + "bash -c \"exec 7<" + DEVICE + "; printf '\\\\357\\\\277\\\\276x' > /proc/self/comm;"
                + " while [ ! -e enough ]; do sleep 0.2; done\" token=s3cr3t\n''' }");
        WorkflowRun tied = Rig.start(odd);
        Rig.awaitLog(tied, "This stage cannot be suspended as it is.");
        StageRecord stage = await("the obstacle").atMost(Rig.PATIENCE).until(
                () -> StageRegistry.get().all().stream().filter(s -> s.leak() != null).findFirst().orElse(null),
                found -> found != null);
        assertTrue(PlainText.is(stage.leak()) && PlainText.is(stage.name()), stage.leak());
        assertThat(stage.leak(), containsString(": ?x)"));
        String file = Files.readString(
                j.jenkins.getRootDir().toPath().resolve("preemptible-stages").resolve(stage.id() + ".xml"));
        assertThat(file, containsString(": ?x)"));
        assertThat(file, not(containsString("s3cr3t")));
        assertThat(
                Rig.log(tied).lines().filter(line -> line.startsWith("[preemptible]")).toList().toString(),
                not(containsString("s3cr3t")));

        WorkflowJob low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        WorkflowJob high = rig.pipeline("high", 1, Rig.preemptor());
        WorkflowRun victim = Rig.start(low);
        Rig.awaitCounting(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(Rig.start(high)));
        Rig.awaitLog(victim, "Resumed on worker");
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.enough(tied);
        j.assertBuildStatusSuccess(j.waitForCompletion(tied));
    }

    @Test
    void aLabelThatTheQueueCouldNotBeSavedWithIsRefused() throws Exception {
        WorkflowJob job = rig.pipeline("bad", 3, "preemptible(label: 'linux || \"\\uFFFE\"') { echo 'not reached' }");
        WorkflowRun run = j.assertBuildStatus(Result.FAILURE, j.waitForCompletion(Rig.start(job)));
        assertThat(Rig.log(run), containsString("the label 'linux || \"?\"' has a control character"));
        assertEquals(0, j.jenkins.getQueue().getItems().length);
    }
}
