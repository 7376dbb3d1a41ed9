package io.jenkins.plugins.preemptible.engine.policy;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The executor time that each owner has had, counted such that nobody can save it up.
 *
 * <ol>
 *   <li>Time is added for every executor that an owner's builds hold.
 *   <li>Whoever comes (again) starts with what the least served of those present has had: neither with a debt of others
 *       nor with a credit from the time in which it wanted nothing.
 *   <li>Whoever is gone and would be raised anyway is forgotten.
 * </ol>
 *
 * Has no clock: the caller says how much time has passed. One thread at a time. Source: virtual runtimes and their
 * minimum in Linux's fair scheduler, Documentation/scheduler/sched-design-CFS.rst.
 */
public final class FairShares {

    private final Map<String, Long> used = new TreeMap<>();
    private Set<String> present = Set.of();

    /**
     * Adds the time since the last call, in which nobody came or went.
     *
     * @param millis since then, at least 0
     * @param executors how many executors each owner has held since then
     * @param waiting the owners that wait for one
     */
    public void advance(long millis, Map<String, Integer> executors, Set<String> waiting) {
        Snapshot.notNegative("time since the last look", millis);
        Map<String, Long> held = new TreeMap<>();
        executors.forEach((owner, count) -> held.put(owner, millis * count));
        add(held, waiting);
    }

    /**
     * Adds what was measured since the last call.
     *
     * @param heldMillis the executor time of each owner that held any, at least 0; several executors count each
     * @param waiting the owners that wait for one
     */
    public void add(Map<String, Long> heldMillis, Set<String> waiting) {
        heldMillis.values().forEach(millis -> Snapshot.notNegative("executor time since the last look", millis));
        Set<String> now = new TreeSet<>(heldMillis.keySet());
        now.addAll(waiting);
        long least = present.stream()
                .filter(now::contains)
                .mapToLong(owner -> used.getOrDefault(owner, 0L))
                .min()
                .orElseGet(() ->
                        used.values().stream().mapToLong(Long::longValue).max().orElse(0));
        for (String owner : now) {
            long had = used.getOrDefault(owner, 0L);
            used.put(owner, present.contains(owner) ? had : Math.max(had, least));
        }
        used.entrySet().removeIf(entry -> !now.contains(entry.getKey()) && entry.getValue() <= least);
        heldMillis.forEach((owner, millis) -> used.merge(owner, millis, Long::sum));
        present = now;
    }

    /** Milliseconds by owner, for {@link Snapshot#usedMillis}. */
    public Map<String, Long> usedMillis() {
        return Map.copyOf(used);
    }
}
