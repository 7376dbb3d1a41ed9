package io.jenkins.plugins.preemptible.engine.compat;

import io.jenkins.plugins.preemptible.engine.cli.simulate.MarkedSection;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The section of docs/compatibility.md that says what passed in guests with a distribution's own kernel and CRIU.
 *
 * <ol>
 *   <li>{@code src/test/scripts/stock-system --page} calls it with what the guests of one system have told.
 *   <li>Tests are counted as their classes end, so that a run that is cut off has told what it saw.
 *   <li>One row for each system and CRIU. A run of some steps, or of some classes, replaces their cells; others stay.
 * </ol>
 */
public final class StockSystems {

    /** The name of the section's two marks. */
    static final String SECTION = "stock";

    /** The steps of stock-guest, in the order of their columns. */
    private static final List<String> STEPS = List.of("check", "cycles", "demo", "helper", "checkpoints", "tests");

    private static final String SAID = "stock-system: ";
    /** Only rows of systems have one; the head of a table has none. */
    private static final Pattern DATE = Pattern.compile("\\d{4}-\\d{2}-\\d{2}");

    private static final Pattern SYSTEM = Pattern.compile("Linux (\\S+), (.+), \\S+ version .*");
    private static final Pattern CRIU = Pattern.compile("criu Version: (\\S+) .*");
    private static final Pattern CGROUPS = Pattern.compile("cgroups (\\S+), .*");
    private static final Pattern STEP = Pattern.compile("step (\\w+): (ok|FAILED).*");
    private static final String UNTRIED = "–";

    private static final List<String> HEAD = List.of(
            "Each row is one system in a guest of QEMU, emulated, with one processor and 4 GB, as root if nothing else is said. *Cycles*: a stage",
            "was suspended and resumed from its sealed archive twice, and lost nothing. *User*: the same for a stage of an ordinary user, by",
            "`install-helper`, in memory or with `--checkpoints`. *Tests*: those of the engine that touch the kernel and CRIU, counted by",
            "`src/test/scripts/stock-system`. " + UNTRIED
                    + ": not tried. A step, or a class of tests, that the last run left out keeps what an earlier run said.",
            "What differs between versions of CRIU, and what to do then, is in [agents.md](agents.md#criu).",
            "",
            "| system | kernel | CRIU | cgroups | last run | check | cycles | demo | user, in memory | user, checkpoints | tests |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    /** System, kernel, CRIU, cgroups, date. */
    private static final int FACTS = 5;

    private StockSystems() {}

    /** @param words the page, the file told.log, and the date, such as 2026-01-31 */
    public static void main(String[] words) throws IOException {
        Path page = Path.of(words[0]);
        MarkedSection section = new MarkedSection(page, SECTION);
        section.replace(section(Files.readAllLines(page), Files.readAllLines(Path.of(words[1])), words[2]));
    }

    /** The section's lines, with what one system's guests have told. */
    static List<String> section(List<String> page, List<String> told, String date) {
        Map<String, List<String>> rows = new TreeMap<>();
        int begin = page.indexOf(MarkedSection.begin(SECTION));
        int end = page.indexOf(MarkedSection.end(SECTION));
        StockTables tables = StockTables.of(page.subList(begin + 1, end));
        for (String line : page.subList(begin + 1, end)) {
            List<String> cells = StockTables.cells(line);
            if (cells.size() == FACTS + STEPS.size()
                    && DATE.matcher(cells.get(FACTS - 1)).matches()) {
                rows.put(key(cells), cells);
            }
        }
        StockClasses classes = new StockClasses();
        List<String> row = row(told, classes, date);
        List<String> earlier = rows.getOrDefault(key(row), row);
        for (int cell = FACTS; cell < row.size(); cell++) {
            if (row.get(cell).equals(UNTRIED)) {
                row.set(cell, earlier.get(cell));
            }
        }
        if (classes.hasRun()) {
            tables.set(name(row), classes);
            row.set(row.size() - 1, tables.summary(name(row)));
        }
        rows.put(key(row), row);
        List<String> lines = new ArrayList<>(HEAD);
        rows.values().forEach(cells -> lines.add(StockTables.line(cells)));
        lines.addAll(tables.lines());
        return lines;
    }

    private static List<String> row(List<String> told, StockClasses classes, String date) {
        String[] facts = {"", "", "", "", date};
        Map<String, String> steps = new TreeMap<>();
        for (String line : told) {
            String said = line.strip();
            if (!said.startsWith(SAID)) {
                continue;
            }
            said = said.substring(SAID.length());
            Matcher system = SYSTEM.matcher(said);
            Matcher criu = CRIU.matcher(said);
            Matcher cgroups = CGROUPS.matcher(said);
            Matcher step = STEP.matcher(said);
            if (system.matches()) {
                facts[0] = system.group(2);
                facts[1] = system.group(1);
            } else if (criu.matches()) {
                facts[2] = criu.group(1);
            } else if (cgroups.matches()) {
                facts[3] = cgroups.group(1).equals("cgroup2fs") ? "v2" : "v1";
            } else if (step.matches()) {
                steps.put(step.group(1), step.group(2).equals("ok") ? "ok" : "**failed**");
            } else {
                classes.read(said);
            }
        }
        if (facts[0].isEmpty() || facts[2].isEmpty()) {
            throw new IllegalArgumentException("the guest did not say what it is");
        }
        List<String> row = new ArrayList<>(List.of(facts));
        STEPS.forEach(step -> row.add(steps.getOrDefault(step, UNTRIED)));
        return row;
    }

    private static String key(List<String> cells) {
        return cells.get(0) + ", " + cells.get(2);
    }

    /** What its column is called. */
    private static String name(List<String> cells) {
        return cells.get(0).replace("GNU/Linux ", "").replaceAll(" \\(.*\\)", "") + ", CRIU " + cells.get(2);
    }
}
