package io.jenkins.plugins.preemptible.engine.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.logging.LogManager;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Measures, in one run, what suspending costs beside what it is compared with.
 *
 * <ol>
 *   <li>Each benchmark alternates between the two sides and tells medians, spread and ratio.
 *   <li>Text goes to the standard output; {@code --json} writes the same with every sample.
 *   <li>{@code --docs} writes the page and its plots.
 * </ol>
 *
 * <p>JMH is made for calls inside of one JVM that take microseconds; what is measured here takes seconds, happens in
 * other processes, and needs a new stage each time.
 */
@Command(
        name = "preempt bench",
        mixinStandardHelpOptions = false,
        description = "Measures suspending and resuming against plain criu, side by side. Needs a quiet machine, 16 GB "
                + "of free disk in /var/tmp and 10 GB of free memory for all of it.",
        footer =
                "'preempt bench --queue' alone measures on a real Jenkins what a busy controller notices, and writes it to "
                        + "docs/performance.md; with --most N it stops at N items that wait, and writes to no page.")
public final class Bench implements Callable<Integer> {

    private static final List<Benchmark> ALL = List.of(
            new LatencyBenchmark(),
            new SealBenchmark(),
            new ResumeBenchmark(),
            new TrialBenchmark(),
            new MoveBenchmark(),
            new CheckpointBenchmark(),
            new RepeatBenchmark(),
            new ProcessesBenchmark(),
            new CostBenchmark(),
            new LifeBenchmark(),
            new DecideBenchmark());

    @Spec
    private CommandSpec spec;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Shows this.")
    private boolean help;

    @Option(names = "--json", paramLabel = "FILE", description = "Also writes all samples, as one JSON object.")
    private Path json;

    @Option(names = "--docs", paramLabel = "FOLDER", description = "Also writes performance.md and its plots there.")
    private Path docs;

    @Option(
            names = "--only",
            paramLabel = "NAME",
            description =
                    "Only this one of latency, seal, resume, trial, move, checkpoint, repeat, processes, cost, life, decide; may be repeated.")
    private List<String> only = List.of();

    @Option(
            names = "--goals",
            description =
                    "Only what has a goal, all of it repeated as often as --runs says: about 10 minutes on a quiet machine.")
    private boolean goals;

    @Option(names = "--runs", paramLabel = "N", description = "Runs of each, 1 to 100; ${DEFAULT-VALUE} by default.")
    private int runs = 5;

    @Option(
            names = "--life",
            paramLabel = "SECONDS",
            description = "How long each tool lives, 10 to 86400; ${DEFAULT-VALUE} by default.")
    private long life = 120;

    public static void main(String[] args) {
        // The engine tells of each freeze.
        LogManager.getLogManager().reset();
        System.exit(new CommandLine(new Bench())
                .setParameterExceptionHandler((e, given) -> {
                    e.getCommandLine().getErr().println("preempt: " + e.getMessage() + "; see 'preempt bench --help'.");
                    return 2;
                })
                .setExecutionExceptionHandler((e, line, parsed) -> {
                    line.getErr().println("preempt: the benchmark could not be run: " + e + ".");
                    if (e instanceof EngineException failed) {
                        failed.criuLines().forEach(l -> line.getErr().println("criu: " + l));
                    }
                    return 1;
                })
                .execute(args));
    }

    @Override
    public Integer call() throws Exception {
        List<Benchmark> chosen = chosen();
        if (runs < 1 || runs > 100) {
            throw new ParameterException(spec.commandLine(), "--runs takes 1 to 100, not " + runs);
        }
        if (life < 10 || life > 86400) {
            throw new ParameterException(spec.commandLine(), "--life takes 10 to 86400, not " + life);
        }
        Machine machine = Machine.here();
        System.out.println(machine.sentence());
        List<Result> results = new ArrayList<>();
        for (Benchmark each : chosen) {
            try (BenchRig rig = new BenchRig(runs, Duration.ofSeconds(life), goals)) {
                Result result = each.run(rig);
                Text.print(result, System.out);
                results.add(result);
            }
            // After each: a run that is cut off keeps what it has.
            write(machine, results);
        }
        return 0;
    }

    private void write(Machine machine, List<Result> results) throws IOException {
        if (json != null) {
            Map<String, Object> all = new LinkedHashMap<>();
            all.put("machine", machine);
            all.put("results", results);
            new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT).writeValue(json.toFile(), all);
        }
        if (docs != null) {
            List<String> measured = results.stream().map(Result::name).toList();
            new Page(docs, runs)
                    .write(
                            machine,
                            results,
                            ALL.stream()
                                    .map(Benchmark::name)
                                    .filter(name -> !measured.contains(name))
                                    .toList());
        }
    }

    private List<Benchmark> chosen() {
        for (String name : only) {
            if (ALL.stream().noneMatch(b -> b.name().equals(name))) {
                throw new ParameterException(spec.commandLine(), "there is no benchmark '" + name + "'");
            }
        }
        return ALL.stream()
                .filter(b -> only.isEmpty() ? !goals || b.hasGoals() : only.contains(b.name()))
                .toList();
    }
}
