package io.jenkins.plugins.preemptible.engine.testrun;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The verbs that run tests: the everyday ones, and those with a certain tag. */
final class Verbs {

    /** Of the long tests, which have limits of their own; see junit-platform.properties. */
    static final List<String> LONG =
            List.of("-DskippedTests=none", "-Djunit.jupiter.execution.timeout.testable.method.default=8h");

    /** Real processes on a machine that others use: two more tries, and what needed them is named. */
    private static final String TRY_AGAIN = "-Dsurefire.rerunFailingTestsCount=2";

    /** Each runs one class at a time. On two cores a sixth of their time was idle even so: tests wait for other processes. */
    private static final String THREE_JVMS = "-DforkCount=3";

    /** What runs for hours leaves more behind than a test of minutes. */
    private static final String OWN_JVM = "-DreuseForks=false";

    /** As the two POMs have it. */
    private static final String LONG_OF_ENGINE = "-DskippedTests=soak,fuzz,tools";

    private static final String LONG_OF_PLUGIN = "-DskippedTests=soak,bench";

    private Verbs() {}

    private static void refuse(CommandSpec spec, boolean wrong, String sentence) {
        if (wrong) {
            throw new ParameterException(spec.commandLine(), sentence);
        }
    }

    private static List<String> longTests(String... more) {
        List<String> options = new ArrayList<>(LONG);
        options.addAll(List.of(more));
        return options;
    }

    @Command(
            name = "test",
            customSynopsis = "preempt test [--fast | --all]",
            description =
                    "Sets up what is missing, runs the tests that can run here, says which half ran, what was skipped and what"
                            + " was left out.")
    static final class Everyday implements Callable<Integer> {

        private static final String SLOW = "slow";

        private final Run run;

        @Spec
        private CommandSpec spec;

        @Option(
                names = "--fast",
                description = "Only the engine's tests that need neither root nor CRIU, in about a minute.")
        private boolean fast;

        @Option(names = "--all", description = "Also the slow tests, which try what the others try in further forms.")
        private boolean all;

        Everyday(Run run) {
            this.run = run;
        }

        @Override
        public Integer call() throws Exception {
            refuse(spec, fast && all, "'--fast' and '--all' do not go together.");
            if (fast) {
                return run.halves(
                        halves -> halves.engine("10m", List.of(LONG_OF_ENGINE + ",host," + SLOW)),
                        Run.NOT_ASKED_FOR,
                        List.of("left out: all that needs root, CRIU or Jenkins; './preempt test' runs most of it"));
            }
            run.setUp("--tests");
            String slow = all ? "" : "," + SLOW;
            return run.halves(
                    halves -> halves.engine("30m", List.of(TRY_AGAIN, THREE_JVMS, LONG_OF_ENGINE + slow)),
                    halves -> halves.plugin("60m", List.of(TRY_AGAIN, LONG_OF_PLUGIN + slow), System.out),
                    leftOut());
        }

        private List<String> leftOut() throws IOException {
            List<String> lines = new ArrayList<>();
            List<String> slow = LeftOut.named(run.checkout().tests(), SLOW);
            if (!all && !slow.isEmpty()) {
                lines.add("LEFT OUT, slow; './preempt test --all' runs them: " + String.join(", ", slow));
            }
            lines.add("LEFT OUT, hours long: what './preempt soak', 'fuzz', 'compat' and 'bench' run");
            return lines;
        }
    }

    @Command(
            name = "soak",
            customSynopsis = "preempt soak [--faults N [--seed S] | --moves N [--streams K] [--seed S]]",
            description =
                    "Runs the long tests: suspensions in a row, failures at every phase, restarts, shares, many jobs on"
                            + " many agents, how long preemptors wait.")
    static final class Soak implements Callable<Integer> {

        private final Run run;

        @Spec
        private CommandSpec spec;

        @Option(
                names = "--faults",
                paramLabel = "N",
                converter = WholeNumber.class,
                description =
                        "In their place, N rounds of random faults on real Jenkins: kills, cuts, full disks, changed"
                                + " clocks. Counts go into docs/reliability.md.")
        private Integer faults;

