package io.jenkins.plugins.preemptible.engine.zdtm;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.cli.simulate.MarkedSection;
import io.jenkins.plugins.preemptible.engine.cli.text.RefusedException;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmResult.Verdict;
import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmResult.Way;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Predicate;
import java.util.logging.LogManager;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Runs CRIU's own test suite as stages.
 *
 * <ol>
 *   <li>Every test once, resumed from CRIU's files; those that pass again as the options say.
 *   <li>What fails is tried once more, alone: the machine may have been too busy. Both results are told.
 *   <li>What does not pass is run without a suspension, and by plain criu: that tells whose fault it is.
 *   <li>Tests that want to be alone run after all others of their pass.
 * </ol>
 */
@Command(
        name = "preempt compat",
        description =
                "Runs CRIU's own tests (ZDTM) as stages: each is started, suspended, resumed, told to look at what it"
                        + " has, and asked for its verdict. What does not pass is tried without suspension and by plain criu.")
public final class ZdtmCommand implements Callable<Integer> {

    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
    /** The marks in docs/compatibility.md. */
    private static final String SECTION = "zdtm";

    @Spec
    private CommandSpec spec;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Shows this.")
    private boolean help;

    @Option(
            names = "--zdtm",
            required = true,
            paramLabel = "DIR",
            description = "CRIU's source folder, with the suite built in DIR/test/zdtm (make -C DIR/test/zdtm).")
    private Path folder;

    @Option(names = "--archive", description = "Those that pass also from the sealed archive.")
    private boolean archive;

    @Option(names = "--twice", description = "Those that pass also suspended twice in a row.")
    private boolean twice;

    @Option(
            names = "-k",
            paramLabel = "PATTERN",
            description = "Only tests whose name has a match, such as static/tty.")
    private String pattern;

    @Option(
            names = "--workers",
            paramLabel = "N",
            description = "Tests at a time, 1 to 16; ${DEFAULT-VALUE} by default.")
    private int workers = 2;

    @Option(
            names = "--json",
            paramLabel = "FILE",
            description =
                    "Also writes every result, as JSON; results of other tests that the file has already stay, and"
                            + " count.")
    private Path json;

    @Option(names = "--write-docs", paramLabel = "PAGE", description = "Also writes the section of this page.")
    private Path page;

    private final ConcurrentLinkedQueue<ZdtmResult> results = new ConcurrentLinkedQueue<>();
    private final ConcurrentLinkedQueue<WorkerProcess> idle = new ConcurrentLinkedQueue<>();

    public static void main(String[] args) {
        LogManager.getLogManager().reset();
        System.exit(run(args));
    }

    /** Prints the options. */
    public static void usage(PrintWriter out) {
        new CommandLine(new ZdtmCommand()).usage(out);
    }

    static int run(String... args) {
        return new CommandLine(new ZdtmCommand())
                .setParameterExceptionHandler((e, given) -> {
                    e.getCommandLine()
                            .getErr()
                            .println("preempt: " + e.getMessage() + "; see 'preempt compat --help'.");
                    return 2;
                })
                .setExecutionExceptionHandler((e, line, parsed) -> {
                    line.getErr().println("preempt: the tests could not be run: " + e + ".");
                    return 1;
                })
                .execute(args);
    }

    @Override
    public Integer call() throws Exception {
        List<ZdtmSuite.Test> tests;
        ZdtmSuite suite;
        MarkedSection section;
        try {
            section = page == null ? null : new MarkedSection(page, SECTION);
            suite = ZdtmSuite.open(folder);
            tests = suite.tests(pattern == null ? null : Pattern.compile(pattern));
        } catch (ZdtmSuite.NoSuiteException | RefusedException e) {
            throw new ParameterException(spec.commandLine(), e.getMessage());
        } catch (PatternSyntaxException e) {
            throw new ParameterException(spec.commandLine(), "'" + pattern + "' is no regular expression");
        }
        if (tests.isEmpty()) {
            throw new ParameterException(
                    spec.commandLine(), "no test of " + folder + " has a match of '" + pattern + "'");
        }
        if (workers < 1 || workers > 16) {
            throw new ParameterException(spec.commandLine(), "--workers takes 1 to 16, not " + workers);
        }
        keepEarlier(tests);
        Path homes = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-zdtm-");
        try {
            requireHost(homes);
            for (int i = 0; i < workers; i++) {
                idle.add(new WorkerProcess(suite, homes.resolve("home-" + i)));
            }
            runAll(tests);
            for (WorkerProcess worker : idle) {
                worker.close();
            }
        } finally {
            StageFolder.delete(homes);
        }
        ZdtmTable table = new ZdtmTable(results);
        table.markdown().forEach(System.out::println);
        if (section != null) {
            section.replace(table.markdown());
        }
        return table.asItShouldBe() ? 0 : 1;
    }

