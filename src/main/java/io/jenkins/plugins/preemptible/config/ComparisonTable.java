package io.jenkins.plugins.preemptible.config;

import hudson.Util;
import io.jenkins.plugins.preemptible.engine.simulation.Comparison;
import io.jenkins.plugins.preemptible.engine.simulation.Figures;
import io.jenkins.plugins.preemptible.engine.simulation.WaitFigures;
import io.jenkins.plugins.preemptible.lifecycle.StageLog;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * A comparison of disciplines, as the page shows it.
 *
 * <ol>
 *   <li>One row for each class of builds under each discipline, and what they really waited on top.
 *   <li>What concerns a discipline as a whole stands in its first row.
 *   <li>All text is escaped: it may come from job and label names.
 * </ol>
 */
final class ComparisonTable {

    private final StringBuilder html = new StringBuilder();

    private ComparisonTable() {}

    static String of(Comparison comparison) {
        ComparisonTable table = new ComparisonTable();
        table.html.append("<table class=\"jenkins-table\"><thead><tr>");
        for (String head : List.of(
                Messages.ComparisonTable_Discipline(),
                Messages.ComparisonTable_Class(),
                Messages.ComparisonTable_Jobs(),
                Messages.ComparisonTable_P50(),
                Messages.ComparisonTable_P95(),
                Messages.ComparisonTable_P99(),
                Messages.ComparisonTable_Utilisation(),
                Messages.ComparisonTable_Wasted(),
                Messages.ComparisonTable_Suspensions(),
                Messages.ComparisonTable_Reruns(),
                Messages.ComparisonTable_Throughput())) {
            table.html.append("<th>").append(Util.xmlEscape(head)).append("</th>");
        }
        table.html.append("</tr></thead><tbody>");
        table.rows(Messages.ComparisonTable_Recorded(), comparison.recorded(), List.of("", "", "", "", ""));
        for (Figures figures : comparison.figures()) {
            table.rows(
                    figures.discipline().title(),
                    figures.waits(),
                    List.of(
                            number(figures.utilisation() * 100) + " %",
                            time(TimeUnit.HOURS.toSeconds(1) * figures.wastedHours()),
                            String.valueOf(figures.suspensions()),
                            String.valueOf(figures.reruns()),
                            number(figures.jobsPerHour())));
        }
        return table.html.append("</tbody></table>").toString();
    }

    private void rows(String title, List<WaitFigures> waits, List<String> ofAll) {
        boolean first = true;
        for (WaitFigures wait : waits) {
            html.append("<tr>");
            cell(first ? title : "");
            cell(wait.kind());
            cell(String.valueOf(wait.jobs()));
            cell(time(wait.p50Seconds()));
            cell(time(wait.p95Seconds()));
            cell(time(wait.p99Seconds()));
            for (String figure : ofAll) {
                cell(first ? figure : "");
            }
            html.append("</tr>");
            first = false;
        }
    }

    private void cell(String text) {
        html.append("<td>").append(Util.xmlEscape(text)).append("</td>");
    }

    private static String time(double seconds) {
        return StageLog.time(Math.round(seconds * 1000));
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }
}