        @Option(
                names = "--moves",
                paramLabel = "N",
                converter = WholeNumber.class,
                description =
                        "In their place, N rounds of random faults while a stage moves between three agents: removed, killed,"
                                + " cut off, restarted. Counts go into docs/moving-reliability.md.")
        private Integer moves;

        @Option(
                names = "--streams",
                paramLabel = "K",
                converter = WholeNumber.class,
                description =
                        "How many rounds of --moves run side by side, each on a controller of its own; 1 by default.")
        private Integer streams;

        @Option(
                names = "--seed",
                paramLabel = "S",
                converter = WholeNumber.class,
                description = "What the rounds are drawn from; 1 by default.")
        private Integer seed;

        Soak(Run run) {
            this.run = run;
        }

        @Override
        public Integer call() throws Exception {
            refuse(spec, faults != null && moves != null, "'--faults' and '--moves' do not go together.");
            refuse(spec, streams != null && moves == null, "'--streams' counts beside '--moves N' only.");
            refuse(
                    spec,
                    seed != null && faults == null && moves == null,
                    "'--seed' counts beside '--faults N' or '--moves N' only.");
            run.setUp("--tests");
            if (faults == null && moves == null) {
                return run.halves(
                        halves -> halves.engine("12h", longTests("-Dgroups=soak")),
                        halves -> halves.plugin("2h", longTests("-Dgroups=soak", OWN_JVM), System.out));
            }
            List<String> rounds = faults == null
                    ? longTests("-Dgroups=soak", "-Dtest=RandomMovesTest", "-Dpreemptible.moves=" + moves)
                    : longTests("-Dgroups=soak", "-Dtest=RandomFaultsTest", "-Dpreemptible.faults=" + faults);
            if (streams != null) {
                rounds.add("-Dpreemptible.streams=" + streams);
            }
            if (seed != null) {
                rounds.add("-Dpreemptible.seed=" + seed);
            }
            return run.halves(Run.NOT_ASKED_FOR, halves -> halves.plugin("24h", rounds, System.out));
        }
    }

    @Command(
            name = "fuzz",
            customSynopsis = "preempt fuzz",
            description =
                    "Runs the long search for an image that is broken and not refused, and tries the policy on 20,000 generated "
                            + "histories and queues a property, in place of 3,000.")
    static final class Fuzz implements Callable<Integer> {

        private final Run run;

        Fuzz(Run run) {
            this.run = run;
        }

        @Override
        public Integer call() throws Exception {
            run.setUp("--tests");
            return run.halves(
                    halves ->
                            halves.engine("12h", longTests("-Dgroups=fuzz | property", "-Djqwik.tries.default=20000")),
                    Run.NOT_ASKED_FOR);
        }
    }

    @Command(
            name = "compat",
            customSynopsis = "preempt compat",
            description = "Suspends and resumes real programs and kernel resources; writes docs/compatibility.md.")
    static final class Compat implements Callable<Integer> {

        private static final String TESTS = "RealProgramsTest,KernelResourceTest,WaysBy*Test,WaysFrom*Test,"
                + "PrivilegedFaultTest,CheckpointsWithoutRootTest,CheckpointWaysTest,CheckpointMountsTest,ForgedImagesTest";

        private final Run run;

        Compat(Run run) {
            this.run = run;
        }

        @Override
        public Integer call() throws Exception {
            run.setUp("--tools");
            Checkout checkout = run.checkout();
            Files.deleteIfExists(checkout.root().resolve("target/engine/compatibility.json"));
            List<String> options = longTests(
                    "-Dtest=" + TESTS,
                    "-Dsurefire.failIfNoSpecifiedTests=false",
                    "-Dpreemptible.compatibility=" + checkout.root().resolve("docs/compatibility.md"));
            return run.halves(halves -> halves.engine("2h", options), Run.NOT_ASKED_FOR);
        }
    }
}
