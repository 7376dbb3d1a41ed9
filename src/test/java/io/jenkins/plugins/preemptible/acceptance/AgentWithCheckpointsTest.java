package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.cli.CLICommandInvoker;
import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Result;
import hudson.slaves.DumbSlave;
import hudson.slaves.OfflineCause;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.lifecycle.agents.HowSuspended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/**
 * On an agent whose process runs as an ordinary user, with the privileged part of the level that makes checkpoints.
 *
 * <p>Not beside other tests in a checkout below a folder like /root: mounts of theirs, which this user cannot reach, hinder
 * its restores.
 */
@WithJenkins
@Tag("acceptance")
@Tag("soak")
class AgentWithCheckpointsTest extends OneAgent {

    @RegisterExtension
    static final Periods PERIODS =
            new Periods().with("lifecycle.Resumption.outageMillis", 100).with("lifecycle.Sealing.retryMillis", 500);

    private static final String FROM_IMAGE = "from the image that was kept on the agent";
    private static final String FROM_ARCHIVE = OneHeldArchive.FROM_ARCHIVE;

    private static RootlessAgent rootless;

    private WorkflowJob low;
    private WorkflowRun victim;

    @Override
    DumbSlave agentToTest() throws Exception {
        rootless = RootlessAgent.withCheckpoints();
        return rootless.connect(j);
    }

    @AfterAll
    static void remove() throws Exception {
        if (rootless != null) {
            rootless.close();
        }
    }

    private void start(String script) throws Exception {
        low = rig.pipeline("low", 5, script);
        victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
    }

