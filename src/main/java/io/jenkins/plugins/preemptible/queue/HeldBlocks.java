package io.jenkins.plugins.preemptible.queue;

import hudson.model.Node;
import hudson.model.Queue;
import io.jenkins.plugins.preemptible.lifecycle.AbortedStage;
import io.jenkins.plugins.preemptible.lifecycle.PlaceholderAccess;
import io.jenkins.plugins.preemptible.lifecycle.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.StageRegistry;
import java.util.HashMap;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The node blocks of suspended stages that another plugin would not let have their executors again, such as one that
 * throttles.
 *
 * <ol>
 *   <li>Such a block stays in the queue, blocked by {@link StageDispatcher}, where nobody else is asked about it.
 *   <li>So the others are asked here, as if it were buildable, before it is let go.
 *   <li>Whoever is held back gets no executor promised: a block that may run and has run before keeps everybody else off
 *       its agent, whether it is let in there or not ({@code ContinuedTask}).
 * </ol>
 *
 * Of one moment. Made and asked off the queue's lock.
 */
final class HeldBlocks {

    private static final Logger LOGGER = Logger.getLogger(HeldBlocks.class.getName());

    private final Map<String, Queue.NotWaitingItem> byStage = new HashMap<>();

    private HeldBlocks() {}

    static HeldBlocks now() {
        HeldBlocks now = new HeldBlocks();
        StageRegistry stages = StageRegistry.get();
        if (stages.all().stream().anyMatch(stage -> stage.suspended() && stage.form() == StageRecord.Form.NESTED)) {
            for (Queue.Item item : Queue.getInstance().getItems()) {
                StageRecord stage = stages.ofPlaceholder(PlaceholderAccess.context(item.task));
                if (stage != null && item instanceof Queue.NotWaitingItem) {
                    now.byStage.put(stage.id(), (Queue.NotWaitingItem) item);
                }
            }
        }
        return now;
    }

    /** Whether the stage's block is in the queue, and another plugin would not let it have an executor there. */
    boolean contains(StageRecord stage) {
        Queue.NotWaitingItem block = byStage.get(stage.id());
        Node node = AbortedStage.nodeOf(stage.node());
        if (block == null || node == null) {
            return false;
        }
        try {
            Queue.BuildableItem asked = block instanceof Queue.BuildableItem
                    ? (Queue.BuildableItem) block
                    : new Queue.BuildableItem(block);
            return !asked.isPending() && !(OtherPlugins.letRun(asked) && OtherPlugins.letTake(node, asked));
        } catch (RuntimeException | LinkageError x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot tell whether " + block + " may run");
            return false;
        }
    }
}
