package io.jenkins.plugins.preemptible.engine.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.knowm.xchart.VectorGraphicsEncoder;
import org.knowm.xchart.VectorGraphicsEncoder.VectorGraphicsFormat;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries.XYSeriesRenderStyle;
import org.knowm.xchart.style.Styler.LegendPosition;

/** Writes performance.md and the plots beside it, from nothing but the results of one run. */
final class Page {

    private static final String PLOTS = "plots";

    private final Path folder;

    private final int runs;

    Page(Path folder, int runs) {
        this.folder = folder;
        this.runs = runs;
    }

    /** @param missing the names of the benchmarks that this run has left out */
    void write(Machine machine, List<Result> results, List<String> missing) throws IOException {
        Files.createDirectories(folder.resolve(PLOTS));
        List<String> lines = new ArrayList<>();
        lines.add("# Performance: what suspending and resuming cost");
        lines.add("");
        lines.add("Written by `./preempt bench --docs docs` in one run; every line compares two things that ran in turns in");
        lines.add("it. Median (least–most). Machine: " + machine.sentence() + ".");
        lines.add("");
        lines.add("Runs of each: " + runs + ", fewer with 1 GB and more, after one that warms up: too few for small differences.");
        for (Result result : results) {
            lines.add("");
            lines.add("## " + result.name());
            lines.add("");
            lines.add(result.question());
            lines.add("");
            lines.add("| | ours | compared with | ratio | goal | |");
            lines.add("| --- | --- | --- | --- | --- | --- |");
            for (Row row : result.rows()) {
                lines.add("| " + String.join(" | ", row.what(), Text.of(row.ours()),
                        row.raw() == null ? "" : Text.of(row.raw()), Text.ratio(row), Text.goal(row), row.verdict())
                        + " |");
            }
            for (String note : result.notes()) {
                lines.add("");
                lines.add(note);
            }
            for (Plot plot : result.plots()) {
                draw(plot);
                lines.add("");
                lines.add("![" + plot.title() + "](" + PLOTS + "/" + file(plot) + ".svg)");
            }
        }
        for (String name : missing) {
            lines.add("");
            lines.add("## " + name);
            lines.add("");
            lines.add("Not measured in this run; `./preempt bench --only " + name + "` does.");
        }
        Files.write(folder.resolve("performance.md"), lines);
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
