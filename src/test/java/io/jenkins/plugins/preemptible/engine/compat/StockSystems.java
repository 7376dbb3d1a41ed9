package io.jenkins.plugins.preemptible.engine.compat;

import io.jenkins.plugins.preemptible.engine.cli.simulate.MarkedSection;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The section of docs/compatibility.md that says what passed in guests with a distribution's own kernel and CRIU.
 *
 * <ol>
 *   <li>{@code src/test/scripts/stock-system --page} calls it with what the guest printed.
 *   <li>Tests are counted as they end, so that a run that is cut off has told what it saw.
 *   <li>One row for each system and CRIU. A run of some steps replaces their cells; those of other steps stay.
 * </ol>
 */
public final class StockSystems {

    /** The name of the section's two marks. */
    static final String SECTION = "stock";

    /** The steps of stock-guest, in the order of their columns. */
    private static final List<String> STEPS = List.of("check", "cycles", "demo", "helper", "checkpoints", "tests");

    private static final String SAID = "stock-system: ";
    private static final Pattern SYSTEM = Pattern.compile("Linux (\\S+), (.+), \\S+ version .*");
    private static final Pattern CRIU = Pattern.compile("criu Version: (\\S+) .*");
    private static final Pattern CGROUPS = Pattern.compile("cgroups (\\S+), .*");
    private static final Pattern STEP = Pattern.compile("step (\\w+): (ok|FAILED).*");
    /** A line of the console launcher's feed. */
    private static final Pattern TEST = Pattern.compile("JUnit Jupiter > .* :: (SUCCESSFUL|FAILED|ABORTED|SKIPPED)");

    private static final String UNTRIED = "–";

    private static final List<String> HEAD = List.of(
            "Each row is one system in a guest of QEMU, emulated, with two processors and 4 GB, as root if nothing else is said. *Cycles*: a stage",
            "was suspended and resumed from its sealed archive twice, and lost nothing. *User*: the same for a stage of an ordinary user, by",
            "`install-helper`, in memory or with `--checkpoints`. *Tests*: chosen classes of the engine's tests with real processes. "
                    + UNTRIED + ": not tried.",
            "What differs between versions of CRIU, and what to do then, is in [agents.md](agents.md#criu).",
            "",
            "| system | kernel | CRIU | cgroups | tried | check | cycles | demo | user, in memory | user, checkpoints | tests |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    /** System, kernel, CRIU, cgroups, date. */
    private static final int FACTS = 5;

    private StockSystems() {}

    /** @param words the page, the file with what the guest printed, and the date, such as 2026-01-31 */
    public static void main(String[] words) throws IOException {
        Path page = Path.of(words[0]);
        MarkedSection section = new MarkedSection(page, SECTION);
        section.replace(section(Files.readAllLines(page), Files.readAllLines(Path.of(words[1])), words[2]));
    }

    /** The section's lines, with what one guest has printed. */
    static List<String> section(List<String> page, List<String> console, String date) {
        Map<String, List<String>> rows = new TreeMap<>();
        int begin = page.indexOf(MarkedSection.begin(SECTION));
        int end = page.indexOf(MarkedSection.end(SECTION));
        for (String line : page.subList(begin + 1, end)) {
            List<String> cells = cells(line);
            if (cells.size() == FACTS + STEPS.size() && !HEAD.contains(line)) {
                rows.put(key(cells), cells);
            }
        }
        List<String> row = row(console, date);
        List<String> earlier = rows.getOrDefault(key(row), row);
        for (int cell = FACTS; cell < row.size(); cell++) {
            if (row.get(cell).equals(UNTRIED)) {
                row.set(cell, earlier.get(cell));
            }
        }
        rows.put(key(row), row);
        List<String> lines = new ArrayList<>(HEAD);
        lines.addAll(markdown(rows.values()));
        return lines;
    }

    private static List<String> row(List<String> console, String date) {
        String[] facts = {"", "", "", "", date};
        Map<String, String> steps = new TreeMap<>();
        Map<String, Integer> tests = new TreeMap<>();
        for (String line : console) {
            String said = line.strip();
            Matcher test = TEST.matcher(said);
            if (test.matches()) {
                tests.merge(test.group(1), 1, Integer::sum);
            }
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
            }
        }
        if (facts[0].isEmpty() || facts[2].isEmpty()) {
            throw new IllegalArgumentException("the guest did not say what it is");
        }
        if (!tests.isEmpty()) {
            steps.put(
                    "tests",
                    tests.getOrDefault("SUCCESSFUL", 0) + " passed, " + tests.getOrDefault("FAILED", 0) + " failed, "
                            + (tests.getOrDefault("ABORTED", 0) + tests.getOrDefault("SKIPPED", 0)) + " skipped"
                            + (steps.containsKey("tests") ? "" : "; cut off"));
        }
        List<String> row = new ArrayList<>(List.of(facts));
        STEPS.forEach(step -> row.add(steps.getOrDefault(step, UNTRIED)));
        return row;
    }

    private static String key(List<String> cells) {
        return cells.get(0) + ", " + cells.get(2);
    }

    private static List<String> cells(String line) {
        return line.startsWith("| ")
                ? Arrays.stream(line.substring(1).split("\\|"))
                        .map(String::strip)
                        .toList()
                : List.of();
    }

    private static List<String> markdown(Collection<List<String>> rows) {
        return rows.stream()
                .map(cells -> "| " + String.join(" | ", cells) + " |")
                .toList();
    }
}
