package io.jenkins.plugins.preemptible.engine.bench;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.TrialResult;
import io.jenkins.plugins.preemptible.engine.api.TrialVerdict;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.move.Luggage;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.trial.TrialElsewhere;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * From one agent's home to another one's, the whole way: what a controller lets the two do, but without its connections.
 *
 * <ol>
 *   <li>Two home folders stand for two agents, a third folder for the build's artifacts. The workspace lies at the one path
 *       that both agents use; on the second it is made anew.
 *   <li>Plain criu gets the same: a dump, a copy of image and workspace, a restore.
 * </ol>
 */
final class MoveBenchmark implements Benchmark {

    private static final int SMALL = 16;
    private static final int LARGE = 500;
    private static final double MOST_MILLIS = 1000;
    private static final double MOST_RATIO = 1.5;
    private static final int PIECE = 4 << 20;
    private static final int BEGINNING = 2 << 20;

    private static final String FROZEN = "frozen, dumped, tried and sealed";
    private static final String PACKED = "workspace packed";
    private static final String COMMITTED = "ended on the old agent";
    private static final String STORED = "stored, fetched (two copies)";
    private static final String TRIED = "tried on the new agent";
    private static final String UNPACKED = "workspace unpacked";
    private static final String RESUMED = "unpacked and restored";

    @Override
    public String name() {
        return "move";
    }

    @Override
    public Result run(BenchRig rig) throws Exception {
        List<Row> rows = new ArrayList<>();
        for (int size : new int[] {SMALL, LARGE}) {
            measure(rig, size, rows);
        }
        return new Result(
                name(),
                "How long from a running stage on one agent to a running stage on another, against `criu dump`, `cp -a` of image "
                        + "and workspace, `criu restore`?",
                rows,
                List.of(),
                List.of(
                        "On one machine: two agents' home folders, and one that stands for the build's artifacts. The workspace "
                                + "has a tenth of the memory's size, in files of 64 KB. Its path is the same on both agents, so it is made "
                                + "anew in its own place.",
                        "One step after the other, at normal priority, with the trial on both agents and everything forced to disk "
                                + "that has to be. Plain criu forces nothing to disk.",
                        "Load average of the machine at the end, with this: "
                                + Math.round(ManagementFactory.getOperatingSystemMXBean()
                                        .getSystemLoadAverage())
                                + ". Above the number of processors the steps that use several threads lose most.",
                        "Not measured: connections between controller and agents, two machines."));
    }

    private static void measure(BenchRig rig, int megabytes, List<Row> rows) throws Exception {
        Path workspace = Files.createDirectory(rig.folder.resolve("workspace-" + megabytes));
        RawMove move = new RawMove(rig, megabytes);
        move.fill(workspace);
        Map<String, List<Double>> steps = new LinkedHashMap<>();
        List<Double> ours = new ArrayList<>();
        List<Double> raws = new ArrayList<>();
        for (int i = 0; i <= rig.runs; i++) {
            RawCriu.run(List.of("sync"));
            Map<String, Double> taken = moved(rig, move, workspace);
            RawCriu.run(List.of("sync"));
            double raw = move.millis(workspace);
            if (i > 0) {
                ours.add(
                        taken.values().stream().mapToDouble(Double::doubleValue).sum());
                taken.forEach((step, millis) ->
                        steps.computeIfAbsent(step, s -> new ArrayList<>()).add(millis));
                raws.add(raw);
            }
        }
        String what = megabytes + " MB, ";
        if (megabytes == SMALL) {
            rows.add(new Row(what + "to allowed", new Samples("ms", ours), Samples.of("ms", MOST_MILLIS), 1.0));
        }
        rows.add(new Row(
                what + "to plain criu",
                new Samples("ms", ours),
                new Samples("ms", raws),
                megabytes == LARGE ? MOST_RATIO : null));
        steps.forEach((step, millis) -> rows.add(new Row(what + step, new Samples("ms", millis), null, null)));
        StageFolder.delete(workspace);
    }

