package io.jenkins.plugins.preemptible.engine.testrun;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Measures what a busy controller notices: on a real Jenkins, hence in the plugin half. */
@Command(
        name = "bench",
        customSynopsis = "preempt bench --queue [--most N]",
        description =
                "Measures on a real Jenkins what a busy controller notices, and writes it to docs/performance.md.")
final class QueueBench implements Callable<Integer> {

    private static final List<String> TABLES = List.of("queue", "urgent", "moved-stage");
    private static final int OTHERS = 5_000;

    private final Run run;

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--queue",
            required = true,
            description = "Names this benchmark, among those of 'preempt bench --help'.")
    private boolean queue;

    @Option(
            names = "--most",
            paramLabel = "N",
            converter = WholeNumber.class,
            description = "Stops at N items that wait, 1 to 999999, and writes to no page.")
    private Integer most;

    QueueBench(Run run) {
        this.run = run;
    }

    @Override
    public Integer call() throws Exception {
        if (most != null && most > 999_999) {
            throw new ParameterException(spec.commandLine(), "too many");
        }
        Checkout checkout = run.checkout();
        Path tables = checkout.root().resolve("target/queue-bench");
        Files.createDirectories(tables);
        for (String table : TABLES) {
            Files.deleteIfExists(file(tables, table));
        }
        PrintWriter out = run.out();
        run.err()
                .println("preempt: measuring on a real Jenkins for about ten minutes; what it says goes to "
                        + checkout.pluginLog());
        HalfResult result =
                new Halves(checkout, run.err()).plugin("2h", options(tables), OutputStream.nullOutputStream());
        boolean measured = true;
        for (String table : TABLES) {
            if (Files.exists(file(tables, table))) {
                out.print(Files.readString(file(tables, table)));
            }
        }
        out.println();
        for (String table : TABLES) {
            if (!Files.exists(file(tables, table))) {
                measured = false;
                out.println(table + ": not measured; " + checkout.pluginLog() + " says why");
            }
        }
        printErrors(checkout.pluginLog());
        out.println("plugin half: " + result.words());
        return result.equals(HalfResult.RAN) && measured ? 0 : 1;
    }

    private List<String> options(Path tables) {
        String sizes = most == null
                ? "-Dpreemptible.bench.docs=" + run.checkout().root().resolve("docs")
                : "-Dpreemptible.bench.most=" + most + " -Dpreemptible.bench.others=" + Math.min(most, OTHERS)
                        + " -Dpreemptible.bench.connections=1";
        List<String> options = new ArrayList<>(Verbs.LONG);
        options.addAll(List.of(
                "-Dgroups=bench",
                "-Dtest=QueueBenchmark,UrgentItemBenchmark,MovedStageBenchmark",
                "-DforkCount=1",
                // Tests run with C1 alone; a controller does not.
                "-DargLine=-Xms1g -Xmx3g " + sizes + " -Dpreemptible.bench.tables=" + tables
                        + " @{jenkins.addOpens} @{jenkins.insaneHook} @{jenkins.javaAgent}"));
        return options;
    }

    private void printErrors(Path log) throws IOException {
        if (!Files.exists(log)) {
            return;
        }
        try (Stream<String> lines = Files.lines(log, StandardCharsets.ISO_8859_1)) {
            lines.filter(line -> line.matches("\\[ERROR\\] .*(Benchmark|Tests run).*"))
                    .forEach(run.out()::println);
        }
    }

    private static Path file(Path tables, String table) {
        return tables.resolve(table + ".txt");
    }
}
