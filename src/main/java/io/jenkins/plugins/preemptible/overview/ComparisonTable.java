package io.jenkins.plugins.preemptible.overview;

import io.jenkins.plugins.preemptible.engine.simulation.Comparison;
import io.jenkins.plugins.preemptible.engine.simulation.Figures;
import io.jenkins.plugins.preemptible.engine.simulation.WaitFigures;
import io.jenkins.plugins.preemptible.lifecycle.StageLog;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * A comparison of disciplines as two tables: waits by class, and what executors did.
 *
 * <p>What really was stands above what each discipline would have made of it.
 */
public final class ComparisonTable {

    /** @param head what the row is of */
    public record Row(String head, List<String> cells) {}

    private final Comparison comparison;

    ComparisonTable(Comparison comparison) {
        this.comparison = comparison;
    }

    public List<String> getWaitHeads() {
        return List.of(
                Messages.ComparisonTable_Class(),
                Messages.ComparisonTable_Discipline(),
                Messages.ComparisonTable_Jobs(),
                Messages.ComparisonTable_P50(),
                Messages.ComparisonTable_P95(),
                Messages.ComparisonTable_P99());
    }

    /** One for each class under each discipline. */
    public List<Row> getWaits() {
        List<Row> rows = new ArrayList<>();
        for (WaitFigures recorded : comparison.recorded()) {
            rows.add(waits(Messages.ComparisonTable_Recorded(), recorded));
            for (Figures figures : comparison.figures()) {
                rows.add(waits(figures.discipline().title(), figures.waits(recorded.kind())));
            }
        }
        return rows;
    }

    private static Row waits(String discipline, WaitFigures of) {
        return new Row(
                of.kind(),
                List.of(
                        discipline,
                        String.valueOf(of.jobs()),
                        time(of.p50Seconds()),
                        time(of.p95Seconds()),
                        time(of.p99Seconds())));
    }

    public List<String> getExecutorHeads() {
        return List.of(
                Messages.ComparisonTable_Discipline(),
                Messages.ComparisonTable_Utilisation(),
                Messages.ComparisonTable_Wasted(),
                Messages.ComparisonTable_Suspensions(),
                Messages.ComparisonTable_Reruns(),
                Messages.ComparisonTable_Throughput());
    }

    /** One for each discipline. */
    public List<Row> getExecutors() {
        return comparison.figures().stream()
                .map(of -> new Row(
                        of.discipline().title(),
                        List.of(
                                number(of.utilisation() * 100) + " %",
                                time(TimeUnit.HOURS.toSeconds(1) * of.wastedHours()),
                                String.valueOf(of.suspensions()),
                                String.valueOf(of.reruns()),
                                number(of.jobsPerHour()))))
                .toList();
    }

    /** Signed. */
    static String time(double seconds) {
        long millis = Math.round(seconds * 1000);
        return millis < 0 ? "\u2212" + StageLog.time(-millis) : StageLog.time(millis);
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }
}
