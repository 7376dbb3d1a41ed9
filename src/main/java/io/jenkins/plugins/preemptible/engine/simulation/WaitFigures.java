package io.jenkins.plugins.preemptible.engine.simulation;

import com.fasterxml.jackson.annotation.JsonIgnore;
import java.util.List;
import java.util.stream.IntStream;

/**
 * How long the jobs of one class waited.
 *
 * <ol>
 *   <li>A wait lasts from the arrival to the first start.
 *   <li>A delay is all of a job's time in which it made no progress that counts: its wait, its suspensions, its
 *       restores, and the runs that it lost.
 *   <li>A job that is never suspended nor killed has a delay that is its wait.
 * </ol>
 *
 * @param kind the class
 * @param jobs of this class
 * @param waitsByPercent seconds; the first is what 1 % of the jobs waited at most, the last of 99
 */
public record WaitFigures(
        String kind,
        int jobs,
        double p50Seconds,
        double p95Seconds,
        double p99Seconds,
        double delayP50Seconds,
        double delayP95Seconds,
        @JsonIgnore List<Double> waitsByPercent) {

    public WaitFigures {
        waitsByPercent = List.copyOf(waitsByPercent);
    }

    static WaitFigures of(String kind, long[] sortedWaits, long[] sortedDelays) {
        return new WaitFigures(
                kind,
                sortedWaits.length,
                percentile(sortedWaits, 50),
                percentile(sortedWaits, 95),
                percentile(sortedWaits, 99),
                percentile(sortedDelays, 50),
                percentile(sortedDelays, 95),
                IntStream.rangeClosed(1, 99)
                        .mapToObj(percent -> percentile(sortedWaits, percent))
                        .toList());
    }

    private static double percentile(long[] sorted, int percent) {
        if (sorted.length == 0) {
            return 0;
        }
        int rank = (int) Math.ceil(sorted.length * percent / 100.0);
        return sorted[Math.max(0, rank - 1)] / 1000.0;
    }
}
