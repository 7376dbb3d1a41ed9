package io.jenkins.plugins.preemptible.queue;

import hudson.model.Queue;
import io.jenkins.plugins.preemptible.engine.policy.Action;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.queue.snapshot.WaitingItems;
import io.jenkins.plugins.preemptible.view.WaitReasonAction;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Tells each item and stage why it waits.
 *
 * <ol>
 *   <li>A queue item has the reason of the last decision as an action, which REST shows.
 *   <li>A build log gets a line when a reason has held for {@value #SETTLED_MILLIS} ms and is another one than the last
 *       line's: what comes and goes between two looks is not told.
 *   <li>Lines are written by another thread, at most {@value #MOST_LINES} for each evaluation: what is left is told by the
 *       next ones.
 *   <li>An item or stage that no longer waits is forgotten.
 * </ol>
 *
 * Used by the one thread that looks at the queue.
 */
final class WaitReasons {

    private static final long SETTLED_MILLIS = 1_000;
    private static final int MOST_LINES = 500;

    /** @param told what the build log said last; null when it has said nothing */
    private record Known(Reason reason, long sinceMillis, Reason told) {}

    private Map<String, Known> known = new HashMap<>();

    void tell(List<Action> actions, WaitingItems items, long nowMillis) {
        Map<String, Known> now = new HashMap<>(2 * actions.size());
        Map<Reason, WaitReasonAction> shown = new EnumMap<>(Reason.class);
        List<Runnable> lines = new ArrayList<>();
        for (Action action : actions) {
            if (action instanceof Action.Wait || action instanceof Action.Reserve) {
                Known before = known.get(action.claimant());
                boolean same = before != null && before.reason == action.reason();
                Known next = same ? before : new Known(action.reason(), nowMillis, before == null ? null : before.told);
                Queue.BuildableItem item = items.item(action.claimant());
                if (!same && item != null) {
                    item.addOrReplaceAction(
                            shown.computeIfAbsent(action.reason(), reason -> new WaitReasonAction(reason, nowMillis)));
                }
                if (next.reason != next.told
                        && nowMillis - next.sinceMillis >= SETTLED_MILLIS
                        && lines.size() < MOST_LINES) {
                    lines.add(() -> line(action.claimant(), item, action.reason()));
                    next = new Known(next.reason, next.sinceMillis, next.reason);
                }
                now.put(action.claimant(), next);
            }
        }
        known = now;
        if (!lines.isEmpty()) {
            StageThreads.tell("telling why items wait", () -> lines.forEach(Runnable::run));
        }
    }

    /** Whether a reason has to be told once it has settled. */
    boolean untold() {
        return known.values().stream().anyMatch(one -> one.reason != one.told);
    }

    private static void line(String claimant, Queue.BuildableItem item, Reason reason) {
        LiveStage stage = LiveStage.find(claimant);
        if (stage != null) {
            StageLog.line(stage.context(), "Still suspended. " + reason.sentence());
            return;
        }
        WaitingPipeline build = item == null ? null : WaitingPipeline.of(item.task);
        if (build != null) {
            build.line("Waits for an executor. " + reason.sentence());
        }
    }
}
