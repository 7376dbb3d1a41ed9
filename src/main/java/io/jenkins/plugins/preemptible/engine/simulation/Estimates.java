package io.jenkins.plugins.preemptible.engine.simulation;

import io.jenkins.plugins.preemptible.engine.simulation.workload.SimJob;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;

/**
 * How long a run will take, by what earlier runs of the same name took in the simulation.
 *
 * <ol>
 *   <li>Only runs that ended before count: the future is not known.
 *   <li>The mean of the last three, as Jenkins estimates.
 *   <li>A name that has not been through yet is unknown, as is a job without a name.
 * </ol>
 */
final class Estimates {

    private static final int RUNS = 3;

    private final Map<String, ArrayDeque<Long>> last = new HashMap<>();
    private final Map<String, Long> means = new HashMap<>();

    void ended(SimJob job) {
        if (!job.name().isEmpty()) {
            ArrayDeque<Long> runs = last.computeIfAbsent(job.name(), name -> new ArrayDeque<>());
            runs.add(job.durationMillis());
            if (runs.size() > RUNS) {
                runs.remove();
            }
            means.put(job.name(), runs.stream().mapToLong(Long::longValue).sum() / runs.size());
        }
    }

    /** Milliseconds, 0 = unknown. */
    long of(SimJob job) {
        return means.getOrDefault(job.name(), 0L);
    }
}