    /** Milliseconds of each step. */
    private static Map<String, Double> moved(BenchRig rig, RawMove move, Path workspace) throws Exception {
        Path homes = Files.createTempDirectory(rig.folder, "agents");
        Engine from = Engine.open(homes.resolve("from"));
        Engine to = Engine.open(homes.resolve("to"));
        Criu criu = new CriuSearch().usable().orElseThrow();
        StageId id = StageId.create("bench");
        try {
            start(move, from, id, workspace);
            Path image = homes.resolve("from/image");
            Path luggage = homes.resolve("from/luggage");
            Path fetched = homes.resolve("to/image");
            Path brought = homes.resolve("to/luggage");
            Map<String, Double> steps = new LinkedHashMap<>();
            steps.put(FROZEN, BenchRig.millis(() -> {
                from.freeze(id, new FreezeRequest(DumpGuard.NONE, Long.MAX_VALUE));
                from.dump(id, image, rig.key, IfDumpFails.THAW);
            }));
            steps.put(PACKED, BenchRig.millis(() -> Luggage.pack(id, List.of(workspace), luggage, rig.key)));
            steps.put(COMMITTED, BenchRig.millis(() -> from.commit(id)));
            steps.put(STORED, BenchRig.millis(() -> {
                for (Path each : List.of(image, luggage)) {
                    Path stored = homes.resolve("stored");
                    copy(each, stored);
                    copy(stored, each.equals(image) ? fetched : brought);
                }
            }));
            TrialResult[] tried = new TrialResult[1];
            steps.put(TRIED, BenchRig.millis(() -> {
                Path beginning = homes.resolve("to/beginning");
                try (InputStream in = Files.newInputStream(fetched)) {
                    Files.write(beginning, in.readNBytes(BEGINNING));
                }
                try (TrialElsewhere trial = TrialElsewhere.open(id, beginning, rig.key, homes.resolve("to/trial"))) {
                    tried[0] = trial.run(List.of(workspace), path -> false, criu);
                }
            }));
            if (tried[0].verdict() != TrialVerdict.PASSED) {
                throw new IOException("the trial did not pass: " + tried[0]);
            }
            steps.put(
                    UNPACKED,
                    BenchRig.millis(() -> Luggage.unpack(
                            homes.resolve("to"),
                            id,
                            List.of(workspace),
                            brought,
                            rig.key,
                            homes.resolve("to/unpacked"))));
            steps.put(RESUMED, BenchRig.millis(() -> to.resume(fetched, rig.key)));
            return steps;
        } finally {
            for (Engine each : List.of(from, to)) {
                each.list().forEach(stage -> {
                    each.kill(stage.id());
                    each.forget(stage.id());
                });
            }
            StageFolder.delete(homes);
        }
    }

    // As a step of a Pipeline: in a sandbox, whose home need not have one path on both agents.
    private static void start(RawMove move, Engine engine, StageId id, Path workspace) throws Exception {
        engine.start(new StageSpec(id, "bench", workspace, List.of(), Map.of("PATH", System.getenv("PATH"))));
        Path ready = workspace.resolve("ready");
        List<String> command = new ArrayList<>(engine.enterCommand(id).words());
        command.addAll(List.of("/bin/sh", "-c", "\"$@\" > log 2>&1 < /dev/null &", "step"));
        command.addAll(move.hold(ready));
        new ProcessBuilder(command)
                .directory(workspace.toFile())
                .redirectInput(new File("/dev/null"))
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start()
                .waitFor();
        BenchRig.until("memory filled", () -> Files.exists(ready));
    }

    private static void copy(Path from, Path to) throws IOException {
        try (InputStream in = Files.newInputStream(from);
                OutputStream out = Files.newOutputStream(to)) {
            byte[] piece = new byte[PIECE];
            int length;
            while ((length = in.readNBytes(piece, 0, PIECE)) > 0) {
                out.write(piece, 0, length);
            }
        }
    }
}
