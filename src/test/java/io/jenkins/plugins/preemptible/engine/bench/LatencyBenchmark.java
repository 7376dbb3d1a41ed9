package io.jenkins.plugins.preemptible.engine.bench;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import java.util.ArrayList;
import java.util.List;

/** How long a preemptor waits for the executor: ours is the freeze with all that is looked at before it. */
final class LatencyBenchmark implements Benchmark {

    private static final long[] MEGABYTES = {16, 64, 256, 1400, 4096};

    @Override
    public String name() {
        return "latency";
    }

    @Override
    public Result run(BenchRig rig) throws Exception {
        List<Row> rows = new ArrayList<>();
        List<Double> sizes = new ArrayList<>();
        List<Double> ours = new ArrayList<>();
        List<Double> raws = new ArrayList<>();
        Samples smallest = null;
        for (long size : MEGABYTES) {
            if (rig.goalsOnly && size != 16 && size != 1400) {
                continue;
            }
            Samples[] both = measure(rig, size);
            rows.add(new Row(size + " MB", both[0], both[1], size == 1400 ? 1 / 20.0 : null));
            if (smallest == null) {
                smallest = both[0];
            }
            if (size == 1400) {
                rows.add(new Row("1400 MB against our 16 MB", both[0], smallest, 2.0));
            }
            sizes.add((double) size);
            ours.add(both[0].median());
            raws.add(both[1].median());
        }
        return new Result(
                name(),
                "How long until the executor can be given away, against `criu dump` of the same memory?",
                rows,
                List.of(new Plot(
                        "latency",
                        "Suspend latency",
                        "memory (MB)",
                        "ms",
                        true,
                        true,
                        List.of(new Curve("preemptible: frozen", sizes, ours), new Curve("criu dump", sizes, raws)))),
                List.of("Not measured: what the controller and the connection to the agent add, more than one "
                        + "process, other programs on the machine, an agent short of memory (there the executor "
                        + "is free only after the seal)."));
    }

    private static Samples[] measure(BenchRig rig, long megabytes) throws Exception {
        StageId id = rig.holding(1, megabytes);
        java.nio.file.Path ready = rig.folder.resolve("raw-ready");
        Process raw = rig.raw.start(rig.hold(1, megabytes, ready));
        try {
            BenchRig.until("raw memory filled", () -> java.nio.file.Files.exists(ready));
            List<Double> ours = new ArrayList<>();
            List<Double> raws = new ArrayList<>();
            for (int i = 0; i <= rig.runsFor(megabytes); i++) {
                double frozen = BenchRig.millis(() -> rig.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0)));
                rig.engine.thaw(id);
                rig.raw.clear();
                double dumped = BenchRig.millis(() -> rig.raw.dump(raw.pid(), true));
                // The first of each warms up: classes are loaded, files are in the cache.
                if (i > 0) {
                    ours.add(frozen);
                    raws.add(dumped);
                }
            }
            return new Samples[] {new Samples("ms", ours), new Samples("ms", raws)};
        } finally {
            raw.destroyForcibly().waitFor();
            rig.end(id);
            rig.raw.clear();
        }
    }
}
