package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Queue;
import hudson.plugins.throttleconcurrents.ThrottleJobProperty;
import io.jenkins.plugins.preemptible.engine.policy.Action;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.queue.LastDecision;
import java.util.List;
import java.util.function.Predicate;
import org.jenkins.plugins.lockableresources.RequiredResourcesProperty;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/**
 * Lockable Resources and Throttle Concurrent Builds: nobody is suspended for whom they hold back, and whoever is
 * suspended neither loses what it holds nor blocks others with it for ever.
 */
@WithJenkins
@Tag("acceptance")
class LockedAndThrottledTest extends BesideOtherWork {

    private static final String CATEGORY = "heavy";
    private static final String COUNTS = "sh '''set +x\n" + Rig.endless() + "\n'''";
    private static final String UNTIL_OVER = "sh 'while [ ! -e over ]; do sleep 0.2; done'";

    @BeforeEach
    void category() {
        ThrottleJobProperty.fetchDescriptor()
                .setCategories(List.of(new ThrottleJobProperty.ThrottleCategory(CATEGORY, 1, 0, null)));
    }

    private static String throttled(String script) {
        return "throttle(['" + CATEGORY + "']) { " + script + " }";
    }

    private static String untilEnough() {
        return "node('linux') { sh '" + Rig.untilEnough() + "' }";
    }

    private void enough(WorkflowJob job) throws Exception {
        agent.getWorkspaceFor(job).child("enough").touch(System.currentTimeMillis());
    }

