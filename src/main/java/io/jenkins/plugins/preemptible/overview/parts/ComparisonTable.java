package io.jenkins.plugins.preemptible.overview.parts;

import hudson.Util;
import io.jenkins.plugins.preemptible.engine.simulation.Comparison;
import io.jenkins.plugins.preemptible.engine.simulation.Figures;
import io.jenkins.plugins.preemptible.engine.simulation.WaitFigures;
import io.jenkins.plugins.preemptible.simulation.Disciplines;
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

    private ComparisonTable() {}

    /** One row for each class under each discipline. */
    public static FigureTable waits(Comparison comparison) {
        List<FigureTable.Row> rows = new ArrayList<>();
        for (WaitFigures recorded : comparison.recorded()) {
            rows.add(waits(Messages.ComparisonTable_Recorded(), recorded));
            for (Figures figures : comparison.figures()) {
                rows.add(waits(Disciplines.title(figures.discipline()), figures.waits(recorded.kind())));
            }
        }
        return new FigureTable(
                Messages.ComparisonTable_Waits(),
                List.of(
                        Messages.ComparisonTable_Class(),
                        Messages.ComparisonTable_Discipline(),
                        Messages.ComparisonTable_Jobs(),
                        Messages.ComparisonTable_P50(),
                        Messages.ComparisonTable_P95(),
                        Messages.ComparisonTable_P99()),
                rows);
    }

    private static FigureTable.Row waits(String discipline, WaitFigures of) {
        return new FigureTable.Row(
                of.kind(),
                List.of(
                        discipline,
                        String.valueOf(of.jobs()),
                        time(of.p50Seconds()),
                        time(of.p95Seconds()),
                        time(of.p99Seconds())));
    }

    /** One row for each discipline. */
    public static FigureTable executors(Comparison comparison) {
        return new FigureTable(
                Messages.ComparisonTable_Executors(),
                List.of(
                        Messages.ComparisonTable_Discipline(),
                        Messages.ComparisonTable_Utilisation(),
                        Messages.ComparisonTable_Wasted(),
                        Messages.ComparisonTable_Suspensions(),
                        Messages.ComparisonTable_Reruns(),
                        Messages.ComparisonTable_Throughput()),
                comparison.figures().stream().map(ComparisonTable::executors).toList());
    }

    private static FigureTable.Row executors(Figures of) {
        return new FigureTable.Row(
                Disciplines.title(of.discipline()),
                List.of(
                        number(of.utilisation() * 100) + " %",
                        time(TimeUnit.HOURS.toSeconds(1) * of.wastedHours()),
                        String.valueOf(of.suspensions()),
                        String.valueOf(of.reruns()),
                        number(of.jobsPerHour())));
    }

    /** Signed. */
    static String time(double seconds) {
        String size = Math.abs(seconds) < 10
                ? number(Math.abs(seconds)) + " s"
                : Util.getTimeSpanString(Math.round(Math.abs(seconds) * 1000));
        return seconds < 0 ? "\u2212" + size : size;
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }
}
