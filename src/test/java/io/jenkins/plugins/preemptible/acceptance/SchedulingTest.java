package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Label;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.queue.CauseOfBlockage;
import hudson.model.queue.QueueTaskDispatcher;
import hudson.slaves.DumbSlave;
import hudson.slaves.NodeProvisioner;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.Action;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.queue.LastDecision;
import io.jenkins.plugins.preemptible.view.PreemptorAction;
import io.jenkins.plugins.preemptible.view.WaitReasonAction;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.TestExtension;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** What the decision is told of a real controller, and what becomes of its actions there. */
@WithJenkins
@Tag("acceptance")
class SchedulingTest extends OneHeldArchive {

    private static volatile String vetoed;

    /** Another plugin that keeps a job off, such as one that throttles builds or waits for a lock. */
    @TestExtension
    public static final class Veto extends QueueTaskDispatcher {
        @Override
        public CauseOfBlockage canTake(Node node, Queue.BuildableItem item) {
            return item.task.getName().equals(vetoed) ? new Throttled() : null;
        }
    }

    private static final class Throttled extends CauseOfBlockage {
        @Override
        public String getShortDescription() {
            return "throttled";
        }
    }

    /** A cloud that has promised an agent, once. */
    @TestExtension
    public static final class OnItsWay extends NodeProvisioner.Strategy {
        private static volatile CompletableFuture<Node> coming;

        @Override
        public NodeProvisioner.StrategyDecision apply(NodeProvisioner.StrategyState state) {
            CompletableFuture<Node> next = coming;
            if (next != null && Label.get(Rig.LABEL).equals(state.getLabel())) {
                coming = null;
                state.recordPendingLaunches(new NodeProvisioner.PlannedNode("a cloud's agent", next, 2));
            }
            return NodeProvisioner.StrategyDecision.PROVISIONING_COMPLETED;
        }
    }

    @AfterEach
    void asBefore() {
        vetoed = null;
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
        PreemptibleConfiguration.get().setUndumpable("wait");
    }

    private static Queue.Item queued(FreeStyleProject job) {
        return await(job + " in the queue").atMost(Rig.PATIENCE).until(job::getQueueItem, item -> item != null);
    }

    private static void awaitDecision(Queue.Item item, Reason reason) {
        await(reason + " for " + item).atMost(Rig.PATIENCE).until(() -> {
            Action action = LastDecision.get().of(String.valueOf(item.getId()));
            return action != null && action.reason() == reason;
        });
    }

    private void nobodyIsSuspended() throws Exception {
        assertThat(Rig.log(victim), not(containsString("Suspending this stage")));
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
    }

    /** The victim's image is being made since its agent is short of memory, and the preemptor is cancelled. */
    @Test
    void cancelledPreemptorGivesBackAtOnce() throws Exception {
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(1_000_000);
        start(Rig.own(Rig.endless()));
        HeldArtifacts.shut();
        FreeStyleProject high = rig.freestyle("high", 1, Rig.untilEnough());
        high.scheduleBuild2(0);
        Queue.Item item = queued(high);
        await("the image is being archived").atMost(Rig.PATIENCE).until(() -> HeldArtifacts.waiting() > 0);
        Rig.awaitState(StageState.SUSPENDING);
        long cancelled = System.nanoTime();
        assertTrue(Queue.getInstance().cancel(item));
        Rig.awaitCounting(victim);
        System.out.println("the stage ran again " + (System.nanoTime() - cancelled) / 1_000_000
                + " ms after its preemptor was cancelled");
        HeldArtifacts.open();
        Rig.awaitState(StageState.RUNNING);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.assertNothingLeft(agent, low);
    }

    @Test
    void nobodyIsSuspendedForAnItemThatAnotherPluginHoldsBack() throws Exception {
        start(Rig.own(Rig.endless()));
        vetoed = "high";
        FreeStyleProject high = rig.freestyle("high", 1, Rig.untilEnough());
        high.scheduleBuild2(0);
        Queue.Item item = queued(high);
        awaitDecision(item, Reason.AGENT_NOT_ACCEPTING);
        await("the item tells why").atMost(Rig.PATIENCE).until(() -> {
            WaitReasonAction told = item.getAction(WaitReasonAction.class);
            return told != null && told.getReason() == Reason.AGENT_NOT_ACCEPTING;
        });
        Queue.getInstance().cancel(item);
        nobodyIsSuspended();
    }

