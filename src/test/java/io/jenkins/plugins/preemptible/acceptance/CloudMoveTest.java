package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import hudson.cli.CLICommandInvoker;
import hudson.model.FreeStyleBuild;
import hudson.model.Result;
import hudson.slaves.CloudRetentionStrategy;
import hudson.slaves.NodeProvisioner;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.ImagePath;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jenkinsci.plugins.durabletask.executors.OnceRetentionStrategy;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** An agent of a cloud is kept until its stage is sealed; then the cloud may have it, and brings another one for the stage. */
@Tag("acceptance")
class CloudMoveTest extends OnTwoHosts {

    @RegisterExtension
    static final Periods PERIODS = new Periods()
            .with("move.LeftAgent.delayMillis", 500)
            // In tests Pipeline's steps wait for an agent for fifteen seconds only.
            .with("lifecycle.SuspendedSteps.periodMillis", 3000)
            // Jenkins asks its clouds every ten seconds otherwise, after more than a minute.
            .with(NodeProvisioner.NodeProvisionerInvoker.class, "INITIALDELAY", 100)
            .with(NodeProvisioner.NodeProvisionerInvoker.class, "RECURRENCEPERIOD", 1_000);

    private FolderCloud cloud;

    @BeforeEach
    void cloud() throws Exception {
        CloudAgent.GIVEN_BACK.clear();
        cloud = FolderCloud.of(hosts);
    }

    @AfterEach
    void withoutCloud() {
        if (cloud != null) {
            j.jenkins.clouds.remove(cloud);
        }
    }

    private WorkflowRun begun() throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        WorkflowRun stage = Rig.start(low);
        await("the stage counts").atMost(LONG).until(() -> Rig.counts(stage).size() >= 3);
        return stage;
    }

    private static String name() {
        return Rig.awaitState(StageState.RUNNING).node();
    }

    private void suspend() throws Exception {
        assertEquals(
                0,
                new CLICommandInvoker(j, "preemptible-suspend")
                        .invokeWithArgs("low", "1")
                        .returnCode());
    }

    private void resume() throws Exception {
        assertEquals(
                0,
                new CLICommandInvoker(j, "preemptible-resume")
                        .invokeWithArgs("low", "1")
                        .returnCode());
    }

    private void endsElsewhere(WorkflowRun stage, String first) throws Exception {
        await("a move").atMost(LONG).until(() -> Rig.log(stage).contains("Moved from " + first + " to cloud-"));
        Rig.awaitCounting(stage);
        Files.createFile(hosts.workspace(name(), "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
        Rig.countedAtLeast(stage, 4);
    }

    /** Its agent ends with the preemptor, and a new one is started for the stage. */
    @Test
    void aStageOfAOnceOnlyAgentGoesOnOnAnotherOne() throws Exception {
        FolderCloud.retention(() -> new OnceRetentionStrategy(10));
        WorkflowRun stage = begun();
        String first = name();
        FreeStyleBuild high = urgent();
        Rig.awaitSealed(stage, 1);
        Files.createFile(hosts.workspace(high.getBuiltOnStr(), "high").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(high));
        endsElsewhere(stage, first);
        await("each agent was given back")
                .atMost(LONG)
                .until(() -> CloudAgent.GIVEN_BACK.containsAll(FolderCloud.STARTED));
    }

    /** One that gives way before the cloud has brought another agent. */
    private FreeStyleBuild urgent() throws Exception {
        j.jenkins.clouds.remove(cloud);
        FreeStyleBuild high =
                rig.freestyle("high", 1, Rig.untilEnough()).scheduleBuild2(0).waitForStart();
        j.jenkins.clouds.add(cloud);
        return high;
    }

    /** The cloud takes the machine of a stage away that is suspended and sealed. */
    @Test
    @Tag("slow")
    void theCloudTakesItsAgentAway() throws Exception {
        WorkflowRun stage = begun();
        String first = name();
        suspend();
        Rig.awaitSealed(stage, 1);
        ((CloudAgent) j.jenkins.getNode(first)).terminate();
        Rig.awaitLog(stage, "was removed from Jenkins. This stage is resumed on another agent that fits");
        resume();
        endsElsewhere(stage, first);
    }

    /** It is idle, and held no longer than the sealing takes. */
    @Test
    @Tag("slow")
    void anIdleAgentIsHeldNoLonger() throws Exception {
        FolderCloud.retention(() -> new CloudRetentionStrategy(0));
        WorkflowRun stage = begun();
        String first = name();
        suspend();
        await("the agent is given back").atMost(LONG).until(() -> CloudAgent.GIVEN_BACK.contains(first));
        assertNull(j.jenkins.getNode(first));
        assertThat(Rig.log(stage), containsString("Image sealed"));
        resume();
        endsElsewhere(stage, first);
    }

    /** Neither is one whose agents cannot help: what they would be given is gone. */
    @Test
    @Tag("slow")
    void aCloudIsAskedNoMoreForAStageWhoseImageIsGone() throws Exception {
        FolderCloud.retention(() -> new CloudRetentionStrategy(0));
        WorkflowRun stage = begun();
        String first = name();
        suspend();
        Rig.awaitSealed(stage, 1);
        await("the agent is given back").atMost(LONG).until(() -> CloudAgent.GIVEN_BACK.contains(first));
        try (Stream<Path> files = Files.walk(stage.getArtifactsDir().toPath())) {
            for (Path image :
                    files.filter(file -> file.endsWith(ImagePath.FILE)).toList()) {
                Files.delete(image);
            }
        }
        resume();
        await("it is given up")
                .atMost(LONG)
                .until(() -> Rig.log(stage).contains("No agent of a cloud fits this stage"));
        assertThat(Rig.log(stage), containsString("Its image could not be tried there: the image "));
        await("no demand is left").atMost(LONG).until(() -> j.jenkins.getQueue().getItems().length == 0);
        stage.doStop();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(stage));
    }

    /** A cloud that has no agent for the stage is not asked for ever. */
    @Test
    @Tag("slow")
    void aCloudWithoutAFittingAgentIsAskedNoMore() throws Exception {
        WorkflowRun stage = begun();
        String first = name();
        suspend();
        Rig.awaitSealed(stage, 1);
        Path other = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-other");
        FolderCloud.bringMisfits(other.toString());
        ((CloudAgent) j.jenkins.getNode(first)).terminate();
        resume();
        await("it is given up")
                .atMost(LONG)
                .until(() -> Rig.log(stage).contains("No agent of a cloud fits this stage"));
        assertThat(Rig.log(stage), containsString("different root folders"));
        List<String> started = new ArrayList<>(FolderCloud.STARTED);
        await("no demand is left").atMost(LONG).until(() -> j.jenkins.getQueue().getItems().length == 0);
        Rig.awaitAnotherLook();
        Rig.awaitAnotherLook();
        assertFalse(stage.getLog(100).isEmpty());
        assertEquals(started.size(), FolderCloud.STARTED.size(), 1.0);
        hosts.connect("B");
        await("a move").atMost(LONG).until(() -> Rig.log(stage).contains("Moved from " + first + " to B in "));
        Rig.awaitCounting(stage);
        Files.createFile(hosts.workspace("B", "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
    }
}
