package io.jenkins.plugins.preemptible.overview.parts;

import java.util.List;

/** A table of figures, ready to be shown: each row has a head of its own. */
public final class FigureTable {

    /** @param head what the row is of */
    public record Row(String head, List<String> cells) {}

    private final String label;
    private final List<String> heads;
    private final List<Row> rows;

    /**
     * @param label what it is, for who does not see what stands around it
     * @param heads of the columns, the one of the rows' heads first
     */
    FigureTable(String label, List<String> heads, List<Row> rows) {
        this.label = label;
        this.heads = List.copyOf(heads);
        this.rows = List.copyOf(rows);
    }

    public String getLabel() {
        return label;
    }

    public List<String> getHeads() {
        return heads;
    }

    public List<Row> getRows() {
        return rows;
    }
}
