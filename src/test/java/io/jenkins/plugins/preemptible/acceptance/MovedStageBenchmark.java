package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;

import hudson.model.Computer;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.bench.RawMove;
import io.jenkins.plugins.preemptible.engine.bench.Row;
import io.jenkins.plugins.preemptible.engine.bench.Samples;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.manual.AgentVerbs;
import io.jenkins.plugins.preemptible.queue.BenchReport;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * How long a running stage takes from one agent to another, from the click on *Drain* until it runs there; run by {@code
 * ./preempt bench --queue}, which writes the figures to performance.md.
 *
 * <p>Asserts nothing: a goal that is missed is printed as missed.
 */
@Tag("bench")
class MovedStageBenchmark extends OnTwoHosts {

    @RegisterExtension
    static final Periods PERIODS = new Periods().with("move.LeftAgent.delayMillis", 500);

    private static final int RUNS = Integer.getInteger("preemptible.bench.moves", 5);
    /** Moves of the small stage before those that count for a controller in use: its JVM and the agents' have compiled by then. */
    private static final int WARM_UPS = Integer.getInteger("preemptible.bench.warmups", 30);

    private static final int SMALL = 16;
    private static final int LARGE = 500;
    private static final double MOST_MILLIS = 1000;
    private static final double MOST_RATIO = 1.5;

    private static final List<String> NOTES = List.of(
            "On the clock, on a real controller with two agents on one machine, from the request to drain the agent until the "
                    + "stage runs on the other one. *Frozen*: from the request until its executor is free. *Sealed*: from then "
                    + "until its image and its workspace are among the build's artifacts. *Moved*: from then until it runs "
                    + "there, after the trial and the claim of an executor.",
            "The workspace has a tenth of the memory's size, in files of 64 KB. Plain criu's dump, a copy of image and "
                    + "workspace, and its restore were measured in turns with it; they force nothing to disk. The copy is `cp -a`, "
                    + "or *Jenkins' copy*: a tar archive by `FilePath.copyTo` over the controller's connections to both agents, not "
                    + "compressed, packed and unpacked on the agents' disks.",
            "*Among the first moves*: of a controller and agents that were just started, whose JVMs have compiled little. All other "
                    + "16 MB figures are of moves after " + WARM_UPS
                    + " such ones. The time between two moves is some seconds.",
            "Not measured: two machines.");

    private final BenchReport report = new BenchReport(
            "moved-stage", "How long does a stage of a drained agent take until it runs on another one?", RUNS);

    /** One move's parts, in milliseconds. */
    private record Moved(double frozen, double sealed, double moved) {
        double whole() {
            return frozen + sealed + moved;
        }
    }

    @Test
    void measure() throws Exception {
        // Else a machine whose other programs take its memory has images made before the executors are free.
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
        hosts.asInUse();
        hosts.connect("A");
        hosts.connect("B");
        List<Row> rows = new ArrayList<>();
        for (int megabytes : new int[] {SMALL, LARGE}) {
            measure(megabytes, rows);
        }
        report.tell(rows, NOTES);
    }

    private void measure(int megabytes, List<Row> rows) throws Exception {
        List<Moved> moves = new ArrayList<>();
        List<Double> raws = new ArrayList<>();
        List<Double> byJenkins = new ArrayList<>();
        try (RawMove raw = new RawMove(megabytes)) {
            Path files = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-files");
            raw.fill(files);
            String hold = String.join(" ", raw.hold(Path.of("ready")));
            WorkflowJob job = rig.pipeline(
                    "held-" + megabytes,
                    5,
                    Rig.own("cp -a " + files + "/. .; " + hold + " & while [ ! -e ready ]; do sleep 0.1; done; "
                            + Rig.endless() + "; kill $!"));
            WorkflowRun stage = Rig.start(job);
            Rig.awaitLog(stage, "count-3\n");
            if (megabytes == SMALL) {
                rows.add(firstMoves(stage));
            }
            for (int i = 0; i <= RUNS; i++) {
                Moved moved = move(stage);
                double plain = raw.millis(files);
                double copied = raw.millis(files, this::copy);
                System.out.println(
                        megabytes + " MB: " + moved + ", plain criu " + plain + ", copied by Jenkins " + copied);
                if (i > 0) {
                    moves.add(moved);
                    raws.add(plain);
                    byJenkins.add(copied);
                }
            }
            Files.createFile(hosts.workspace(only().node(), job.getName()).resolve("enough"));
            j.assertBuildStatusSuccess(j.waitForCompletion(stage));
            Rig.countedAtLeast(stage, 4);
            StageFolder.delete(files);
        }
        String what = megabytes + " MB, ";
        if (megabytes == SMALL) {
            rows.add(new Row(what + "to allowed", samples(moves, Moved::whole), Samples.of("ms", MOST_MILLIS), 1.0));
        }
        rows.add(new Row(
                what + "to plain criu",
                samples(moves, Moved::whole),
                new Samples("ms", raws),
                megabytes == LARGE ? MOST_RATIO : null));
        rows.add(new Row(
                what + "to plain criu and Jenkins' copy",
                samples(moves, Moved::whole),
                new Samples("ms", byJenkins),
                null));
        rows.add(new Row("– frozen", samples(moves, Moved::frozen), null, null));
        rows.add(new Row("– sealed", samples(moves, Moved::sealed), null, null));
        rows.add(new Row("– moved", samples(moves, Moved::moved), null, null));
    }

