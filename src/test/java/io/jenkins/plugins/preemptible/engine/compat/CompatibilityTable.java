package io.jenkins.plugins.preemptible.engine.compat;

import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Writes docs/compatibility.md from what the tests tried.
 *
 * <ol>
 *   <li>A test class says {@code @ExtendWith(CompatibilityTable.class)}; each of its tests is a {@link Trial}, whose row
 *       is kept for the life of this JVM.
 *   <li>When the last test class of the run is done, the rows are sorted and written into the file that the system
 *       property {@value #FILE} names.
 *   <li>Without the property nothing is written: only {@code preempt compat} runs everything that belongs into it.
 * </ol>
 *
 * Safe for any threads.
 */
public final class CompatibilityTable implements BeforeAllCallback {

    /** The system property that names the file. */
    public static final String FILE = "preemptible.compatibility";

    private static final ConcurrentLinkedQueue<Row> ROWS = new ConcurrentLinkedQueue<>();

    @Override
    public void beforeAll(ExtensionContext context) {
        String file = System.getProperty(FILE);
        if (file != null) {
            // The root's store is closed after the last test class, and with it what it holds.
            context.getRoot()
                    .getStore(ExtensionContext.Namespace.create(CompatibilityTable.class))
                    .getOrComputeIfAbsent(
                            FILE, k -> (AutoCloseable) () -> write(Path.of(file)), AutoCloseable.class);
        }
    }

    static void add(Row row) {
        ROWS.add(row);
    }

    private static void write(Path file) throws IOException {
        Files.writeString(file, markdown(List.copyOf(ROWS), machine()));
    }

    static String markdown(List<Row> rows, List<String> machine) {
        List<String> lines = new ArrayList<>(List.of(
                "# Compatibility: what was suspended in the middle of its work, and went on",
                "",
                "Written by `./preempt compat`; changes by hand are lost. Each was started as a stage, suspended and"
                        + " resumed",
                "twice from its sealed archive, ended, and its result compared with that of an undisturbed run. Dump is"
                        + " the",
                "longest, image the largest of the two, before packing. *Not tried*: could not be had on this machine.",
                "",
                "Machine: " + String.join(", ", machine) + "."));
        for (Part part : Part.values()) {
            List<Row> own = rows.stream().filter(r -> r.part() == part).sorted(Row.ORDER).toList();
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

    private static String count(List<Row> rows) {
        List<String> parts = new ArrayList<>();
        for (Row.Result result : Row.Result.values()) {
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
                Runtime.getRuntime().availableProcessors() + " cores " + Proc.machine(), "Linux " + Proc.kernelRelease()));
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
