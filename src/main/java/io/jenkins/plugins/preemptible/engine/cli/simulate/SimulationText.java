package io.jenkins.plugins.preemptible.engine.cli.simulate;

import io.jenkins.plugins.preemptible.engine.cli.text.TextTable;
import io.jenkins.plugins.preemptible.engine.simulation.Comparison;
import io.jenkins.plugins.preemptible.engine.simulation.Figures;
import io.jenkins.plugins.preemptible.engine.simulation.SeedStatistics;
import io.jenkins.plugins.preemptible.engine.simulation.Sweep;
import io.jenkins.plugins.preemptible.engine.simulation.WaitFigures;
import java.util.List;
import java.util.Locale;
import java.util.function.DoubleFunction;

/**
 * Figures of simulations as tables.
 *
 * <ol>
 *   <li>Durations have three digits that matter, in the unit that suits them.
 *   <li>Of several seeds: the median, and least and most in brackets.
 *   <li>The same tables go to the terminal and to the page.
 * </ol>
 */
public final class SimulationText {

    private SimulationText() {}

    public static TextTable waits(Comparison comparison) {
        TextTable table = new TextTable("class, discipline", "jobs", "wait p50", "p95", "p99", "delay p50", "p95");
        for (WaitFigures first : comparison.figures().get(0).waits()) {
            for (WaitFigures recorded : comparison.recorded()) {
                if (recorded.kind().equals(first.kind())) {
                    table.row(row(first.kind() + ", as it was", recorded, false));
                }
            }
            for (Figures figures : comparison.figures()) {
                table.row(row(first.kind() + ", " + figures.discipline().title(), figures.waits(first.kind()), true));
            }
        }
        return table;
    }

    private static String[] row(String title, WaitFigures of, boolean hasDelay) {
        return new String[] {
            title,
            Integer.toString(of.jobs()),
            duration(of.p50Seconds()),
            duration(of.p95Seconds()),
            duration(of.p99Seconds()),
            hasDelay ? duration(of.delayP50Seconds()) : "",
            hasDelay ? duration(of.delayP95Seconds()) : ""
        };
    }

    public static TextTable executors(Comparison comparison) {
        TextTable table = new TextTable(
                "discipline", "utilisation", "wasted", "of the work", "suspensions", "kills, reruns", "jobs an hour");
        for (Figures of : comparison.figures()) {
            table.row(
                    of.discipline().title(),
                    percent(100 * of.utilisation()),
                    duration(3600 * of.wastedHours()),
                    percent(100 * of.wastedShare()),
                    Long.toString(of.suspensions()),
                    Long.toString(of.reruns()),
                    number(of.jobsPerHour()));
        }
        return table;
    }

    /** @param what the settings are of */
    public static TextTable sweep(String what, List<Sweep.Row> rows) {
        TextTable table = new TextTable(
                what + ", discipline",
                "short: wait p95",
                "long: delay p95",
                "wasted of the work",
                "suspensions, kills",
                "jobs an hour");
        for (Sweep.Row row : rows) {
            table.row(
                    row.setting() + ", " + row.discipline().title(),
                    statistics(row.shortWaitP95Seconds(), SimulationText::duration),
                    statistics(row.longDelayP95Seconds(), SimulationText::duration),
                    statistics(row.wastedPercent(), SimulationText::percent),
                    statistics(row.suspensionsAndReruns(), SimulationText::number),
                    statistics(row.jobsPerHour(), SimulationText::number));
        }
        return table;
    }

    public static TextTable goals(List<Sweep.Goal> goals) {
        TextTable table = new TextTable("goal", "wanted", "reached", "");
        goals.forEach(goal -> table.row(
                goal.what(),
                goal.wanted(),
                statistics(goal.ratio(), SimulationText::ratio),
                goal.met() ? "met" : "MISSED"));
        return table;
    }

    private static String statistics(SeedStatistics of, DoubleFunction<String> text) {
        String median = text.apply(of.median());
        String least = text.apply(of.least());
        String most = text.apply(of.most());
        return least.equals(most) ? median : median + " (" + least + "–" + most + ")";
    }

    static String duration(double seconds) {
        if (seconds < 60) {
            return number(seconds) + " s";
        }
        return seconds < 3600 ? number(seconds / 60) + " min" : number(seconds / 3600) + " h";
    }

    private static String percent(double value) {
        return number(value) + " %";
    }

    private static String ratio(double value) {
        return String.format(Locale.ROOT, "%.4f", value);
    }

    /** Three digits that matter. */
    private static String number(double value) {
        double size = Math.abs(value);
        String format = size >= 100 || value == 0 ? "%.0f" : size >= 10 ? "%.1f" : size >= 1 ? "%.2f" : "%.3f";
        return String.format(Locale.ROOT, format, value);
    }
}