    /** Of a controller and agents that have just been started: all but the very first one, up to as many as are measured later. */
    private Row firstMoves(WorkflowRun stage) throws Exception {
        List<Moved> first = new ArrayList<>();
        for (int i = 0; i < WARM_UPS; i++) {
            Moved moved = move(stage);
            if (i > 0 && i <= RUNS) {
                first.add(moved);
            }
        }
        return new Row(
                SMALL + " MB, among the first " + (RUNS + 1) + " moves of a controller",
                samples(first, Moved::whole),
                Samples.of("ms", MOST_MILLIS),
                null);
    }

    /** Over the controller's connections, as quick as Jenkins' own means are. */
    private void copy(Path from, Path to) throws Exception {
        Path packed = Files.createTempFile(Path.of("/var/tmp"), "preemptible-packed", ".tar");
        Path copied = Files.createTempFile(Path.of("/var/tmp"), "preemptible-copied", ".tar");
        try {
            tar("-C", from.toString(), "-cf", packed.toString(), ".");
            node("A").createPath(packed.toString()).copyTo(node("B").createPath(copied.toString()));
            // The last pieces may still be on their way.
            await("the copy")
                    .atMost(LONG)
                    .pollDelay(Duration.ZERO)
                    .pollInterval(Duration.ofMillis(1))
                    .until(() -> Files.size(copied) == Files.size(packed));
            Files.createDirectories(to);
            tar("-C", to.toString(), "-xf", copied.toString());
        } finally {
            Files.delete(packed);
            Files.delete(copied);
        }
    }

    private static void tar(String... words) {
        List<String> command = new ArrayList<>(List.of("tar"));
        command.addAll(List.of(words));
        HostTool.Answer answer = HostTool.run(60, command);
        if (!answer.ok()) {
            throw new AssertionError(answer);
        }
    }

    private Node node(String name) {
        return j.jenkins.getNode(name);
    }

    private static Samples samples(List<Moved> moves, ToDoubleFunction<Moved> part) {
        return new Samples("ms", moves.stream().map(part::applyAsDouble).toList());
    }

    /** From the agent where it is to the other one, which then is the only one that takes builds. */
    private Moved move(WorkflowRun stage) throws Exception {
        Rig.awaitCounting(stage);
        String from = only().node();
        Computer computer = j.jenkins.getComputer(from);
        long began = System.nanoTime();
        AgentVerbs.drain(computer);
        long frozen = until(known -> known.state() == StageState.SUSPENDED);
        long sealed = until(known -> known.state() != StageState.SUSPENDED || !known.frozen());
        long runs = until(
                known -> known.state() == StageState.RUNNING && !known.node().equals(from));
        AgentVerbs.undrain(computer);
        await(from + " is clean").atMost(LONG).until(() -> hosts.stages(from) == 0);
        return new Moved(millis(frozen - began), millis(sealed - frozen), millis(runs - sealed));
    }

    private static double millis(long nanos) {
        return nanos / 1e6;
    }

    private static StageRecord only() {
        return StageRegistry.get().all().iterator().next();
    }

    private static long until(Predicate<StageRecord> is) throws InterruptedException {
        long limit = System.nanoTime() + LONG.toNanos();
        while (!is.test(only())) {
            if (System.nanoTime() > limit) {
                throw new AssertionError("the stage is " + only());
            }
            Thread.sleep(Duration.ofMillis(2).toMillis());
        }
        return System.nanoTime();
    }
}
