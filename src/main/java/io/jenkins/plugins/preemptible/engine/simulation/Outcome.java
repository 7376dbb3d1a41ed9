package io.jenkins.plugins.preemptible.engine.simulation;

import io.jenkins.plugins.preemptible.engine.simulation.workload.Workload;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.function.ToLongFunction;

/**
 * The course of all jobs under one discipline.
 *
 * <ol>
 *   <li>Has every job's progress to its end.
 *   <li>{@link #figures} sums it up for people.
 *   <li>Percentiles are the nearest rank: a wait that some job really had.
 * </ol>
 *
 * @param utilisation share of the executor time that was held while jobs arrived, 0 to 1
 */
record Outcome(Discipline discipline, Workload workload, List<JobProgress> progresses, double utilisation) {

    private static final double HOUR = 3_600_000;

    Outcome {
        progresses = List.copyOf(progresses);
    }

    Figures figures() {
        TreeSet<String> kinds = new TreeSet<>();
        progresses.forEach(progress -> kinds.add(progress.job.kind()));
        long lost =
                progresses.stream().mapToLong(progress -> progress.lostMillis).sum();
        long overhead = progresses.stream()
                .mapToLong(progress -> progress.dumpMillis + progress.restoreMillis)
                .sum();
        long reruns = progresses.stream().mapToLong(progress -> progress.reruns).sum();
        long all =
                progresses.stream().mapToLong(progress -> progress.suspensions).sum();
        return new Figures(
                discipline,
                kinds.stream().map(this::waits).toList(),
                workload.workMillis() / HOUR,
                utilisation,
                lost / HOUR,
                overhead / HOUR,
                all - reruns,
                reruns,
                jobsAnHour());
    }

    private WaitFigures waits(String kind) {
        long[] waits = sorted(kind, progress -> progress.firstStartMillis - progress.job.arrivalMillis());
        long[] delays = sorted(
                kind, progress -> progress.endMillis - progress.job.arrivalMillis() - progress.job.durationMillis());
        return WaitFigures.of(kind, waits, delays);
    }

    private long[] sorted(String kind, ToLongFunction<JobProgress> what) {
        long[] values = progresses.stream()
                .filter(progress -> progress.job.kind().equals(kind))
                .mapToLong(what)
                .toArray();
        Arrays.sort(values);
        return values;
    }

    // While jobs arrive: afterwards only what was put off is left.
    private double jobsAnHour() {
        if (progresses.isEmpty()) {
            return 0;
        }
        long first = workload.jobs().get(0).arrivalMillis();
        long last = workload.jobs().get(workload.jobs().size() - 1).arrivalMillis();
        long ended = progresses.stream()
                .filter(progress -> progress.endMillis <= last)
                .count();
        return last == first ? 0 : ended / ((last - first) / HOUR);
    }
}