    /** A cloud is bringing an agent with the item's label. */
    @Test
    void anAgentOnItsWayCountsBeforeAnybodyIsSuspended() throws Exception {
        start(Rig.own(Rig.endless()));
        Label label = Label.get("linux");
        CompletableFuture<Node> coming = new CompletableFuture<>();
        OnItsWay.coming = coming;
        // Jenkins asks for agents only when something waits.
        vetoed = "other";
        FreeStyleProject other = rig.freestyle("other", 5, "true");
        other.scheduleBuild2(0);
        queued(other);
        label.nodeProvisioner.suggestReviewNow();
        await("an agent is on its way")
                .atMost(Rig.PATIENCE)
                .until(() -> label.nodeProvisioner.getPendingLaunches().size() == 1);
        FreeStyleProject high = rig.freestyle("high", 1, Rig.untilEnough());
        high.scheduleBuild2(0);
        awaitDecision(queued(high), Reason.AGENT_ON_ITS_WAY);
        assertThat(Rig.log(victim), not(containsString("Suspending this stage")));
        coming.completeExceptionally(new IOException("the cloud is out of machines"));
        label.nodeProvisioner.suggestReviewNow();
        await("high has started").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != null);
        ends(high.getLastBuild());
        Queue.getInstance().cancel(other);
        endsWell();
    }

    /** Blocks and stages that nothing can be done for say so in their build logs, and who is served says by whom. */
    @Test
    void whoWaitsIsToldWhy() throws Exception {
        low = rig.pipeline("low", 2, Rig.own(Rig.endless()));
        victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        WorkflowRun block = Rig.start(rig.pipeline("block", 4, "node('linux') { echo 'is there' }"));
        WorkflowRun stage = Rig.start(rig.pipeline("stage", 4, Rig.own("echo is there")));
        Rig.awaitLog(block, "Waits for an executor. " + Reason.NO_LOWER_PRIORITY.sentence());
        Rig.awaitLog(stage, "Waits for an executor. " + Reason.NO_LOWER_PRIORITY.sentence());
        WorkflowRun served = Rig.start(rig.pipeline("served", 1, Rig.own("echo is there")));
        j.assertBuildStatusSuccess(j.waitForCompletion(served));
        assertThat(Rig.log(served), containsString("Preempted stage"));
        assertNotNull(served.getAction(PreemptorAction.class));
        endsWell();
        for (WorkflowRun waited : List.of(block, stage)) {
            j.assertBuildStatusSuccess(j.waitForCompletion(waited));
            assertThat(Rig.log(waited), not(containsString("Preempted stage")));
        }
    }

    /** An agent that is full of builds that are no stages has nothing to give, but it fits. */
    @Test
    void whoseAgentHasNoStageIsNotToldThatNoAgentFits() throws Exception {
        start(Rig.own(Rig.endless()));
        DumbSlave plain = AgentJvm.add(j, "plain", "plain", null);
        plain.setNumExecutors(1);
        j.waitOnline(plain);
        FreeStyleProject first = rig.freestyle("first", 1, Rig.untilEnough());
        FreeStyleProject second = rig.freestyle("second", 1, "true");
        first.setAssignedLabel(Label.get("plain"));
        second.setAssignedLabel(Label.get("plain"));
        FreeStyleBuild full = first.scheduleBuild2(0).waitForStart();
        second.scheduleBuild2(0);
        awaitDecision(queued(second), Reason.NO_FITTING_STAGE);
        ends(full);
        await("the second").atMost(Rig.PATIENCE).until(() -> second.getLastBuild() != null);
        j.assertBuildStatusSuccess(j.waitForCompletion(second.getLastBuild()));
        j.jenkins.removeNode(plain);
        nobodyIsSuspended();
    }

    /** A stage that has waited long has the next executor kept for it, whatever else waits. */
    @Test
    void theNextExecutorIsKeptForAStageThatHasWaitedLong() throws Exception {
        start(Rig.own(Rig.endless()));
        FreeStyleBuild first = preempt("first");
        Rig.awaitState(StageState.SUSPENDED);
        Pretended.suspendedEarlier(victim.getExternalizableId(), 3_600_000);
        FreeStyleProject next = rig.freestyle("next", 1, Rig.untilEnough());
        next.scheduleBuild2(0);
        Queue.Item item = queued(next);
        String stage = Rig.awaitState(StageState.SUSPENDED).id();
        await("an executor is reserved").atMost(Rig.PATIENCE).until(() -> {
            Action action = LastDecision.get().of(stage);
            return action instanceof Action.Reserve || (action != null && action.reason() == Reason.EXECUTOR_RESERVED);
        });
        ends(first);
        Rig.awaitLog(victim, "Resumed on worker");
        assertNotNull(Queue.getInstance().getItem(item.getId()), "the item of higher priority has waited");
        await("it is preempted again").atMost(Rig.PATIENCE).until(() -> next.getLastBuild() != null);
        ends(next.getLastBuild());
        endsWell();
    }

    /** A stage that cannot be dumped, and allows it, is ended for a better item and run again from its beginning. */
    @Test
    void aStageThatAllowsItIsRunAgain() throws Exception {
        PreemptibleConfiguration.get().setUndumpable("rerun");
        start("preemptible(label: 'linux', rerun: true) { sh '''set +x\n" + Rig.endless() + "\n''' }");
        Pretended.cannotBeDumped(victim.getExternalizableId());
        FreeStyleBuild preemptor = preempt("high");
        Rig.awaitLog(victim, Reason.CANNOT_BE_DUMPED.sentence());
        ends(preemptor);
        Rig.awaitLog(victim, "count-1\n", 2);
        Rig.awaitCounting(victim);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        assertThat(Rig.log(victim), not(containsString("Resumed")));
        Rig.assertNothingLeft(agent, low);
    }
}
