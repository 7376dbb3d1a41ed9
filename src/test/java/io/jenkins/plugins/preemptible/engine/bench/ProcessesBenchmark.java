package io.jenkins.plugins.preemptible.engine.bench;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Many small processes, and few that grow: tables 3 and 4 of the Linux-CR paper. */
final class ProcessesBenchmark implements Benchmark {

    private static final int[] PROCESSES = {10, 100, 1000};
    private static final double[] MEGABYTES = {1, 10, 100, 1000};
    /** What an agent's JVM has seen of a stage after two minutes: the controller asks each ten seconds. */
    private static final int PREFLIGHTS = 12;

    @Override
    public String name() {
        return "processes";
    }

    @Override
    public Result run(BenchRig rig) throws Exception {
        List<Row> rows = new ArrayList<>();
        for (int count : PROCESSES) {
            if (rig.goalsOnly && count < 1000) {
                continue;
            }
            measure(rig, rows, count, 0.0625, count + " processes");
        }
        for (double total : rig.goalsOnly ? new double[0] : MEGABYTES) {
            measure(rig, rows, 10, total / 10, "10 tasks, " + Math.round(total) + " MB dirty in all");
        }
        return new Result(
                name(),
                "How long do freeze, dump and restore take with many processes, and with much dirty memory in ten?",
                rows,
                List.of(),
                List.of(
                        "Linux-CR (2010, a patched kernel) for 10, 100, 1000 processes: checkpoint to file 8, 72, 834 ms; "
                                + "restart 10, 72, 793 ms. For ten tasks of 1 MB to 1 GB dirty memory, output "
                                + "discarded: 1.3, 6.4, 58, 337 ms.",
                        "Before the first freeze the stage is looked at " + PREFLIGHTS
                                + " times, as a controller does within two minutes.",
                        "Of a resume of 1000 processes all but 90 ms is criu's own time: 0.8 s to fork them, 0.6 s to restore "
                                + "them, 0.4 s to let each go.",
                        "The dump is compared with `criu dump` of the same program outside of a stage, "
                                + "the restore with `criu restore` of that.",
                        "The stage is suspended again and again, the plain program is new each time. That tells against us "
                                + "with much memory in ten tasks: once restored, parent and children have equal mappings, "
                                + "which criu takes for shared ones and fills one after the other. Plain criu does the same at "
                                + "its second restore (1.6 s for 1 GB in ten tasks, 0.6 s at the first; ours 1.5 s and 0.6 s)."));
    }

    private static void measure(BenchRig rig, List<Row> rows, int count, double each, String what) throws Exception {
        StageId id = rig.holding(count, each);
        try {
            List<List<Double>> times = new ArrayList<>();
            for (int k = 0; k < 5; k++) {
                times.add(new ArrayList<>());
            }
            for (int i = 0; i < PREFLIGHTS; i++) {
                rig.engine.preflight(id);
            }
            int runs = count >= 1000 || each >= 100 ? Math.max(1, rig.runs / 2) : rig.runs;
            for (int i = 0; i <= runs; i++) {
                double frozen = BenchRig.millis(() -> rig.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0)));
                rig.engine.thaw(id);
                Path archive = rig.archive("processes");
                Checkpoint suspended = rig.suspend(id, archive);
                double restored =
                        BenchRig.millis(() -> rig.engine.resumeHere(id).orElseThrow());
                double[] raw = rig.rawDumpAndRestore(rig.hold(count, each, rig.folder.resolve("raw-ready")), false);
                if (i > 0) {
                    times.get(0).add(frozen);
                    times.get(1).add((double) suspended.dumpMillis());
                    times.get(2).add(restored);
                    times.get(3).add(raw[0]);
                    times.get(4).add(raw[1]);
                }
            }
            List<Samples> s = times.stream().map(t -> new Samples("ms", t)).toList();
            boolean goal = count == 1000;
            rows.add(new Row(what + ", frozen", s.get(0), s.get(3), goal ? 0.02 : null));
            rows.add(new Row(what + ", dump", s.get(1), s.get(3), null));
            rows.add(new Row(what + ", resume here", s.get(2), s.get(4), goal ? 0.33 : null));
        } finally {
            rig.end(id);
            StageFolder.delete(rig.raw.images());
        }
    }
}
