package io.jenkins.plugins.preemptible.engine.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.knowm.xchart.VectorGraphicsEncoder;
import org.knowm.xchart.VectorGraphicsEncoder.VectorGraphicsFormat;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries.XYSeriesRenderStyle;
import org.knowm.xchart.style.Styler.LegendPosition;

/**
 * Writes performance.md and the plots beside it.
 *
 * <ol>
 *   <li>A run of all benchmarks of the engine writes their parts and the head anew.
 *   <li>A run of some writes their parts anew, each with its own machine and date. What was not run stays as it is.
 *   <li>Nothing on it is typed in by hand.
 * </ol>
 */
public final class Page {

    private static final String PLOTS = "plots";

    private static final String PART = "## ";

    private final Path folder;

    private final int runs;

    /** @param runs of each benchmark, for people */
    public Page(Path folder, int runs) {
        this.folder = folder;
        this.runs = runs;
    }

    /** Writes the parts of these results anew and leaves the others of the page as they are. */
    public void update(Machine machine, List<Result> results) throws IOException {
        Path page = folder.resolve("performance.md");
        Map<String, List<String>> parts = parts(Files.readAllLines(page));
        for (Result result : results) {
            parts.put(result.name(), part(result, machine));
        }
        write(page, parts);
    }

    /** @param missing the names of the benchmarks that this run has left out, or not come to yet */
    void write(Machine machine, List<Result> results, List<String> missing) throws IOException {
        Files.createDirectories(folder.resolve(PLOTS));
        Path page = folder.resolve("performance.md");
        Map<String, List<String>> parts = Files.exists(page) ? parts(Files.readAllLines(page)) : new LinkedHashMap<>();
        if (missing.isEmpty() || !parts.containsKey("")) {
            parts.put("", head(machine));
        }
        boolean apart = !parts.get("").equals(head(machine));
        for (Result result : results) {
            parts.put(result.name(), part(result, apart ? machine : null));
        }
        for (String name : missing) {
            parts.putIfAbsent(
                    name, List.of("", "Not measured in this run; `./preempt bench --only " + name + "` does."));
        }
        write(page, parts);
    }

    private static void write(Path page, Map<String, List<String>> parts) throws IOException {
        List<String> lines = new ArrayList<>(parts.remove(""));
        parts.forEach((name, text) -> {
            lines.add("");
            lines.add(PART + name);
            lines.addAll(text);
        });
        Files.write(page, lines);
    }

    private List<String> head(Machine machine) {
        return List.of(
                "# Performance: what suspending and resuming cost",
                "",
                "Written by `./preempt bench --docs docs` in one run, but for parts that say otherwise; every line compares two",
                "things that ran in turns in it. Median (least–most). Machine: " + machine.sentence() + ".",
                "",
                "Runs of each: " + runs
                        + ", fewer with 1 GB and more, after one that warms up: too few for small differences.");
    }

    /** What is below each part's title, without the empty line at its end; the head's name is empty. */
    private static Map<String, List<String>> parts(List<String> lines) {
        Map<String, List<String>> parts = new LinkedHashMap<>();
        List<String> part = new ArrayList<>();
        parts.put("", part);
        for (String line : lines) {
            if (line.startsWith(PART)) {
                part = new ArrayList<>();
                parts.put(line.substring(PART.length()), part);
            } else {
                part.add(line);
            }
        }
        parts.values().stream()
                .filter(text -> !text.isEmpty() && text.get(text.size() - 1).isEmpty())
                .forEach(text -> text.remove(text.size() - 1));
        return parts;
    }

    /** @param machine for a part of a run of its own; null when the head says it */
    private List<String> part(Result result, Machine machine) throws IOException {
        List<String> lines = new ArrayList<>(List.of("", result.question(), ""));
        if (machine != null) {
            lines.addAll(List.of("Run apart from the others: `--runs " + runs + "`, " + machine.sentence() + ".", ""));
        }
        lines.add("| | ours | compared with | ratio | goal | |");
        lines.add("| --- | --- | --- | --- | --- | --- |");
        for (Row row : result.rows()) {
            lines.add("| "
                    + String.join(
                            " | ",
                            row.what(),
                            Text.of(row.ours()),
                            row.raw() == null ? "" : Text.of(row.raw()),
                            Text.ratio(row),
                            Text.goal(row),
                            row.verdict())
                    + " |");
        }
        for (String note : result.notes()) {
            lines.addAll(List.of("", note));
        }
        for (Plot plot : result.plots()) {
            draw(plot);
            lines.addAll(List.of("", "![" + plot.title() + "](" + PLOTS + "/" + file(plot) + ".svg)"));
        }
        return lines;
    }

    private static String file(Plot plot) {
        return plot.file().toLowerCase(java.util.Locale.ROOT).replaceAll("[^a-z0-9-]", "");
    }

    private void draw(Plot plot) throws IOException {
        XYChart chart = new XYChartBuilder()
                .width(720)
                .height(400)
                .title(plot.title())
                .xAxisTitle(plot.x())
                .yAxisTitle(plot.y())
                .build();
        chart.getStyler().setXAxisLogarithmic(plot.logarithmic());
        chart.getStyler().setYAxisLogarithmic(plot.logarithmic());
        chart.getStyler().setLegendPosition(LegendPosition.InsideNW);
        chart.getStyler()
                .setDefaultSeriesRenderStyle(plot.lines() ? XYSeriesRenderStyle.Line : XYSeriesRenderStyle.Scatter);
        for (Curve curve : plot.curves()) {
            chart.addSeries(curve.name(), curve.x(), curve.y());
        }
        VectorGraphicsEncoder.saveVectorGraphic(
                chart, folder.resolve(PLOTS).resolve(file(plot)).toString(), VectorGraphicsFormat.SVG);
    }
}
