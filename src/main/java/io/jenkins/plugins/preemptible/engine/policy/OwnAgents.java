package io.jenkins.plugins.preemptible.engine.policy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;

/**
 * How long stages that could move would have to wait for their own agents.
 *
 * <ol>
 *   <li>An executor is expected to be free when the stage or the build on it is expected to end. What has no earlier runs,
 *       or has run longer than expected, is expected to stay.
 *   <li>An executor that is being freed for another claim is none of these: its stage does not count as running.
 *   <li>A better claim that waits for the agent as well has the first of them; so has whatever waits in Jenkins' queue, since
 *       Jenkins gives it the executor before a stage can be resumed.
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
        Map<String, List<Long>> byAgent = new HashMap<>();
        BiConsumer<String, Long> ends = (agent, endMillis) -> {
            if (endMillis > snapshot.nowMillis()) {
                byAgent.computeIfAbsent(agent, a -> new ArrayList<>()).add(endMillis - snapshot.nowMillis());
            }
        };
        snapshot.running().forEach(stage -> ends.accept(stage.agent(), stage.expectedEndMillis()));
        snapshot.busy().forEach(executor -> ends.accept(executor.agent(), executor.expectedEndMillis()));
        byAgent.forEach((agent, millis) -> remaining.put(
                fits.number(agent),
                millis.stream().mapToLong(Long::longValue).sorted().toArray()));
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
