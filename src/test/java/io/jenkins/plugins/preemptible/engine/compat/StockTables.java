package io.jenkins.plugins.preemptible.engine.compat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The tables of what the engine's tests said in guests: how each class ended, and each reason why tests did not pass.
 *
 * <ol>
 *   <li>A system has a column in the first table and rows of its own in the second.
 *   <li>A class that ran replaces what its system said of it before; what the page says of other classes and systems stays.
 * </ol>
 */
final class StockTables {

    private static final String CLASS = "class";
    private static final List<String> REASONS = List.of("system", "tests", "ended", "reason");
    private static final String UNTOLD = "–";
    private static final Pattern TEST_FOLDER = Pattern.compile("/var/tmp/preemptible[^/,]*");

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

    /** Replaces what is said of the classes that ran on one system, and drops what is said of classes that are none any more. */
    void set(String system, StockClasses told) {
        Map<String, String> earlier = new LinkedHashMap<>();
        classes.forEach((name, cells) -> earlier.put(name, cells.getOrDefault(system, StockClasses.NOT_RUN)));
        Set<String> stays = new LinkedHashSet<>();
        classes.values().forEach(cells -> cells.remove(system));
        told.cells().forEach((name, cell) -> {
            if (cell.equals(StockClasses.NOT_RUN)) {
                stays.add(name);
            }
            put(name, system, stays.contains(name) ? earlier.getOrDefault(name, cell) : cell);
        });
        classes.values().removeIf(Map::isEmpty);
        // The last list has the order that holds.
        Map<String, Map<String, String>> others = new LinkedHashMap<>(classes);
        classes.clear();
        told.cells().keySet().forEach(name -> classes.put(name, others.remove(name)));
        classes.putAll(others);
        reasons.removeIf(cells -> cells.get(0).equals(system)
                && !stays.contains(
                        cells.get(1).substring(0, Math.max(0, cells.get(1).indexOf(": ")))));
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

    /** What one system said of all classes, in a few words, such as {@code 3 passed, 0 failed, 1 skipped; 2 of 5 classes}. */
    String summary(String system) {
        List<String> cells = classes.values().stream()
                .map(all -> all.get(system))
                .filter(cell -> cell != null)
                .toList();
        List<String> words = new ArrayList<>();
        for (String outcome : List.of("passed", "failed", "skipped")) {
            Pattern counted = Pattern.compile("(\\d+) " + outcome);
            int sum = cells.stream()
                    .flatMap(cell -> counted.matcher(cell).results())
                    .mapToInt(found -> Integer.parseInt(found.group(1)))
                    .sum();
            words.add(sum + " " + outcome);
        }
        long run = cells.stream()
                .filter(cell -> !cell.equals(StockClasses.NOT_RUN))
                .count();
        return String.join(", ", words) + "; " + run + " of " + cells.size() + " classes";
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
        // The folder of a test has another name each time.
        return TEST_FOLDER
                .matcher(text)
                .replaceAll("…")
                .replace('|', '/')
                .replace("<", "&lt;")
                .strip();
    }
}