    /** One with the lock is on another agent; the item waits for it and not for an executor. */
    @Test
    void nobodyIsSuspendedForAnItemThatWaitsForALock() throws Exception {
        start(Rig.own(Rig.endless()));
        WorkflowJob holds =
                rig.pipeline("holds", 3, "lock('db') { node('built-in') { sh '" + Rig.untilEnough() + "' } }");
        WorkflowRun holder = Rig.start(holds);
        Rig.awaitLog(holder, "+ sleep");
        FreeStyleProject high = rig.freestyle("high", 1, Rig.untilEnough());
        high.addProperty(new RequiredResourcesProperty("db", null, null, null, null));
        high.scheduleBuild2(0);
        await("the item waits for the lock")
                .atMost(Rig.PATIENCE)
                .until(() -> high.getQueueItem() instanceof Queue.BlockedItem blocked
                        && blocked.getWhy().contains("db"));
        Rig.awaitAnotherLook();
        assertThat(Rig.log(victim), not(containsString("Suspending this stage")));
        j.jenkins.getWorkspaceFor(holds).child("enough").touch(System.currentTimeMillis());
        j.assertBuildStatusSuccess(j.waitForCompletion(holder));
        await("the lock has been passed on").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != null);
        assertThat(Rig.log(victim), containsString("Suspending this stage for high: "));
        ends(high.getLastBuild());
        assertEquals(agent, high.getLastBuild().getBuiltOn());
        endsWell();
        assertSuspensions(1, victim);
    }

    /** What waits for the lock has no executor meanwhile, and gets it when the stage has come to its end. */
    @Test
    void aSuspendedStageKeepsTheLockAroundIt() throws Exception {
        start("lock('db') { " + Rig.own(Rig.endless()) + " }");
        FreeStyleBuild preemptor = preempt("high");
        Rig.awaitState(StageState.SUSPENDED);
        WorkflowRun waiter =
                Rig.start(rig.pipeline("waiter", 1, "lock('db') { node('linux') { sh 'echo has it now' } }"));
        Rig.awaitLog(waiter, "is not free, waiting");
        Rig.awaitAnotherLook();
        assertThat(Rig.log(waiter), not(containsString("Lock acquired")));
        ends(preemptor);
        Rig.awaitLog(victim, "Resumed on worker");
        Rig.awaitCounting(victim);
        Rig.awaitAnotherLook();
        assertThat(Rig.log(waiter), not(containsString("Lock acquired")));
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 4);
        j.assertBuildStatusSuccess(j.waitForCompletion(waiter));
        assertThat(Rig.log(waiter), containsString("has it now\n"));
        assertSuspensions(1, victim);
        Rig.assertNothingLeft(agent, low);
    }

    /** Else the preemptor would hold the executor and wait for the lock, and the stage the other way round. */
    @Test
    void aStageIsNotSuspendedWhileItHoldsALockThatItTookOnItsExecutor() throws Exception {
        lockedOnExecutor("preemptible(label: 'linux') { lock('db') { " + COUNTS + " }\n" + UNTIL_OVER + " }");
    }

    @Test
    void noStageIsSuspendedWhileItsNodeBlockHoldsALock() throws Exception {
        lockedOnExecutor(
                "node('linux') { lock('db') { preemptible { " + COUNTS + " } }\npreemptible { " + UNTIL_OVER + " } }");
    }

    private void lockedOnExecutor(String script) throws Exception {
        start(script);
        WorkflowRun preemptor =
                Rig.start(rig.pipeline("high", 1, "node('linux') { lock('db') { sh 'echo got both' } }"));
        Rig.awaitLog(victim, "It holds a lock");
        Rig.awaitLog(preemptor, Reason.NOT_CHECKPOINTABLE.sentence());
        Rig.awaitCounting(victim);
        assertThat(Rig.log(victim), not(containsString("Suspending this stage")));
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        assertThat(Rig.log(preemptor), containsString("got both\n"));
        Rig.awaitLog(victim, "Resumed on worker");
        Rig.touch(victim, "over");
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 4);
        assertSuspensions(1, victim);
        Rig.assertNothingLeft(agent, low);
    }

    /** At most one build of the job at a time: the second one is no candidate for any executor. */
    @Test
    void nobodyIsSuspendedForAThrottledBuild() throws Exception {
        throttled(
                new ThrottleJobProperty(0, 1, List.of(), true, "project", false, "", null),
                item -> item instanceof Queue.BlockedItem
                        && item.getWhy().contains("Already running 1 builds across all nodes"));
    }

    /** At most one on an agent: the second one is a candidate, but not there. */
    @Test
    void nobodyIsSuspendedForABuildThatIsThrottledOnTheAgent() throws Exception {
        throttled(
                new ThrottleJobProperty(1, 0, List.of(), true, "project", false, "", null),
                item -> item instanceof Queue.BuildableItem && decided(item) == Reason.AGENT_NOT_ACCEPTING);
    }

    private static Reason decided(Queue.Item item) {
        Action action = LastDecision.get().of(String.valueOf(item.getId()));
        return action == null ? null : action.reason();
    }

    private void throttled(ThrottleJobProperty throttle, Predicate<Queue.Item> held) throws Exception {
        executors(2);
        start(Rig.own(Rig.endless()));
        FreeStyleProject high = rig.freestyle("high", 1, Rig.untilEnough());
        high.setConcurrentBuild(true);
        high.addProperty(throttle);
        high.scheduleBuild2(0);
        await("the first build has started").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != null);
        FreeStyleBuild first = high.getLastBuild();
        high.scheduleBuild2(0);
        Queue.Item second =
                await("the second build waits").atMost(Rig.PATIENCE).until(high::getQueueItem, item -> item != null);
        await("it is held back")
                .atMost(Rig.PATIENCE)
                .until(() -> held.test(Queue.getInstance().getItem(second.getId())));
        Rig.awaitAnotherLook();
        assertTrue(held.test(Queue.getInstance().getItem(second.getId())));
        ends(first);
        await("the second build has started").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != first);
        ends(high.getLastBuild());
        endsWell();
        assertSuspensions(0, victim);
    }

    /**
     * One node block of the category at a time. Others wait for it and not for its executor; while its stage is
     * suspended they may go first; and while they run it waits for them, without holding up anybody else.
     */
    @Test
    void aThrottledBlockIsSuspendedAndGoesOnWhenItMay() throws Exception {
        start(throttled(Rig.nested(Rig.endless(), "echo 'after'")));
        WorkflowJob same = rig.pipeline("same", 1, throttled(untilEnough()));
        WorkflowRun next = Rig.start(same);
        Rig.awaitLog(next, Reason.AGENT_NOT_ACCEPTING.sentence());
        assertThat(Rig.log(victim), not(containsString("Suspending this stage")));

        FreeStyleBuild preemptor = preempt("high");
        Rig.awaitState(StageState.SUSPENDED);
        executors(2);
        await("the next of the category runs")
                .atMost(Rig.PATIENCE)
                .until(() -> agent.toComputer().countIdle() == 0);
        Rig.awaitState(StageState.SUSPENDED);
        ends(preemptor);

        Rig.awaitAnotherLook();
        WorkflowRun worse = Rig.start(rig.pipeline("worse", 5, "node('linux') { sh 'echo meanwhile' }"));
        await("another one gets the idle executor").atMost(Rig.PATIENCE).until(() -> !worse.isBuilding());
        j.assertBuildStatusSuccess(worse);
        assertThat(Rig.log(victim), not(containsString("Resumed on")));

        enough(same);
        j.assertBuildStatusSuccess(j.waitForCompletion(next));
        Rig.awaitLog(victim, "Resumed on worker");
        endsWell();
        assertSuspensions(1, victim);
    }
}
