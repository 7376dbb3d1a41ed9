package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.cli.CLICommandInvoker;
import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** An image that could not be stored: what its build's log says, and what happens to who asks for the next suspension. */
@WithJenkins
@Tag("acceptance")
class SpoiledSealTest extends OneAgent {

    /** The attempt would be repeated after a minute, and others wait five before they choose that stage again. */
    @Test
    void whoAsksForTheNextSuspensionByHandDoesNotWait() throws Exception {
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
        WorkflowJob low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        FreeStyleProject high = rig.freestyle("high", 1, Rig.untilEnough());
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        // As if the build had archived a file of that name.
        Path inTheWay = victim.getArtifactsDir().toPath().resolve("preemptible");
        Files.createDirectories(inTheWay.getParent());
        Files.createFile(inTheWay);
        FreeStyleBuild preemptor = high.scheduleBuild2(0).waitForStart();
        Rig.awaitLog(victim, "The image could not be archived: preemptible among the build's artifacts is no folder");
        assertThat(Rig.log(victim), containsString("Sealing is tried again in "));
        assertThat(Rig.log(victim), not(containsString(victim.getRootDir().getPath())));
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        Rig.awaitLog(victim, "Resumed on worker");

        Files.delete(inTheWay);
        assertEquals(
                0,
                new CLICommandInvoker(j, "preemptible-suspend")
                        .invokeWithArgs("low", "1")
                        .returnCode());
        await("suspended manually")
                .atMost(Duration.ofMinutes(3))
                .until(() -> Rig.log(victim).split("Suspending this stage", -1).length - 1 == 2);
        Rig.awaitState(StageState.SUSPENDED);
        Rig.awaitSealed(victim, 1);
        new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("low", "1");
        Rig.awaitLog(victim, "Resumed on worker", 2);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 4);
        Rig.assertNothingLeft(agent, low);
    }
}
