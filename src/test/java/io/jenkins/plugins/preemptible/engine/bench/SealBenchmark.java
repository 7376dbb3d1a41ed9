package io.jenkins.plugins.preemptible.engine.bench;

import io.jenkins.plugins.preemptible.engine.DumpGuard;
import io.jenkins.plugins.preemptible.engine.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
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
            measure(rig, size, rows);
        }
        return new Result(
                name(),
                "How long from frozen to a sealed archive (digests, zstd, AES-GCM, synced), against `criu dump`, then "
                        + "`tar | zstd -1 -T2` (not synced)?",
                rows,
                List.of(),
                List.of(
                        "Ours runs at the priority that it has while somebody waits, not at the idle one.",
                        "Not measured: the idle priority beside a preemptor that works, the way to the controller and its "
                                + "artifacts, 4096 MB."));
    }

    private static void measure(BenchRig rig, long megabytes, List<Row> rows) throws Exception {
        StageId id = rig.holding(1, megabytes);
        Path ready = rig.folder.resolve("raw-ready");
        Process raw = rig.raw.start(rig.hold(1, megabytes, ready));
        try {
            BenchRig.until("raw memory filled", () -> Files.exists(ready));
            List<Double> ours = new ArrayList<>();
            List<Double> raws = new ArrayList<>();
            List<Double> ourBytes = new ArrayList<>();
            List<Double> rawBytes = new ArrayList<>();
            for (int i = 0; i <= rig.runsFor(megabytes); i++) {
                Path archive = rig.archive("seal");
                Files.deleteIfExists(archive);
                // A floor that no host has: the caller waits for the dump, which is then not an idle one.
                rig.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, Long.MAX_VALUE));
                double sealed = BenchRig.millis(
                        () -> rig.engine.dump(id, archive, rig.key, IfDumpFails.THAW));
                long size = Files.size(archive);
                rig.engine.thaw(id);
                rig.raw.clear();
                Path[] packed = new Path[1];
                double piped = BenchRig.millis(() -> {
                    rig.raw.dump(raw.pid(), true);
                    packed[0] = rig.raw.pack();
                });
                if (i > 0) {
                    ours.add(sealed);
                    raws.add(piped);
                    ourBytes.add(size / 1e6);
                    rawBytes.add(Files.size(packed[0]) / 1e6);
                }
                Files.delete(packed[0]);
            }
            rows.add(new Row(megabytes + " MB, time", new Samples("ms", ours), new Samples("ms", raws),
                    megabytes == 1400 ? 1.0 : null));
            rows.add(new Row(megabytes + " MB, size", new Samples("MB", ourBytes), new Samples("MB", rawBytes), null));
        } finally {
            raw.destroyForcibly().waitFor();
            rig.end(id);
            rig.raw.clear();
        }
    }
}
