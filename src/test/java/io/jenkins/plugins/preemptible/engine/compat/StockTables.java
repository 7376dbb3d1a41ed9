package io.jenkins.plugins.preemptible.engine.compat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The tables of what the engine's tests said in guests: how each class ended, and each reason why tests did not pass.
 *
 * <ol>
 *   <li>A system has a column in the first table and rows of its own in the second.
 *   <li>One guest's words replace those of its system; what the page says of other systems stays.
 * </ol>
 */
final class StockTables {

    private static final String CLASS = "class";
    private static final List<String> REASONS = List.of("system", "tests", "ended", "reason");
    private static final String UNTOLD = "–";

    /** Of each class, what each system said. */
    private final Map<String, Map<String, String>> classes = new LinkedHashMap<>();

    private final Set<String> systems = new LinkedHashSet<>();
    private final Set<List<String>> reasons = new LinkedHashSet<>();

    /** What a page says, by the lines of its section. */
    static StockTables of(List<String> lines) {
        StockTables tables = new StockTables();
        List<String> head = List.of();
        for (String line : lines) {
            List<String> cells = cells(line);
            if (cells.isEmpty()) {
                head = List.of();
            } else if (head.isEmpty()) {
                head = cells;
            } else if (cells.get(0).startsWith("---")) {
                continue;
            } else if (head.get(0).equals(CLASS)) {
                for (int column = 1; column < cells.size(); column++) {
                    tables.put(cells.get(0), head.get(column), cells.get(column));
                }
            } else if (head.equals(REASONS)) {
                tables.reasons.add(cells);
            }
        }
        return tables;
    }

    /** Replaces what is said of one system. */
    void set(String system, StockClasses told) {
        classes.values().forEach(cells -> cells.remove(system));
        told.cells().forEach((name, cell) -> put(name, system, cell));
        classes.values().removeIf(Map::isEmpty);
        // The last list has the order that holds.
        Map<String, Map<String, String>> others = new LinkedHashMap<>(classes);
        classes.clear();
        told.cells().keySet().forEach(name -> classes.put(name, others.remove(name)));
        classes.putAll(others);
        reasons.removeIf(cells -> cells.get(0).equals(system));
        Map<List<String>, List<String>> names = new LinkedHashMap<>();
        for (StockClasses.Test test : told.others()) {
            names.computeIfAbsent(List.of(test.owner(), test.outcome(), test.reason()), k -> new ArrayList<>())
                    .add(test.name());
        }
        names.forEach((key, tests) -> reasons.add(List.of(
                system,
                cell(key.get(0) + ": " + (tests.size() == 1 ? tests.get(0) : tests.size() + " tests")),
                key.get(1),
                cell(key.get(2)))));
    }

    /** Both tables, or nothing where no test ran anywhere. */
    List<String> lines() {
        List<String> lines = new ArrayList<>();
        if (classes.isEmpty()) {
            return lines;
        }
        List<String> columns = systems.stream().sorted().toList();
        lines.addAll(List.of("", "The classes of *tests*, in the order in which they run:", ""));
        List<String> head = new ArrayList<>(List.of(CLASS));
        head.addAll(columns);
        lines.add(line(head));
        lines.add(line(head.stream().map(each -> "---").toList()));
        classes.forEach((name, cells) -> {
            List<String> row = new ArrayList<>(List.of(name));
            columns.forEach(system -> row.add(cells.getOrDefault(system, UNTOLD)));
            lines.add(line(row));
        });
        if (!reasons.isEmpty()) {
            lines.addAll(List.of("", "Why tests did not pass, in their own words:", ""));
            lines.add(line(REASONS));
            lines.add(line(REASONS.stream().map(each -> "---").toList()));
            columns.forEach(system ->
                    reasons.stream().filter(row -> row.get(0).equals(system)).forEach(row -> lines.add(line(row))));
        }
        return lines;
    }

    private void put(String name, String system, String cell) {
        if (!cell.equals(UNTOLD)) {
            systems.add(system);
            classes.computeIfAbsent(name, k -> new LinkedHashMap<>()).put(system, cell);
        }
    }

    /** The cells of a line of a table, or none. */
    static List<String> cells(String line) {
        return line.startsWith("| ")
                ? Arrays.stream(line.substring(1).split("\\|"))
                        .map(String::strip)
                        .toList()
                : List.of();
    }

    static String line(List<String> cells) {
        return "| " + String.join(" | ", cells) + " |";
    }

    private static String cell(String text) {
        return text.replace('|', '/').replace("<", "&lt;").strip();
    }
}
