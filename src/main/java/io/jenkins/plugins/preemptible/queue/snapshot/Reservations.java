package io.jenkins.plugins.preemptible.queue.snapshot;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.ExtensionList;
import hudson.model.Queue;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.PlaceholderAccess;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.step.StageTask;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Executors that were freed for an item or a stage, until it has them.
 *
 * <ol>
 *   <li>Made when a suspension begins, opened when the executor is free, dropped when the one it is for has started,
 *       was cancelled, or has not come within a minute of the executor being given away. One that was not opened within half an hour, since an agent
 *       hangs, is dropped as well, so that another victim is looked for. One that waits for the next executor is open
 *       from the beginning, and dropped when its stage is resumed.
 *   <li>While it is open, {@link StageDispatcher} keeps everybody else off as many idle executors of that agent as are
 *       reserved.
 *   <li>Its claimant is a name: the id of the queue item, or of the stage that is to be resumed.
 * </ol>
 *
 * In memory only: after a restart of the controller everybody asks anew. Safe for any thread, O(1) under the queue's
 * lock but for the handful of reservations of one agent.
 */
@Extension
public final class Reservations {

    private static final long LONGEST_MILLIS = TimeUnit.MINUTES.toMillis(1);

    private static final long LONGEST_UNOPENED_MILLIS = TimeUnit.MINUTES.toMillis(30);

    private final Map<String, Reservation> byHolder = new ConcurrentHashMap<>();
    /** The open ones of each agent, made anew at each change: the queue asks for them under its lock. */
    private volatile Map<String, List<Reservation>> openByNode = Map.of();

    /**
     * One freed or about to be freed executor.
     *
     * @param stageId the victim; null when the next executor that becomes idle is kept
     * @param sinceMillis when the decision fell
     * @param openMillis when the executor became free, 0 before
     */
    public record Reservation(
            String holder, String node, @CheckForNull String stageId, long sinceMillis, long openMillis) {
        public boolean open() {
            return openMillis > 0;
        }

        /** Whether it is for the next executor that becomes idle, nobody having been suspended for it. */
        boolean kept() {
            return stageId == null;
        }

        boolean stale(long nowMillis) {
            if (kept()) {
                StageRecord stage = StageRegistry.get().find(holder);
                return stage == null || !stage.suspended();
            }
            // The machine's clock may have been set back: then it is too old, rather than for ever too young.
            return open() && !victimHoldsIt()
                    ? Math.abs(nowMillis - openMillis) > LONGEST_MILLIS
                    : Math.abs(nowMillis - sinceMillis) > LONGEST_UNOPENED_MILLIS;
        }

        /** A stage that is to be run again has its executor until what it does at its end is done. */
        private boolean victimHoldsIt() {
            StageRecord victim = StageRegistry.get().find(stageId);
            return victim != null && takes(victim);
        }

        /** Whether the stage holds the executor still from which this one is to come. */
        boolean takes(StageRecord stage) {
            return stage.id().equals(stageId) && stage.holdsExecutor() && stage.runningSinceMillis() <= sinceMillis;
        }
    }

    public static Reservations get() {
        return ExtensionList.lookupSingleton(Reservations.class);
    }

    /** The name under which an item may hold a reservation. */
    public static String holder(Queue.Item item) {
        if (item.task instanceof StageTask && ((StageTask) item.task).resumes()) {
            return ((StageTask) item.task).stageId();
        }
        StageRecord nested = StageRegistry.get().ofPlaceholder(PlaceholderAccess.context(item.task));
        return nested != null && nested.suspended() ? nested.id() : String.valueOf(item.getId());
    }

    /** @return false when that one has a reservation already */
    public boolean begin(String holder, StageRecord victim) {
        Reservation begun = new Reservation(holder, victim.node(), victim.id(), System.currentTimeMillis(), 0);
        return byHolder.putIfAbsent(holder, begun) == null;
    }

    /** Keeps the next executor of that agent for a suspended stage. @return false when it has a reservation already */
    public boolean keepNext(StageRecord stage, String node) {
        long now = System.currentTimeMillis();
        boolean kept = byHolder.putIfAbsent(stage.id(), new Reservation(stage.id(), node, null, now, now)) == null;
        arrange();
        return kept;
    }

    /** Drops the kept ones that the last decision does not want any more. @param wanted ids of stages */
    public void keepOnly(Set<String> wanted) {
        if (byHolder.values().removeIf(reservation -> reservation.kept() && !wanted.contains(reservation.holder))) {
            arrange();
        }
    }

    /** Whether the stage is giving its executor away: nothing else may count on it. */
    boolean takes(StageRecord stage) {
        return byHolder.values().stream().anyMatch(reservation -> reservation.takes(stage));
    }

    /** The agent where an executor was freed, or is being freed, for that one; null when none is. */
    @CheckForNull
    String freedOn(String holder) {
        Reservation own = byHolder.get(holder);
        return own == null || own.kept() ? null : own.node;
    }

    public void open(String holder) {
        byHolder.computeIfPresent(
                holder,
                (key, r) -> new Reservation(r.holder, r.node, r.stageId, r.sinceMillis, System.currentTimeMillis()));
        arrange();
    }

    @CheckForNull
    public Reservation drop(String holder) {
        Reservation dropped = byHolder.remove(holder);
        if (dropped != null) {
            arrange();
        }
        return dropped;
    }

    private synchronized void arrange() {
        openByNode =
                byHolder.values().stream().filter(Reservation::open).collect(Collectors.groupingBy(Reservation::node));
    }

    /** Whether an executor of this agent is kept for anybody. */
    boolean anyOpenOn(String node) {
        return openByNode.containsKey(node);
    }

    /**
     * How many idle executors of this agent are for others than this item. An item that had one freed for it does not wait for
     * those that have the next one kept: else each would wait for the other.
     */
    int forOthers(String node, String holder) {
        Reservation own = byHolder.get(holder);
        boolean freedForIt = own != null && !own.kept() && own.node.equals(node);
        int count = 0;
        for (Reservation reservation : openByNode.getOrDefault(node, List.of())) {
            if (!reservation.holder.equals(holder) && !(freedForIt && reservation.kept())) {
                count++;
            }
        }
        return count;
    }

    /** Drops what nobody came for. */
    public void sweep() {
        long now = System.currentTimeMillis();
        if (byHolder.values().removeIf(reservation -> reservation.stale(now))) {
            arrange();
        }
    }
}
