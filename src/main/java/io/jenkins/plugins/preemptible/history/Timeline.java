package io.jenkins.plugins.preemptible.history;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Util;
import java.text.DateFormat;
import java.util.ArrayList;
import java.util.Date;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;

/**
 * Who held an executor when, ready to be drawn: rows of bars on one axis of time.
 *
 * <ol>
 *   <li>Filled with spans of milliseconds since 1970; what lies outside of the axis is cut off.
 *   <li>Positions are tenths of a percent of the axis, from 0 to {@value #WIDTH}; a bar has at least one.
 *   <li>Each bar has a sentence, so that nobody needs to see its color.
 * </ol>
 *
 * Used by one thread.
 */
public final class Timeline {

    public static final int WIDTH = 1_000;
    private static final int TICKS = 4;
    private static final int ROW_HEIGHT = 28;
    private static final int BAR_HEIGHT = 20;
    private static final int AXIS_HEIGHT = 26;
    private static final int LONGEST_LABEL = 28;
    private static final int MOST_STAGES = 50;

    /** What a bar stands for. The name in lower case is its CSS class. */
    public enum Kind {
        /** A preemptible stage has the executor. */
        RUNNING,
        /** Something else has it. */
        OTHER,
        /** The processes of a suspended stage are in its agent's memory. */
        FROZEN,
        /** Its image is being made. */
        SEALING,
        /** All there is of it is its image. */
        IMAGE,
        /** It is being restored. */
        RESTORING;

        /** Of its bar: what has no executor is lower, so that this is seen without colors, too. */
        public int getHeight() {
            return switch (this) {
                case RUNNING, OTHER, RESTORING -> BAR_HEIGHT;
                case FROZEN, SEALING, IMAGE -> BAR_HEIGHT / 2;
            };
        }

        public String getCssClass() {
            return "preemptible-bar-" + name().toLowerCase(Locale.ROOT);
        }

        public String getText() {
            return switch (this) {
                case RUNNING -> Messages.Timeline_Running();
                case OTHER -> Messages.Timeline_Other();
                case FROZEN -> Messages.Timeline_Frozen();
                case SEALING -> Messages.Timeline_Sealing();
                case IMAGE -> Messages.Timeline_Image();
                case RESTORING -> Messages.Timeline_Restoring();
            };
        }
    }

    /**
     * @param x 0 to {@link #WIDTH}
     * @param width at least 1
     */
    public record Bar(Kind kind, int x, int width, String sentence) {}

    /** @param label executor or stage, as people see it */
    public record Row(String label, List<Bar> bars) {

        /** As much of it as there is room for. */
        public String getShortLabel() {
            return label.length() <= LONGEST_LABEL ? label : label.substring(0, LONGEST_LABEL - 1) + "…";
        }
    }

    /** @param x 0 to {@link #WIDTH} */
    public record Tick(int x, String text) {

        /** At the ends of the axis a text must not be cut off. */
        public String getAnchor() {
            return x == 0 ? "start" : x == WIDTH ? "end" : "middle";
        }
    }

    private final long fromMillis;
    private final long toMillis;
    private final List<Row> rows = new ArrayList<>();
    private int leftOut;
    private final Set<Kind> kinds = EnumSet.noneOf(Kind.class);

    /** @throws IllegalArgumentException when it would end before it begins */
    Timeline(long fromMillis, long toMillis) {
        if (toMillis < fromMillis) {
            throw new IllegalArgumentException(fromMillis + " is after " + toMillis);
        }
        this.fromMillis = fromMillis;
        this.toMillis = Math.max(toMillis, fromMillis + 1);
    }

    /** As many of the newest stages as can be drawn; those before are counted only. @param all the newest last */
    <T> List<T> newest(List<T> all) {
        leftOut = Math.max(0, all.size() - MOST_STAGES);
        return all.subList(leftOut, all.size());
    }

    /** Said when there are more stages than are drawn; null when there are not. */
    @CheckForNull
    public String getLeftOut() {
        return leftOut == 0 ? null : Messages.Timeline_LeftOut(leftOut);
    }

    void row(String label) {
        rows.add(new Row(label, new ArrayList<>()));
    }

    /** Adds a bar to the last row. One without a beginning, or that ends before it begins, is left out. */
    void bar(Kind kind, long beginMillis, long endMillis, String what) {
        if (beginMillis <= 0 || endMillis < beginMillis || endMillis < fromMillis || beginMillis > toMillis) {
            return;
        }
        int x = position(beginMillis);
        int end = position(endMillis);
        String span = Util.getTimeSpanString(endMillis - beginMillis);
        kinds.add(kind);
        rows.get(rows.size() - 1)
                .bars()
                .add(new Bar(
                        kind,
                        Math.min(x, WIDTH - 1),
                        Math.max(1, end - x),
                        Messages.Timeline_Bar(what, kind.getText(), clock(beginMillis), span)));
    }

    private int position(long millis) {
        double part = (double) (millis - fromMillis) / (toMillis - fromMillis);
        return (int) Math.round(Math.max(0, Math.min(1, part)) * WIDTH);
    }

    private static String clock(long millis) {
        return DateFormat.getTimeInstance(DateFormat.MEDIUM).format(new Date(millis));
    }

    public List<Row> getRows() {
        return rows;
    }

    /** Of the drawing, in the units of the width. */
    public int getHeight() {
        return ROW_HEIGHT * rows.size() + AXIS_HEIGHT;
    }

    public boolean isDrawn() {
        return !kinds.isEmpty();
    }

    /** Those that occur, in the order of a suspension. */
    public Set<Kind> getKinds() {
        return new TreeSet<>(kinds);
    }

    public List<Tick> getTicks() {
        List<Tick> ticks = new ArrayList<>();
        for (int i = 0; i <= TICKS; i++) {
            ticks.add(new Tick(WIDTH * i / TICKS, clock(fromMillis + (toMillis - fromMillis) * i / TICKS)));
        }
        return ticks;
    }

    /** All of it in one sentence. */
    public String getSentence() {
        return Messages.Timeline_Sentence(clock(fromMillis), clock(toMillis), rows.size());
    }
}
