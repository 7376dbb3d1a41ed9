package io.jenkins.plugins.preemptible.engine.bench;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** From frozen to a sealed file on disk, against the shell line that does neither digests nor encryption. */
final class SealBenchmark implements Benchmark {

    private static final long[] MEGABYTES = {16, 256, 1400};

    @Override
    public String name() {
        return "seal";
    }

    @Override
    public Result run(BenchRig rig) throws Exception {
        List<Row> rows = new ArrayList<>();
        for (long size : MEGABYTES) {
            if (rig.goalsOnly && size == 256) {
                continue;
            }
            measure(rig, size, rows);
        }
        return new Result(
                name(),
                "How long from frozen to a sealed archive (digests, zstd, AES-GCM, synced), against `criu dump`, then "
                        + "`tar | zstd -1 -T2`?",
                rows,
                List.of(),
                List.of(
                        "*Synced*: the file that zstd wrote and its folder are forced to disk as ours are; in the other "
                                + "line they are not.",
                        "The trial of the image has rows of its own, and a goal of its own; plain criu has none. Before each run "
                                + "the file systems are synced.",
                        "Ours runs at the priority that it has while somebody waits, not at the idle one.",
                        "Not measured: the idle priority beside a preemptor that works, the way to the controller and its "
                                + "artifacts, 4096 MB."));
    }

    // What the other side has left to be written would be waited for by this one.
    private static BenchRig.Sealed sealed(BenchRig rig, StageId id, Path archive) throws Exception {
        RawCriu.run(List.of("sync"));
        BenchRig.Sealed sealed = rig.seal(id, archive);
        rig.engine.thaw(id);
        return sealed;
    }

    private static void measure(BenchRig rig, long megabytes, List<Row> rows) throws Exception {
        StageId id = rig.holding(1, megabytes);
        Path ready = rig.folder.resolve("raw-ready");
        Process raw = rig.raw.start(rig.hold(1, megabytes, ready));
        try {
            BenchRig.until("raw memory filled", () -> Files.exists(ready));
            List<Double> ours = new ArrayList<>();
            List<Double> untried = new ArrayList<>();
            List<Double> raws = new ArrayList<>();
            List<Double> synced = new ArrayList<>();
            List<Double> ourBytes = new ArrayList<>();
            List<Double> rawBytes = new ArrayList<>();
            for (int i = 0; i <= rig.runsFor(megabytes); i++) {
                rig.raw.clear();
                Path archive = rig.archive("seal");
                BenchRig.Sealed sealed = sealed(rig, id, archive);
                BenchRig.Sealed unsure = TrialBenchmark.withoutTrial(() -> sealed(rig, id, archive));
                RawCriu.run(List.of("sync"));
                Path[] packed = new Path[1];
                double piped = BenchRig.millis(() -> {
                    rig.raw.dump(raw.pid(), true);
                    packed[0] = rig.raw.pack();
                });
                double forced = BenchRig.millis(() -> RawCriu.sync(packed[0]));
                if (i > 0) {
                    ours.add(sealed.millis());
                    untried.add(unsure.millis());
                    raws.add(piped);
                    synced.add(piped + forced);
                    ourBytes.add(sealed.checkpoint().archiveBytes() / 1e6);
                    rawBytes.add(Files.size(packed[0]) / 1e6);
                }
                Files.delete(packed[0]);
            }
            rows.add(new Row(megabytes + " MB, time", new Samples("ms", ours), new Samples("ms", raws), null));
            rows.add(new Row(
                    megabytes + " MB, time, to synced",
                    new Samples("ms", ours),
                    new Samples("ms", synced),
                    megabytes == 1400 ? 1.0 : null));
            rows.add(new Row(
                    megabytes + " MB, time without the trial",
                    new Samples("ms", untried),
                    new Samples("ms", raws),
                    megabytes == 16 ? 1.3 : null));
            rows.add(new Row(megabytes + " MB, size", new Samples("MB", ourBytes), new Samples("MB", rawBytes), null));
        } finally {
            raw.destroyForcibly().waitFor();
            rig.end(id);
            rig.raw.clear();
        }
    }
}
