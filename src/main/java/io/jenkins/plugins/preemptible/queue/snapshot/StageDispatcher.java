package io.jenkins.plugins.preemptible.queue.snapshot;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.model.Computer;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.queue.CauseOfBlockage;
import hudson.model.queue.QueueTaskDispatcher;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.lifecycle.agents.OtherPlugins;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.PlaceholderAccess;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import org.jenkinsci.plugins.durabletask.executors.ContinuedTask;
import org.jenkinsci.plugins.workflow.flow.FlowExecutionList;

/**
 * Keeps freed executors for those they were freed for, and suspended node blocks out of the queue's way.
 *
 * <ol>
 *   <li>{@link #canTake}: an idle executor that is reserved goes to nobody else.
 *   <li>{@link #canRun}: the placeholder of a suspended stage is blocked until the stage was granted its executor; as a
 *       blocked item it reserves nothing, as a buildable one it would starve everybody on its agent.
 *   <li>Nothing new is dispatched to an agent that is being drained. After a restart, the stages of an agent are taken up
 *       before anybody else is dispatched there; node blocks with a suspended stage get the one turn that Pipeline waits
 *       for.
 * </ol>
 *
 * Called under the queue's lock, hence look-ups only.
 */
@Extension(ordinal = 1000)
public final class StageDispatcher extends QueueTaskDispatcher implements OtherPlugins.Ours {

    @Override
    public CauseOfBlockage canTake(Node node, Queue.BuildableItem item) {
        StageRegistry stages = StageRegistry.get();
        String name = node.getNodeName();
        StageRecord nested = stages.ofPlaceholder(PlaceholderAccess.context(item.task));
        if (DrainedAgents.get().contains(name) && !runs(item, nested) && !isFrozenOnly(item)) {
            return CauseOfBlockage.fromMessage(Messages._StageDispatcher_drained());
        }
        if (stages.firstTurnsOn(name) && (nested == null || !stages.awaitsFirstTurn(nested.id()))) {
            return CauseOfBlockage.fromMessage(Messages._StageDispatcher_firstTurn());
        }
        Reservations reservations = Reservations.get();
        int reserved = reservations.anyOpenOn(name) ? reservations.forOthers(name, Reservations.holder(item)) : 0;
        if (reserved == 0) {
            return null;
        }
        Computer computer = node.toComputer();
        if (computer != null && computer.countIdle() <= reserved) {
            return CauseOfBlockage.fromMessage(Messages._StageDispatcher_reserved());
        }
        return null;
    }

    /** Whether the item is of a stage that must not stay in the agent's memory, be that drained or not. */
    private static boolean isFrozenOnly(Queue.BuildableItem item) {
        StageRecord stage = StageRegistry.get().find(Reservations.holder(item));
        return stage != null && stage.thawByMillis() > 0;
    }

    /** Whether the item is of something that ran before the controller's restart, and only takes its executor again. */
    private static boolean runs(Queue.BuildableItem item, @CheckForNull StageRecord nested) {
        return item.task instanceof ContinuedTask
                && ((ContinuedTask) item.task).isContinued()
                && (nested == null || !nested.suspended() || StageRegistry.get().awaitsFirstTurn(nested.id()));
    }

    @Override
    public CauseOfBlockage canRun(Queue.Item item) {
        StageRegistry stages = StageRegistry.get();
        StageRecord stage = stages.ofPlaceholder(PlaceholderAccess.context(item.task));
        if (stage == null || !stage.suspended()) {
            return null;
        }
        LiveStage live = LiveStage.find(stage.id());
        if (live != null) {
            // So that the decision finds it without walking through the queue.
            live.block(item);
        }
        if (stages.awaitsFirstTurn(stage.id())) {
            return FlowExecutionList.get().isResumptionComplete()
                    ? null
                    : CauseOfBlockage.fromMessage(Messages._StageDispatcher_loading());
        }
        if (live != null && live.granted()) {
            return null;
        }
        return new SuspendedFor(stage);
    }
}