    private static FreeStyleBuild preempt(String name) throws Exception {
        FreeStyleProject high = rig.freestyle(name, 1, Rig.untilEnough());
        high.scheduleBuild2(0);
        await(name + " has started").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != null);
        return high.getLastBuild();
    }

    /** Waits until the stage has its image and no process any more. */
    private StageRecord awaitSealed(int times) throws Exception {
        Rig.awaitSealed(victim, times);
        StageRecord stage = Rig.awaitState(StageState.SUSPENDED);
        assertFalse(stage.frozen() || stage.memoryOnly(), stage::toString);
        await("its processes are gone")
                .atMost(Rig.PATIENCE)
                .until(() -> HostProcesses.controlGroups(stage.id()).isEmpty());
        assertFalse(victim.getArtifacts().isEmpty(), "the image is an artifact");
        return stage;
    }

    private static void ends(FreeStyleBuild preemptor) throws Exception {
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
    }

    private void endsWell() throws Exception {
        Rig.awaitCounting(victim);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 4);
        rootless.awaitNothingLeft(agent, low);
    }

    /** From what is left on the agent, and from the archive alone, as on a host that lost its images. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void restoredFromTheImageAndFromTheArchive(boolean nested) throws Exception {
        String shell = "echo \"user $(id -un)\"; grep -E 'CapEff|NoNewPrivs' /proc/self/status\n" + Rig.endless();
        start(nested ? Rig.nested(shell, "sh 'touch after'") : Rig.own(shell));
        assertEquals(HowSuspended.Way.CHECKPOINTS, HowSuspended.on("worker").way());
        FreeStyleBuild first = preempt("first");
        awaitSealed(1);
        ends(first);
        Rig.awaitLog(victim, FROM_IMAGE);
        Rig.awaitCounting(victim);
        FreeStyleBuild second = preempt("second");
        Path images = rootless.stage(awaitSealed(2).id()).resolve("images");
        assertTrue(Files.isDirectory(images), images::toString);
        StageFolder.delete(images);
        ends(second);
        Rig.awaitLog(victim, FROM_ARCHIVE);
        endsWell();
        String log = Rig.log(victim);
        assertThat(log, containsString("user " + rootless.user + "\n"));
        assertThat(log, containsString("CapEff:\t0000000000000000"));
        assertThat(log, containsString("NoNewPrivs:\t1"));
        assertThat(log, not(containsString(InMemoryOnlyTest.TOLD)));
    }

    /** The stage belongs to the user, not to the agent's process: another one restores it. */
    @Test
    void theAgentsProcessIsAnotherOneThen() throws Exception {
        start(Rig.own(Rig.endless()));
        FreeStyleBuild preemptor = preempt("high");
        awaitSealed(1);
        ends(preemptor);
        Rig.awaitLog(victim, FROM_IMAGE);
        Rig.awaitCounting(victim);
        // By hand: a preemptor would be lost with the agent's process.
        command("preemptible-suspend");
        awaitSealed(2);
        agent.toComputer().disconnect(OfflineCause.create(null)).get(60, TimeUnit.SECONDS);
        await("the agent's process has ended")
                .atMost(Rig.PATIENCE)
                .until(() -> !rootless.processes().contains("agent.jar"));
        agent.toComputer().connect(true).get(60, TimeUnit.SECONDS);
        command("preemptible-resume");
        Rig.awaitLog(victim, FROM_IMAGE, 2);
        endsWell();
    }

    private static void command(String name) {
        CLICommandInvoker.Result result = new CLICommandInvoker(j, name).invokeWithArgs("low", "1");
        assertEquals(0, result.returnCode(), result.stderr());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anAbortWhileItIsSuspendedLeavesNothing(boolean nested) throws Exception {
        start(nested ? Rig.nested(Rig.endless(), "echo 'not reached'") : Rig.own(Rig.endless()));
        FreeStyleBuild preemptor = preempt("high");
        awaitSealed(1);
        victim.doStop();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
        assertThat(Rig.log(victim), not(containsString("not reached")));
        rootless.awaitNothingLeft(agent, low);
        ends(preemptor);
    }

    /** Nobody looks into the stage before: CRIU finds the connection, and the stage stays in memory meanwhile. */
    @Test
    void aConnectionToTheOutsideKeepsItInMemory() throws Exception {
        try (ServerSocket outside = new ServerSocket(0)) {
            start(Rig.own("bash -c \"exec 3<>/dev/tcp/localhost/" + outside.getLocalPort()
                    + "; echo connected; while [ ! -e untied ]; do sleep 0.1; done\" &\n" + Rig.endless()));
            Rig.awaitLog(victim, "connected\n");
            FreeStyleBuild preemptor = preempt("high");
            Rig.awaitLog(
                    victim,
                    "The image could not be sealed. A process of the stage holds a TCP connection to the outside");
            assertTrue(Rig.awaitState(StageState.SUSPENDED).frozen());
            assertThat(
                    Rig.log(victim),
                    containsString("The stage stays frozen in the agent's memory and is resumed from there"));
            ends(preemptor);
            Rig.awaitLog(victim, InMemoryOnlyTest.FROM_FROZEN);
            Rig.touch(victim, "untied");
            endsWell();
        }
    }

    @Test
    void aTracedStageRunsOn() throws Exception {
        Rig.assumeInstalled("strace", "strace");
        start(Rig.own(
                "strace -f -o /dev/null sh -c \"while [ ! -e untraced ]; do sleep 0.1; done\" &\n" + Rig.endless()));
        var waiting = rig.freestyle("high", 1, "true").scheduleBuild2(0);
        Rig.awaitLog(victim, "Not suspended");
        assertThat(Rig.log(victim), containsString("is being traced (strace"));
        Rig.awaitCounting(victim);
        assertFalse(waiting.isDone(), "the preemptor waits");
        Rig.touch(victim, "untraced");
        endsWell();
        j.assertBuildStatusSuccess(waiting);
    }

    /** A privileged part that does not answer says nothing of the stage, which must not be taken for lost. */
    @Test
    void theStageOutlivesThatThePrivilegedPartDoesNotAnswer() throws Exception {
        start(Rig.own(Rig.endless()));
        FreeStyleBuild preemptor = preempt("high");
        awaitSealed(1);
        try (AutoCloseable unanswered = rootless.withoutRule()) {
            ends(preemptor);
            Rig.awaitLog(victim, "Not resumed", 4);
        }
        Rig.awaitLog(victim, FROM_IMAGE);
        endsWell();
    }

    @Test
    void aStageRunsUnsuspendedWhereThePrivilegedPartDoesNotAnswer() throws Exception {
        WorkflowJob job = rig.pipeline("unanswered", 5, Rig.own("echo runs"));
        try (AutoCloseable unanswered = rootless.withoutRule()) {
            WorkflowRun run = j.buildAndAssertSuccess(job);
            assertThat(
                    Rig.log(run),
                    containsString(
                            "This stage runs, but cannot be suspended on worker: The privileged part of this host cannot be used"));
            assertThat(HowSuspended.on("worker").whyNot(), containsString("install-helper"));
        }
        j.buildAndAssertSuccess(job);
        assertEquals(HowSuspended.Way.CHECKPOINTS, HowSuspended.on("worker").way());
    }
}
