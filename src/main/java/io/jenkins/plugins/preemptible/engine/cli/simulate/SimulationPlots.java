package io.jenkins.plugins.preemptible.engine.cli.simulate;

import io.jenkins.plugins.preemptible.engine.simulation.Comparison;
import io.jenkins.plugins.preemptible.engine.simulation.Discipline;
import io.jenkins.plugins.preemptible.engine.simulation.Figures;
import io.jenkins.plugins.preemptible.engine.simulation.Sweep;
import io.jenkins.plugins.preemptible.engine.simulation.WaitFigures;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import org.knowm.xchart.VectorGraphicsEncoder;
import org.knowm.xchart.VectorGraphicsEncoder.VectorGraphicsFormat;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.style.Styler.LegendPosition;
import org.knowm.xchart.style.markers.SeriesMarkers;

/**
 * Draws the figures of simulations as SVG files.
 *
 * <ol>
 *   <li>One curve a discipline; waits on a logarithmic axis, on which {@value #LEAST_SECONDS} s stands for none.
 *   <li>A comparison has one plot a class: how long that share of its jobs waited at most.
 *   <li>A sweep has waits and waste over the load.
 * </ol>
 */
public final class SimulationPlots {

    private static final double LEAST_SECONDS = 0.1;
    private static final double LEAST_PERCENT = 0.001;

    private final Path folder;
    private final List<Path> written = new ArrayList<>();

    /** @param folder made when it is not there */
    public SimulationPlots(Path folder) throws IOException {
        this.folder = Files.createDirectories(folder);
    }

    /** The files, in the order in which they were drawn. */
    public List<Path> written() {
        return List.copyOf(written);
    }

    public void draw(Comparison comparison) throws IOException {
        for (WaitFigures first : comparison.figures().get(0).waits()) {
            XYChart chart = chart("Waits: " + first.kind(), "% of the jobs wait at most", "seconds");
            for (Figures figures : comparison.figures()) {
                List<Double> percents = new ArrayList<>();
                List<Double> seconds = new ArrayList<>();
                List<Double> waits = figures.waits(first.kind()).waitsByPercent();
                for (int i = 0; i < waits.size(); i++) {
                    percents.add(i + 1.0);
                    seconds.add(Math.max(LEAST_SECONDS, waits.get(i)));
                }
                chart.addSeries(figures.discipline().title(), percents, seconds).setMarker(SeriesMarkers.NONE);
            }
            write(chart, "simulation-" + first.kind());
        }
    }

    public void draw(Sweep.Tables tables) throws IOException {
        draw(
                tables.loads(),
                "Short jobs: wait, p95",
                "seconds",
                "simulation-load-wait",
                row -> Math.max(LEAST_SECONDS, row.shortWaitP95Seconds().median()));
        draw(
                tables.loads(),
                "Long stages: delay, p95",
                "seconds",
                "simulation-load-delay",
                row -> Math.max(LEAST_SECONDS, row.longDelayP95Seconds().median()));
        draw(
                tables.loads(),
                "Wasted executor time",
                "% of the work",
                "simulation-load-waste",
                row -> Math.max(LEAST_PERCENT, row.wastedPercent().median()));
    }

    private void draw(List<Sweep.Row> rows, String title, String y, String file, ToDoubleFunction<Sweep.Row> what)
            throws IOException {
        XYChart chart = chart(title, "load, %", y);
        Map<Discipline, List<Double>> x = new LinkedHashMap<>();
        Map<Discipline, List<Double>> values = new LinkedHashMap<>();
        for (Sweep.Row row : rows) {
            x.computeIfAbsent(row.discipline(), key -> new ArrayList<>())
                    .add(Double.valueOf(row.setting().replaceAll("[^0-9.]", "")));
            values.computeIfAbsent(row.discipline(), key -> new ArrayList<>()).add(what.applyAsDouble(row));
        }
        x.forEach((discipline, loads) -> chart.addSeries(discipline.title(), loads, values.get(discipline)));
        write(chart, file);
    }

    private static XYChart chart(String title, String x, String y) {
        XYChart chart = new XYChartBuilder()
                .width(720)
                .height(400)
                .title(title)
                .xAxisTitle(x)
                .yAxisTitle(y)
                .build();
        chart.getStyler().setYAxisLogarithmic(true);
        chart.getStyler().setLegendPosition(LegendPosition.OutsideE);
        chart.getStyler().setMarkerSize(4);
        return chart;
    }

    private void write(XYChart chart, String name) throws IOException {
        String file = name.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "-");
        VectorGraphicsEncoder.saveVectorGraphic(chart, folder.resolve(file).toString(), VectorGraphicsFormat.SVG);
        written.add(folder.resolve(file + ".svg"));
    }
}
