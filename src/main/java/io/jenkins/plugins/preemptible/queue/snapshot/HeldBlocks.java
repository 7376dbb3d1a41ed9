package io.jenkins.plugins.preemptible.queue.snapshot;

import hudson.model.Node;
import hudson.model.Queue;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.lifecycle.agents.OtherPlugins;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The node blocks of suspended stages that another plugin would not let have their executors again, such as one that
 * throttles.
 *
 * <ol>
 *   <li>Such a block stays in the queue, blocked by {@link StageDispatcher}, where nobody else is asked about it.
 *   <li>So the others are asked here, as if it were buildable, before it is let go.
 *   <li>A block that is held back gets no executor promised: a block that may run and has run before keeps everybody else off
 *       its agent, whether it is let in there or not ({@code ContinuedTask}).
 * </ol>
 *
 * Of one moment. Made and asked off the queue's lock.
 */
final class HeldBlocks {

    private static final Logger LOGGER = Logger.getLogger(HeldBlocks.class.getName());

    private final OtherPlugins others = OtherPlugins.now();

    /** Whether the stage's block is in the queue, and another plugin would not let it have an executor there. */
    boolean contains(StageRecord stage) {
        LiveStage live = LiveStage.find(stage.id());
        Queue.Item block = live == null ? null : live.block();
        Node node = Nodes.named(stage.node());
        if (node == null || !(block instanceof Queue.NotWaitingItem waits)) {
            return false;
        }
        try {
            Queue.BuildableItem asked =
                    waits instanceof Queue.BuildableItem buildable ? buildable : new Queue.BuildableItem(waits);
            return !asked.isPending() && !(OtherPlugins.letRun(asked) && others.letTake(node, asked));
        } catch (RuntimeException | LinkageError x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot tell whether " + block + " may run");
            return false;
        }
    }
}
