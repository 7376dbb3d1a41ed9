package io.jenkins.plugins.preemptible.overview;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Item;
import hudson.model.Queue;
import io.jenkins.plugins.preemptible.overview.parts.Cell;
import io.jenkins.plugins.preemptible.overview.parts.Column;
import io.jenkins.plugins.preemptible.queue.LastDecision;
import java.util.Comparator;
import java.util.List;

/** The list of items that wait for an executor. */
final class WaitingRows {

    private WaitingRows() {}

    static List<Column<Queue.BuildableItem>> columns() {
        return List.of(
                new Column<>(
                        "item",
                        Messages.WaitingRows_Item(),
                        Comparator.comparing(item -> item.task.getFullDisplayName()),
                        item -> Cell.link(item.task.getFullDisplayName(), address(item.task))),
                new Column<>(
                        "priority",
                        Messages.StageRows_Priority(),
                        Comparator.comparing(WaitingRows::priority, Comparator.nullsLast(Comparator.naturalOrder())),
                        item -> Cell.of(priority(item))),
                new Column<>(
                        "since",
                        Messages.WaitingRows_Since(),
                        Comparator.comparingLong(item -> item.buildableStartMilliseconds),
                        item -> StageRows.span(item.buildableStartMilliseconds)),
                new Column<>(
                        "next",
                        Messages.StageRows_Next(),
                        Comparator.comparing(item -> StageRows.next(String.valueOf(item.getId()))),
                        item -> Cell.of(StageRows.next(String.valueOf(item.getId())))));
    }

    /** Null when nothing was decided about it yet. */
    @CheckForNull
    private static Integer priority(Queue.Item item) {
        return LastDecision.get().priority(String.valueOf(item.getId()));
    }

    @CheckForNull
    private static String address(Queue.Task task) {
        return task.getOwnerTask() instanceof Item item ? item.getUrl() : null;
    }
}
