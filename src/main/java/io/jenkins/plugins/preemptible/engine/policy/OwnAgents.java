package io.jenkins.plugins.preemptible.engine.policy;

import io.jenkins.plugins.preemptible.engine.policy.Snapshot.RunningStage;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * How long stages that could move would have to wait for their own agents.
 *
 * <ol>
 *   <li>An executor is expected to be free when the stage on it is expected to end. Other builds, stages without earlier
 *       runs, and those that have run longer than expected, are expected to stay.
 *   <li>A better claim that waits for the agent as well has the first of them.
 * </ol>
 *
 * Of one decision, which tells of each claim that gets nothing, the best first.
 */
final class OwnAgents {

    private final Fit.Table fits;
    private final Map<Integer, long[]> remaining = new HashMap<>();
    private final Map<Fit, Integer> waiting = new HashMap<>();

    OwnAgents(Snapshot snapshot, Fit.Table fits) {
        this.fits = fits;
        Map<String, TreeMap<String, Long>> byAgent = new HashMap<>();
        for (RunningStage stage : snapshot.running()) {
            if (stage.expectedEndMillis() > snapshot.nowMillis()) {
                byAgent.computeIfAbsent(stage.agent(), a -> new TreeMap<>())
                        .put(stage.id(), stage.expectedEndMillis() - snapshot.nowMillis());
            }
        }
        byAgent.forEach((agent, stages) -> remaining.put(
                fits.number(agent),
                stages.values().stream().mapToLong(Long::longValue).sorted().toArray()));
    }

    /** A claim gets no executor now, and waits for one of these. */
    void waits(Fit fit) {
        waiting.merge(fit, 1, Integer::sum);
    }

    /** Whether an executor of one of these is expected to be free for the next claim within that time. */
    boolean areFreeWithin(Fit fit, long millis) {
        return Arrays.stream(fit.agents).anyMatch(agent -> fits.isThere(agent) && isFreeWithin(agent, millis));
    }

    private boolean isFreeWithin(int agent, long millis) {
        long[] ends = remaining.getOrDefault(agent, new long[0]);
        int before = waiting.entrySet().stream()
                .filter(each -> each.getKey().contains(agent))
                .mapToInt(Map.Entry::getValue)
                .sum();
        return before < ends.length && ends[before] <= millis;
    }
}
