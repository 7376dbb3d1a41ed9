package io.jenkins.plugins.preemptible.engine.bench;

import java.io.PrintStream;
import java.util.Locale;

/** Results as text: median and spread of both sides, their ratio, and whether the goal is met. */
public final class Text {

    private Text() {}

    public static void print(Result result, PrintStream out) {
        out.println();
        out.println(result.name() + ": " + result.question());
        int width = result.rows().stream()
                .mapToInt(row -> row.what().length())
                .max()
                .orElse(0);
        String first = "  %-" + Math.max(44, width) + "s";
        out.printf(first + " %28s %28s %8s %8s%n", "", "ours", "compared with", "ratio", "goal");
        for (Row row : result.rows()) {
            out.printf(
                    first + " %28s %28s %8s %8s %s%n",
                    row.what(),
                    of(row.ours()),
                    row.raw() == null ? "" : of(row.raw()),
                    ratio(row),
                    goal(row),
                    row.verdict());
        }
        result.notes().forEach(note -> out.println("  " + note));
    }

    static String of(Samples s) {
        return number(s.median()) + " " + s.unit() + " (" + number(s.least()) + "–" + number(s.most()) + ")";
    }

    static String ratio(Row row) {
        return row.raw() == null ? "" : number(row.ratio());
    }

    static String goal(Row row) {
        return row.goal() == null ? "" : "≤ " + number(row.goal());
    }

    /** Three digits that matter. */
    public static String number(double value) {
        double size = Math.abs(value);
        String format = size >= 100 ? "%.0f" : size >= 10 ? "%.1f" : size >= 1 ? "%.2f" : "%.3f";
        return String.format(Locale.ROOT, format, value);
    }
}
