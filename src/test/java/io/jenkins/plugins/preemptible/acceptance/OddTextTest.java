package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hudson.model.Result;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** What processes and Jenkinsfiles choose to be called, in records, logs and the queue. */
@WithJenkins
@Tag("acceptance")
class OddTextTest extends OneAgent {

    private static final Path DEVICE = Path.of("/dev/net/tun");

    /** How its texts are cleaned is for the tests of those who do: Leak, the agent's answers and the registry. */
    @Test
    void whatTiesAStageIsToldWithoutTheArgumentsOfItsProcess() throws Exception {
        assumeTrue(Files.isReadable(DEVICE), DEVICE + " cannot be opened here");
        WorkflowJob job = rig.pipeline(
                "tied",
                5,
                Rig.own("bash -c \"exec 7<" + DEVICE + "; while [ ! -e enough ]; do sleep 0.2; done\" token=s3cr3t"));
        WorkflowRun tied = Rig.start(job);
        Rig.awaitLog(tied, "This stage cannot be suspended.");
        StageRecord stage = await("the obstacle")
                .atMost(Rig.PATIENCE)
                .until(
                        () -> StageRegistry.get().all().stream()
                                .filter(s -> s.leak() != null)
                                .findFirst()
                                .orElse(null),
                        found -> found != null);
        assertThat(stage.leak(), containsString(": bash)"));
        String file = Files.readString(
                j.jenkins.getRootDir().toPath().resolve("preemptible-stages").resolve(stage.id() + ".xml"));
        assertThat(file, not(containsString("s3cr3t")));
        assertThat(
                Rig.log(tied)
                        .lines()
                        .filter(line -> line.startsWith("[preemptible]"))
                        .toList()
                        .toString(),
                not(containsString("s3cr3t")));
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
