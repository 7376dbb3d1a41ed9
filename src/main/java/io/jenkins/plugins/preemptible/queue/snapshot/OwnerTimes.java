package io.jenkins.plugins.preemptible.queue.snapshot;

import io.jenkins.plugins.preemptible.engine.policy.FairShares;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * The executor time that owners of preemptible stages have had in this process of the controller.
 *
 * <ol>
 *   <li>At each look at the queue, each owner is charged with what its stages have held executors since the last one, to
 *       the millisecond: turns may be short, and looks are rarely due when one ends.
 *   <li>Only stages count: they alone give way to each other. What they had before the controller started does not.
 *   <li>{@link FairShares} sees to it that nobody saves time up.
 * </ol>
 *
 * Safe for any thread.
 */
public final class OwnerTimes {

    private final FairShares shares = new FairShares();
    private final Map<String, Counted> counted = new HashMap<>();
    private long lastMillis;

    /** What a stage has had up to the last look. */
    private record Counted(String owner, long millis, boolean held) {}

    /**
     * @param stages all that are known
     * @param present owners of all stages, those too that are just being suspended or resumed, and of all items
     * @return milliseconds by owner
     */
    public synchronized Map<String, Long> at(long nowMillis, Collection<StageRecord> stages, Set<String> present) {
        Map<String, Long> held = new HashMap<>();
        Map<String, Counted> gone = new HashMap<>(counted);
        counted.clear();
        for (StageRecord stage : stages) {
            Counted before = gone.remove(stage.id());
            long millis = stage.executorMillis(nowMillis);
            if (before != null || lastMillis > 0) {
                // Never less than nothing: the machine's clock may have been set back.
                held.merge(stage.owner(), Math.max(0, millis - (before == null ? 0 : before.millis)), Long::sum);
            }
            counted.put(stage.id(), new Counted(stage.owner(), millis, stage.holdsExecutor()));
        }
        // Those have ended since, nobody knows when: most looks are due to such an end.
        long sinceLast = Math.max(0, nowMillis - lastMillis);
        gone.values().stream().filter(Counted::held).forEach(stage -> held.merge(stage.owner, sinceLast, Long::sum));
        shares.add(held, present);
        lastMillis = nowMillis;
        return shares.usedMillis();
    }
}
