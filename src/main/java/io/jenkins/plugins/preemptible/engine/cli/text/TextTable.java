package io.jenkins.plugins.preemptible.engine.cli.text;

import java.util.ArrayList;
import java.util.List;

/**
 * Rows of cells, for a terminal or for a page.
 *
 * <ol>
 *   <li>The first row is the head.
 *   <li>{@link #text} aligns columns: the first to the left, all others to the right.
 *   <li>{@link #markdown} is the same as a table of Markdown.
 * </ol>
 */
public final class TextTable {

    private final List<List<String>> rows = new ArrayList<>();

    public TextTable(String... head) {
        rows.add(List.of(head));
    }

    public void row(String... cells) {
        rows.add(List.of(cells));
    }

    public List<String> text() {
        List<String> lines = new ArrayList<>();
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int column = 0; column < row.size(); column++) {
                String cell = row.get(column);
                String space = " ".repeat(width(column) - cell.length());
                line.append(column == 0 ? cell + space : "  " + space + cell);
            }
            lines.add(line.toString().stripTrailing());
        }
        return lines;
    }

    private int width(int column) {
        return rows.stream().mapToInt(row -> row.get(column).length()).max().orElse(0);
    }

    public List<String> markdown() {
        List<String> lines = new ArrayList<>();
        for (List<String> row : rows) {
            lines.add("| " + String.join(" | ", row) + " |");
            if (lines.size() == 1) {
                lines.add("| --- |" + " ---: |".repeat(row.size() - 1));
            }
        }
        return lines;
    }
}