    private void keepEarlier(List<ZdtmSuite.Test> tests) throws IOException {
        if (json == null || !Files.exists(json)) {
            return;
        }
        Set<String> now = tests.stream().map(ZdtmSuite.Test::name).collect(Collectors.toSet());
        try {
            JSON.readValue(json.toFile(), new TypeReference<List<ZdtmResult>>() {}).stream()
                    .filter(r -> !now.contains(r.test()))
                    .forEach(results::add);
        } catch (JsonProcessingException e) {
            throw new ParameterException(spec.commandLine(), json + " is there and holds no results of earlier runs");
        }
    }

    private static void requireHost(Path home) throws IOException {
        HostReport report = Engine.open(home.resolve("check")).check();
        if (!report.ok()) {
            throw new IOException("this host cannot suspend stages: " + report.missing());
        }
        for (String tool : List.of("unshare", "ip", "make")) {
            if (HostTool.find(tool).isEmpty()) {
                throw new IOException(tool + " is not installed");
            }
        }
    }

    private void runAll(List<ZdtmSuite.Test> tests) throws Exception {
        pass(tests, Way.LOCAL, t -> true);
        if (archive) {
            pass(tests, Way.ARCHIVE, passed());
        }
        if (twice) {
            pass(tests, Way.TWICE, passed());
        }
        Set<String> bad = named(r -> r.verdict() != Verdict.PASS && r.verdict() != Verdict.SKIPPED);
        pass(tests, Way.UNDISTURBED, bad::contains);
        pass(tests, Way.PLAIN, bad::contains);
    }

    private Predicate<String> passed() {
        return named(r -> r.way() == Way.LOCAL && r.verdict() == Verdict.PASS)::contains;
    }

    private Set<String> named(Predicate<ZdtmResult> chosen) {
        return results.stream()
                .filter(chosen)
                .map(ZdtmResult::test)
                .collect(Collectors.toCollection(LinkedHashSet::new));
    }

    private void pass(List<ZdtmSuite.Test> tests, Way way, Predicate<String> chosen) throws Exception {
        for (boolean alone : new boolean[] {false, true}) {
            run(
                    tests.stream()
                            .filter(t -> t.alone() == alone && chosen.test(t.name()))
                            .toList(),
                    way,
                    alone ? 1 : workers);
        }
        if (way != Way.UNDISTURBED && way != Way.PLAIN) {
            Set<String> again = named(r -> r.way() == way && r.worthAnotherTry());
            run(tests.stream().filter(t -> again.contains(t.name())).toList(), way, 1);
        }
    }

    private void run(List<ZdtmSuite.Test> tests, Way way, int atATime) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(atATime);
        List<Future<?>> running = new ArrayList<>();
        for (ZdtmSuite.Test test : tests) {
            running.add(pool.submit(() -> {
                WorkerProcess worker = idle.remove();
                try {
                    tell(worker.run(way, test.name()));
                } finally {
                    idle.add(worker);
                }
                return null;
            }));
        }
        pool.shutdown();
        for (Future<?> each : running) {
            each.get();
        }
    }

    private synchronized void tell(ZdtmResult now) throws IOException {
        Optional<ZdtmResult> first = results.stream()
                .filter(r -> r.test().equals(now.test()) && r.way() == now.way())
                .findFirst();
        ZdtmResult result = first.map(now::after).orElse(now);
        first.ifPresent(results::remove);
        results.add(result);
        System.out.printf(
                "%s, %s: %s%s (%.1f s)%n",
                result.test(),
                result.way().title,
                result.verdict().title,
                result.reason().isEmpty() ? "" : ", " + result.reason(),
                result.millis() / 1000.0);
        if (json != null) {
            JSON.writeValue(json.toFile(), results);
        }
    }
}
