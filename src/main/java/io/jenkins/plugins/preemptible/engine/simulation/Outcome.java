package io.jenkins.plugins.preemptible.engine.simulation;

import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.function.ToLongFunction;

/**
 * What became of all jobs under one discipline.
 *
 * <ol>
 *   <li>Holds every job's way to its end.
 *   <li>{@link #figures} sums it up for people.
 *   <li>Percentiles are the nearest rank: a wait that some job really had.
 * </ol>
 *
 * @param utilisation share of the executor time that was held while jobs arrived, 0 to 1
 */
record Outcome(Discipline discipline, Workload workload, List<Course> courses, double utilisation) {

    private static final double HOUR = 3_600_000;

    Outcome {
        courses = List.copyOf(courses);
    }

    Figures figures() {
        TreeSet<String> kinds = new TreeSet<>();
        courses.forEach(course -> kinds.add(course.job.kind()));
        long lost = courses.stream().mapToLong(course -> course.lostMillis).sum();
        long overhead = courses.stream().mapToLong(course -> course.dumpMillis + course.restoreMillis).sum();
        long reruns = courses.stream().mapToLong(course -> course.reruns).sum();
        long all = courses.stream().mapToLong(course -> course.suspensions).sum();
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
        long[] waits = sorted(kind, course -> course.firstStartMillis - course.job.arrivalMillis());
        long[] delays = sorted(
                kind, course -> course.endMillis - course.job.arrivalMillis() - course.job.durationMillis());
        return WaitFigures.of(kind, waits, delays);
    }

    private long[] sorted(String kind, ToLongFunction<Course> what) {
        long[] values = courses.stream()
                .filter(course -> course.job.kind().equals(kind))
                .mapToLong(what)
                .toArray();
        Arrays.sort(values);
        return values;
    }

    // While jobs arrive: afterwards only what was put off is left.
    private double jobsAnHour() {
        if (courses.isEmpty()) {
            return 0;
        }
        long first = workload.jobs().get(0).arrivalMillis();
        long last = workload.jobs().get(workload.jobs().size() - 1).arrivalMillis();
        long ended = courses.stream().filter(course -> course.endMillis <= last).count();
        return last == first ? 0 : ended / ((last - first) / HOUR);
    }
}
