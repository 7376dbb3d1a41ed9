package io.jenkins.plugins.preemptible.engine.compat;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jenkins.plugins.preemptible.engine.cli.simulate.MarkedSection;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Writes docs/compatibility.md from what the tests tried.
 *
 * <ol>
 *   <li>A test class says {@code @ExtendWith(CompatibilityTable.class)}; each of its tests is a {@link ProgramTrial}, whose row
 *       is kept for the life of this JVM.
 *   <li>After each the rows are sorted and written into the file that the system property {@value #FILE} names.
 *   <li>Rows of an earlier run of a part of the tests stay, unless this one has the same: {@code preempt compat}, which
 *       runs all, begins without any. Without the property nothing is written.
 * </ol>
 *
 * Safe for any threads.
 */
public final class CompatibilityTable implements BeforeAllCallback {

    /** The system property that names the file. */
    public static final String FILE = "preemptible.compatibility";

    /** The system property that names the file with the rows of earlier runs, which those of this run replace. */
    static final String EARLIER = "preemptible.compatibility.rows";

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ConcurrentLinkedQueue<CompatibilityRow> ROWS = new ConcurrentLinkedQueue<>();

    /** Nothing is left to do before a class: it is the mark of those that take part. */
    @Override
    public void beforeAll(ExtensionContext context) {
        // The rows are written one by one, so that a run that is cut off has told what it saw.
    }

    static synchronized void add(CompatibilityRow row) throws IOException {
        ROWS.add(row);
        String file = System.getProperty(FILE);
        if (file != null) {
            write(Path.of(file));
        }
    }

    private static void write(Path file) throws IOException {
        Map<List<Object>, CompatibilityRow> rows = new LinkedHashMap<>();
        Path earlier = Path.of(System.getProperty(EARLIER, "target/engine/compatibility.json"));
        if (Files.exists(earlier)) {
            JSON.readValue(earlier.toFile(), new TypeReference<List<CompatibilityRow>>() {})
                    .forEach(r -> rows.put(key(r), r));
        }
        ROWS.forEach(r -> rows.put(key(r), r));
        Files.createDirectories(earlier.toAbsolutePath().getParent());
        JSON.writeValue(earlier.toFile(), rows.values());
        Files.writeString(file, markdown(List.copyOf(rows.values()), machine()) + "\n" + others(file));
    }

    // What 'compat --zdtm' and stock-system write into the same page.
    private static String others(Path file) throws IOException {
        String old = Files.exists(file) ? Files.readString(file) : "";
        return section(old, "zdtm") + "\n## Stock systems\n\n" + section(old, StockSystems.SECTION);
    }

    private static String section(String page, String name) {
        String begin = MarkedSection.begin(name);
        String end = MarkedSection.end(name);
        int from = page.indexOf(begin);
        int to = page.indexOf(end);
        return (from >= 0 && to > from ? page.substring(from, to) : begin + "\n") + end + "\n";
    }

    private static List<Object> key(CompatibilityRow row) {
        return List.of(row.part(), row.subject(), row.work());
    }

    static String markdown(List<CompatibilityRow> rows, List<String> machine) {
        List<String> lines = new ArrayList<>(List.of(
                "# Compatibility: what was suspended in the middle of its work, and went on",
                "",
                "Written by `./preempt compat`; changes by hand are lost. Each was started as a stage and suspended in the"
                        + " middle of its",
                "work. Programs are resumed twice, from the image that is still on the host and from the sealed archive, and"
                        + " their",
                "results compared with those of an undisturbed run; kernel resources look at themselves after each resume."
                        + " Dump is the",
                "longest, image the largest, before packing. *Refused*: it ran on, and was told why. *No*: it does not come"
                        + " back as it",
                "was, or not at all. *Not tried*: could not be had on this machine, or not in this run. Times are those of a"
                        + " machine",
                "that other builds used too.",
                "",
                "Machine: " + String.join(", ", machine) + "."));
        for (Part part : Part.values()) {
            List<CompatibilityRow> own = rows.stream()
                    .filter(r -> r.part() == part)
                    .sorted(CompatibilityRow.ORDER)
                    .toList();
            if (own.isEmpty()) {
                continue;
            }
            lines.addAll(List.of(
                    "",
                    "## " + part.title + ": " + count(own),
                    "",
                    "| what | version | its work | suspended | resumed | same result | dump ms | image MB | remark |",
                    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"));
            own.forEach(r -> lines.add(r.markdown()));
        }
        return String.join("\n", lines) + "\n";
    }

    private static String count(List<CompatibilityRow> rows) {
        List<String> parts = new ArrayList<>();
        for (CompatibilityRow.Result result : CompatibilityRow.Result.values()) {
            long count = rows.stream().filter(r -> r.result() == result).count();
            if (count > 0) {
                parts.add(count + " " + result.text);
            }
        }
        return String.join(", ", parts);
    }

    // No host name: the file is published.
    private static List<String> machine() throws IOException {
        List<String> facts = new ArrayList<>(List.of(
                Runtime.getRuntime().availableProcessors() + " cores " + Proc.machine(),
                "Linux " + Proc.kernelRelease()));
        Path release = Path.of("/etc/os-release");
        if (Files.isReadable(release)) {
            Files.readAllLines(release).stream()
                    .filter(l -> l.startsWith("PRETTY_NAME="))
                    .map(l -> l.substring("PRETTY_NAME=".length()).replace("\"", ""))
                    .forEach(facts::add);
        }
        new CriuSearch().usable().map(Criu::version).ifPresent(v -> facts.add("CRIU " + v));
        return facts;
    }
}
