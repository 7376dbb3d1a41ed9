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
import hudson.model.Queue;
import hudson.model.Result;
import hudson.slaves.WorkspaceList;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.queue.Preemption;
import io.jenkins.plugins.preemptible.step.StageTask;
import io.jenkins.plugins.preemptible.view.SuspendedBadgeAction;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.jenkinsci.plugins.workflow.support.steps.ExecutorStepExecution;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** A stage ends while it is suspended, by other ways than an abort of its build: it neither hangs nor leaves anything. */
@WithJenkins
@Tag("acceptance")
class EndsWhileSuspendedTest extends OneAgent {

    @RegisterExtension
    static final Periods PERIODS = new Periods().with("lifecycle.RemovedAgent.graceMillis", 3000);

    private WorkflowJob low;
    private WorkflowRun victim;

    @Test
    void cancelOfTheResumingItem() throws Exception {
        low = rig.pipeline("low", 5, Rig.own(Rig.counter(1000)));
        FreeStyleBuild preemptor = suspend(Rig.untilEnough());
        // Nothing is dispatched now, so the stage's item waits in the queue long enough to be cancelled.
        j.jenkins.doQuietDown();
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        Queue.Item item = await().atMost(Rig.PATIENCE).until(EndsWhileSuspendedTest::itemOfStage, i -> i != null);
        assertTrue(Queue.getInstance().cancel(item));
        j.jenkins.doCancelQuietDown();
        ended(Result.ABORTED);
        assertThat(Rig.log(victim), not(containsString("Resumed on")));
    }

    /** The end of the stage comes late: meanwhile an evaluation must not queue it again. */
    @Test
    void cancelledItemIsNotQueuedAgain() throws Exception {
        low = rig.pipeline("low", 5, Rig.own(Rig.counter(1000)));
        FreeStyleBuild preemptor = suspend(Rig.untilEnough());
        j.jenkins.doQuietDown();
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        Queue.Item item = await().atMost(Rig.PATIENCE).until(EndsWhileSuspendedTest::itemOfStage, i -> i != null);
        CountDownLatch late = new CountDownLatch(1);
        for (int i = 0; i < 64; i++) {
            StageThreads.submit("keeping the thread that ends the stage", late::await);
        }
        try {
            assertTrue(Queue.getInstance().cancel(item));
            j.jenkins.doCancelQuietDown();
            Preemption.soon(0);
            await("no item of the cancelled stage")
                    .during(Duration.ofSeconds(2))
                    .atMost(Rig.PATIENCE)
                    .until(() -> itemOfStage() == null && agent.toComputer().countIdle() == 1);
        } finally {
            late.countDown();
        }
        ended(Result.ABORTED);
        assertThat(Rig.log(victim), not(containsString("Resumed on")));
    }

    private static Queue.Item itemOfStage() {
        return Arrays.stream(Queue.getInstance().getItems())
                .filter(item -> item.task instanceof StageTask)
                .findFirst()
                .orElse(null);
    }

    @Test
    void cancelOfTheBlockedNodeBlock() throws Exception {
        low = rig.pipeline("low", 5, Rig.nested(Rig.counter(1000), "echo 'not reached'"));
        FreeStyleBuild preemptor = suspend("sleep 600");
        Queue.Item item = Arrays.stream(Queue.getInstance().getItems())
                .filter(i -> i.task instanceof ExecutorStepExecution.PlaceholderTask)
                .findFirst()
                .orElseThrow();
        assertTrue(Queue.getInstance().cancel(item));
        ended(Result.ABORTED);
        assertThat(Rig.log(victim), not(containsString("not reached")));
        stop(preemptor);
    }

    @Test
    @Tag("slow")
    void timeoutAroundTheBlock() throws Exception {
        timeout("timeout(time: 12, unit: 'SECONDS') { " + Rig.own(Rig.counter(1000)) + " }");
    }

    @Test
    @Tag("slow")
    void timeoutAroundTheNodeBlock() throws Exception {
        timeout("timeout(time: 12, unit: 'SECONDS') { " + Rig.nested(Rig.counter(1000), "") + " }");
    }

    private void timeout(String script) throws Exception {
        low = rig.pipeline("low", 5, script);
        FreeStyleBuild preemptor = suspend("sleep 600");
        ended(Result.ABORTED);
        assertThat(Rig.log(victim), containsString("Timeout has been exceeded"));
        assertTrue(preemptor.isBuilding());
        stop(preemptor);
    }

