package io.jenkins.plugins.preemptible.queue;

import io.jenkins.plugins.preemptible.engine.policy.FairShares;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.RunningStage;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The executor time that owners of preemptible stages have had in this process of the controller.
 *
 * <ol>
 *   <li>At each look at the queue, those who ran at the last one are charged with the time since then.
 *   <li>Only stages count: they alone give way to each other.
 *   <li>{@link FairShares} sees to it that nobody saves time up.
 * </ol>
 *
 * Safe for any thread.
 */
final class OwnerTimes {

    private final FairShares shares = new FairShares();
    private Map<String, Integer> ran = Map.of();
    private long lastMillis;

    /** @param present owners of all stages, those too that are just being suspended or resumed, and of all items */
    synchronized Map<String, Long> at(long nowMillis, List<RunningStage> running, Set<String> present) {
        long millis = lastMillis == 0 ? 0 : Math.max(0, nowMillis - lastMillis);
        shares.advance(millis, ran, present);
        ran = new HashMap<>();
        running.forEach(stage -> ran.merge(stage.owner(), 1, Integer::sum));
        lastMillis = nowMillis;
        return shares.usedMillis();
    }
}
