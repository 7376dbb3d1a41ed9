package io.jenkins.plugins.preemptible.queue;

import io.jenkins.plugins.preemptible.engine.bench.Machine;
import io.jenkins.plugins.preemptible.engine.bench.Page;
import io.jenkins.plugins.preemptible.engine.bench.Plot;
import io.jenkins.plugins.preemptible.engine.bench.Result;
import io.jenkins.plugins.preemptible.engine.bench.Row;
import io.jenkins.plugins.preemptible.engine.bench.Text;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Tells what a benchmark on a real Jenkins has measured: as a table on standard output, as a file of its own in the folder
 * {@code -Dpreemptible.bench.tables}, and in performance.md of the folder {@code -Dpreemptible.bench.docs}.
 */
public final class BenchReport {

    private final String name;
    private final String question;
    private final int runs;
    private final double loadAtBegin = load();

    public BenchReport(String name, String question, int runs) {
        this.name = name;
        this.question = question;
        this.runs = runs;
    }

    private static double load() {
        return ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
    }

    /** Replaces what was told before. */
    public void tell(List<Row> rows, List<String> notes) throws IOException {
        List<String> all =
                new ArrayList<>(List.of("Written by `./preempt bench --queue`. Programs that wanted a processor, in "
                        + "the minute before: " + Text.number(loadAtBegin) + " when it began, " + Text.number(load())
                        + " at the end."));
        all.addAll(notes);
        Result result = new Result(name, question, rows, List.<Plot>of(), all);
        Text.print(result, System.out);
        String tables = System.getProperty("preemptible.bench.tables", "");
        if (!tables.isEmpty()) {
            Path folder = Files.createDirectories(Path.of(tables));
            try (PrintStream file =
                    new PrintStream(folder.resolve(name + ".txt").toFile(), StandardCharsets.UTF_8)) {
                Text.print(result, file);
            }
        }
        String docs = System.getProperty("preemptible.bench.docs", "");
        if (!docs.isEmpty()) {
            new Page(Path.of(docs), runs).update(Machine.here(), List.of(result));
        }
    }
}