    /** The node block continues at once, without an executor; it takes the next one that is free, and ends well. */
    @Tag("slow")
    @Test
    void timeoutInsideTheNodeBlock() throws Exception {
        low = rig.pipeline("low", 5, """
                node('linux') {
                  try {
                    timeout(time: 12, unit: 'SECONDS') {
                      preemptible { sh '''set +x
                %s
                ''' }
                    }
                  } catch (e) {
                    echo "caught $e"
                  }
                  sh 'echo goes on; while [ ! -e enough ]; do sleep 0.2; done'
                }""".formatted(Rig.counter(1000)));
        FreeStyleBuild preemptor = suspend(Rig.untilEnough());
        Rig.awaitLog(victim, "goes on\n");
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        await().atMost(Rig.PATIENCE).until(() -> agent.toComputer().countBusy() == 1);
        agent.getWorkspaceFor(low).child("enough").touch(System.currentTimeMillis());
        ended(Result.SUCCESS);
        assertThat(Rig.log(victim), containsString("caught "));
        assertThat(Rig.log(victim), containsString("goes on"));
        assertThat(Rig.log(victim), not(containsString("Resumed on")));
        await().atMost(Rig.PATIENCE).until(() -> agent.toComputer().countIdle() == 1);
    }

    @Test
    void agentDeletedOwn() throws Exception {
        agentDeleted(Rig.own(Rig.counter(1000)));
    }

    @Test
    void agentDeletedNested() throws Exception {
        agentDeleted(Rig.nested(Rig.counter(1000), "echo 'not reached'"));
    }

    private void agentDeleted(String script) throws Exception {
        low = rig.pipeline("low", 5, script);
        FreeStyleBuild preemptor = suspend("sleep 600");
        // Frozen processes on a host that Jenkins no longer knows would stay there.
        Rig.awaitSealed(victim, 1);
        j.jenkins.removeNode(agent);
        assertThat(
                victim.getAction(SuspendedBadgeAction.class).getTooltip(),
                containsString("Its agent “worker” was removed from Jenkins: it ends in "));
        CLICommandInvoker.Result resume = new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("low", "1");
        assertEquals(4, resume.returnCode());
        assertThat(resume.stderr(), containsString("cannot be resumed: its agent “worker” was removed from Jenkins"));
        j.assertBuildStatus(Result.ABORTED, completed(victim));
        assertThat(Rig.log(victim), containsString("was removed while the stage was suspended"));
        assertThat(Rig.log(victim), containsString("This stage ends in "));
        assertEquals(List.of(), victim.getArtifacts());
        await().atMost(Rig.PATIENCE)
                .untilAsserted(() -> assertEquals(0, Queue.getInstance().getItems().length));
        await().atMost(Rig.PATIENCE)
                .untilAsserted(() ->
                        assertEquals(List.of(), List.copyOf(StageRegistry.get().all())));
        assertEquals("", Rig.mounts(Path.of(agent.getRemoteFS(), "preemptible")));
        StagesSeen.assertNothingRuns();
        stop(preemptor);
    }

    /** Nothing of it can be reached any more, so nobody is told that it is being suspended. */
    @Test
    void agentDeletedUnderARunningStage() throws Exception {
        low = rig.pipeline("low", 5, Rig.own(Rig.counter(200)));
        victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        j.jenkins.removeNode(agent);
        CLICommandInvoker.Result suspend = new CLICommandInvoker(j, "preemptible-suspend").invokeWithArgs("low", "1");
        assertEquals(4, suspend.returnCode());
        assertThat(
                suspend.stderr(), containsString("cannot be suspended: its agent “worker” was removed from Jenkins"));
        assertFalse(StageRegistry.get().all().iterator().next().byHand());
        Rig.awaitLog(
                victim,
                "The agent 'worker' was removed from Jenkins. The processes of this stage keep running on its host");
    }

    private FreeStyleBuild suspend(String shell) throws Exception {
        victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        FreeStyleProject high = rig.freestyle("high", 1, shell);
        high.scheduleBuild2(0);
        // Not waitForStart, which waits for ever: on a busy machine a stage's timeout may be over before.
        await("the preemptor").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != null);
        Rig.awaitState(StageState.SUSPENDED);
        return high.getLastBuild();
    }

    private WorkflowRun completed(WorkflowRun run) {
        await(run + " to end").atMost(Duration.ofMinutes(3)).until(() -> !run.isBuilding());
        return run;
    }

    private void ended(Result expected) throws Exception {
        j.assertBuildStatus(expected, completed(victim));
        Rig.assertNothingLeft(agent, low);
        await().atMost(Rig.PATIENCE)
                .untilAsserted(() -> assertEquals(0, Queue.getInstance().getItems().length));
        assertWorkspaceFree();
    }

    /** A lease that was left would send the next one to another folder. */
    private void assertWorkspaceFree() throws Exception {
        try (WorkspaceList.Lease next = agent.toComputer().getWorkspaceList().allocate(agent.getWorkspaceFor(low))) {
            assertEquals(agent.getWorkspaceFor(low), next.path);
        }
    }

    private void stop(FreeStyleBuild preemptor) throws Exception {
        if (preemptor.getExecutor() != null) {
            preemptor.getExecutor().interrupt();
        }
        j.waitForCompletion(preemptor);
    }
}
