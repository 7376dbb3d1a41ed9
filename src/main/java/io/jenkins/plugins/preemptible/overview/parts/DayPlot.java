package io.jenkins.plugins.preemptible.overview.parts;

import io.jenkins.plugins.preemptible.engine.simulation.DayWaits;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * What the builds of each day waited in all without preemption and with it, as two bars a day and as a table.
 *
 * <ol>
 *   <li>Of a simulation: nobody can measure what a queue would have been.
 *   <li>The table's first line is all days together.
 * </ol>
 *
 * Positions are units of a drawing that is {@value #WIDTH} wide and {@value #HEIGHT} high.
 */
public final class DayPlot extends PlotFrame {

    public static final int WIDTH = 720;
    public static final int HEIGHT = 220;
    private static final int LEFT = 110;
    private static final int RIGHT = 710;
    private static final int TOP = 12;
    private static final int BOTTOM = 180;
    private static final int MOST_LABELS = 7;

    /** @param sentence the same for who does not see it */
    public record Bar(String cssClass, int x, int y, int width, int height, String sentence) {}

    private final List<DayWaits> days;

    /** @param days not empty, the first one first */
    public DayPlot(List<DayWaits> days) {
        super(WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM);
        this.days = days;
    }

    private double most() {
        return Math.max(
                1,
                days.stream()
                        .mapToDouble(day -> Math.max(day.secondsWithout(), day.secondsWith()))
                        .max()
                        .orElse(1));
    }

    /** The longest wait of all that is drawn. */
    public String getMost() {
        return ComparisonTable.time(most());
    }

    public List<Bar> getBars() {
        List<Bar> bars = new ArrayList<>();
        int width = Math.max(1, Math.min(40, (RIGHT - LEFT) / days.size() / 3));
        for (int i = 0; i < days.size(); i++) {
            DayWaits day = days.get(i);
            int middle = middle(i);
            bars.add(
                    bar("without", middle - width, width, day.secondsWithout(), day.day(), Messages.DayPlot_Without()));
            bars.add(bar("with", middle, width, day.secondsWith(), day.day(), Messages.DayPlot_With()));
        }
        return bars;
    }

    private int middle(int day) {
        return LEFT + (RIGHT - LEFT) * (2 * day + 1) / (2 * days.size());
    }

    private Bar bar(String name, int x, int width, double seconds, String day, String what) {
        int height = (int) Math.round((BOTTOM - TOP) * seconds / most());
        return new Bar(
                "preemptible-wait-" + name,
                x,
                BOTTOM - height,
                width,
                height,
                Messages.DayPlot_Bar(day, what, ComparisonTable.time(seconds)));
    }

    /** As many days as there is room for. */
    public List<WaitPlot.Mark> getDayMarks() {
        List<WaitPlot.Mark> marks = new ArrayList<>();
        int step = (days.size() + MOST_LABELS - 1) / MOST_LABELS;
        for (int i = 0; i < days.size(); i += step) {
            marks.add(new WaitPlot.Mark(middle(i), days.get(i).day()));
        }
        return marks;
    }

    /** All days together, then the newest day first. */
    public FigureTable getTable() {
        List<FigureTable.Row> rows = new ArrayList<>();
        days.stream().reduce(DayWaits::plus).ifPresent(sum -> rows.add(row(Messages.DayPlot_All(days.size()), sum)));
        for (int i = days.size() - 1; i >= 0; i--) {
            rows.add(row(days.get(i).day(), days.get(i)));
        }
        return new FigureTable(
                Messages.DayPlot_Title(),
                List.of(
                        Messages.DayPlot_Day(),
                        Messages.ComparisonTable_Jobs(),
                        Messages.DayPlot_Without(),
                        Messages.DayPlot_With(),
                        Messages.DayPlot_Avoided(),
                        Messages.DayPlot_HeldUp()),
                rows);
    }

    private static FigureTable.Row row(String head, DayWaits of) {
        double avoided = of.secondsAvoided();
        String percent = of.secondsWithout() == 0
                ? ""
                : String.format(Locale.ROOT, " (%.0f %%)", 100 * avoided / of.secondsWithout());
        return new FigureTable.Row(
                head,
                List.of(
                        String.valueOf(of.jobs()),
                        ComparisonTable.time(of.secondsWithout()),
                        ComparisonTable.time(of.secondsWith()),
                        ComparisonTable.time(avoided) + percent,
                        ComparisonTable.time(of.secondsHeldUp())));
    }
}
