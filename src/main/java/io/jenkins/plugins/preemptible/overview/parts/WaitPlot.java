package io.jenkins.plugins.preemptible.overview.parts;

import io.jenkins.plugins.preemptible.engine.simulation.Comparison;
import io.jenkins.plugins.preemptible.engine.simulation.Figures;
import io.jenkins.plugins.preemptible.engine.simulation.WaitFigures;
import io.jenkins.plugins.preemptible.simulation.Disciplines;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * How long the builds of one class waited at most, by their share: a curve for each discipline, ready to be drawn.
 *
 * <ol>
 *   <li>The axis of waits is logarithmic; {@value #LEAST_SECONDS} s stands for less, too.
 *   <li>Curves differ by dashes besides their colors.
 *   <li>The same numbers are in a table.
 * </ol>
 *
 * Positions are units of a drawing that is {@value #WIDTH} wide and {@value #HEIGHT} high.
 */
public final class WaitPlot extends PlotFrame {

    public static final int WIDTH = 720;
    public static final int HEIGHT = 300;
    private static final int LEFT = 70;
    private static final int RIGHT = 700;
    private static final int TOP = 12;
    private static final int BOTTOM = 262;
    private static final int PERCENTS = 99;
    private static final double LEAST_SECONDS = 1;

    /** Marks on the axis of waits, in seconds: from one second to a hundred days. */
    private static final List<Integer> MARKS = List.of(1, 10, 60, 600, 3_600, 36_000, 86_400, 864_000, 8_640_000);

    private static final List<Integer> SHARES = List.of(1, 25, 50, 75, 90, 95, 99);

    /** @param points as SVG's polyline has them */
    public record Curve(String title, String cssClass, String points) {}

    /** A mark on an axis. */
    public record Mark(int at, String text) {}

    private final WaitFigures recorded;
    private final List<Figures> figures;
    private final int mostSeconds;

    private WaitPlot(WaitFigures recorded, List<Figures> figures) {
        super(WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM);
        this.recorded = recorded;
        this.figures = figures;
        double most = Stream.concat(
                        recorded.waitsByPercent().stream(),
                        figures.stream().flatMap(of -> of.waits(recorded.kind()).waitsByPercent().stream()))
                .mapToDouble(Double::doubleValue)
                .max()
                .orElse(0);
        this.mostSeconds = MARKS.stream()
                .filter(mark -> mark > 1 && mark >= most)
                .findFirst()
                .orElse(MARKS.get(MARKS.size() - 1));
    }

    /** One for each class. */
    public static List<WaitPlot> of(Comparison comparison) {
        return comparison.recorded().stream()
                .map(recorded -> new WaitPlot(recorded, comparison.figures()))
                .toList();
    }

    public String getTitle() {
        return Messages.WaitPlot_Title(recorded.kind(), recorded.jobs());
    }

    public List<Curve> getCurves() {
        List<Curve> curves = new ArrayList<>();
        curves.add(curve(Messages.ComparisonTable_Recorded(), "recorded", recorded));
        figures.forEach(of -> curves.add(curve(
                Disciplines.title(of.discipline()),
                of.discipline().name().toLowerCase(Locale.ROOT).replace('_', '-'),
                of.waits(recorded.kind()))));
        return curves;
    }

    private Curve curve(String title, String name, WaitFigures of) {
        StringBuilder points = new StringBuilder();
        for (int percent = 1; percent <= PERCENTS; percent++) {
            points.append(x(percent))
                    .append(',')
                    .append(y(of.waitsByPercent().get(percent - 1)))
                    .append(' ');
        }
        return new Curve(title, "preemptible-curve-" + name, points.toString().trim());
    }

    private static int x(int percent) {
        return LEFT + (RIGHT - LEFT) * (percent - 1) / (PERCENTS - 1);
    }

    private int y(double seconds) {
        double part = Math.log10(Math.max(LEAST_SECONDS, seconds)) / Math.log10(mostSeconds);
        return (int) Math.round(BOTTOM - (BOTTOM - TOP) * Math.min(1, part));
    }

    public List<Mark> getWaitMarks() {
        return MARKS.stream()
                .filter(seconds -> seconds <= mostSeconds)
                .map(seconds -> new Mark(y(seconds), text(seconds)))
                .toList();
    }

    public List<Mark> getShareMarks() {
        // The last two would be written over each other.
        return SHARES.stream()
                .filter(share -> share != 95)
                .map(share -> new Mark(x(share), share + " %"))
                .toList();
    }

    private static String text(int seconds) {
        if (seconds < 60) {
            return seconds + " s";
        }
        if (seconds < 3_600) {
            return seconds / 60 + " min";
        }
        return seconds < 86_400 ? seconds / 3_600 + " h" : seconds / 86_400 + " d";
    }

    /** The plot's numbers: at most so long a share of the builds waited. */
    public FigureTable getTable() {
        List<String> heads = new ArrayList<>();
        heads.add(Messages.WaitPlot_Share());
        SHARES.forEach(share -> heads.add(share + " %"));
        List<FigureTable.Row> rows = new ArrayList<>();
        rows.add(row(Messages.ComparisonTable_Recorded(), recorded));
        figures.forEach(of -> rows.add(row(Disciplines.title(of.discipline()), of.waits(recorded.kind()))));
        return new FigureTable(getTitle(), heads, rows);
    }

    private static FigureTable.Row row(String title, WaitFigures of) {
        return new FigureTable.Row(
                title,
                SHARES.stream()
                        .map(share -> ComparisonTable.time(of.waitsByPercent().get(share - 1)))
                        .toList());
    }
}
