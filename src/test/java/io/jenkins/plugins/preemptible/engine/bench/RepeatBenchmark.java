package io.jenkins.plugins.preemptible.engine.bench;

import io.jenkins.plugins.preemptible.engine.api.Extent;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.SuspendReport;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A second suspension after 5 % of the pages changed, against the first one of the same stage. */
final class RepeatBenchmark implements Benchmark {

    private static final long MEGABYTES = 256;

    @Override
    public String name() {
        return "repeat";
    }

    @Override
    public Result run(BenchRig rig) throws Exception {
        List<Double> firstBytes = new ArrayList<>();
        List<Double> secondBytes = new ArrayList<>();
        List<Double> firstMillis = new ArrayList<>();
        List<Double> secondMillis = new ArrayList<>();
        for (int i = 0; i <= rig.runs; i++) {
            Path full = rig.archive("first");
            Path difference = rig.archive("second");
            Files.deleteIfExists(full);
            Files.deleteIfExists(difference);
            StageId id = rig.holding(1, MEGABYTES);
            try {
                SuspendReport first = rig.engine.suspend(id, full, rig.key);
                rig.engine.resume(full, rig.key);
                ProcessHandle.of(rig.engine.status(id).initPid()).stream()
                        .flatMap(ProcessHandle::descendants)
                        .forEach(p -> signal(p.pid()));
                Thread.sleep(1000);
                SuspendReport second = rig.engine.suspend(id, difference, rig.key, Extent.DIFFERENCE);
                if (i > 0) {
                    firstBytes.add(first.checkpoint().archiveBytes() / 1e6);
                    secondBytes.add(second.checkpoint().archiveBytes() / 1e6);
                    firstMillis.add((double) first.checkpoint().archiveMillis());
                    secondMillis.add((double) second.checkpoint().archiveMillis());
                }
            } finally {
                rig.end(id);
            }
        }
        return new Result(
                name(),
                "How large is the second archive after 5 % of " + MEGABYTES + " MB changed, against the first?",
                List.of(
                        new Row("size", new Samples("MB", secondBytes), new Samples("MB", firstBytes), 0.10),
                        new Row("packing time", new Samples("ms", secondMillis), new Samples("ms", firstMillis), null)),
                List.of(),
                List.of("Not measured: other shares than 5 % and other sizes, a third suspension, going on "
                        + "from the second archive."));
    }

    private static void signal(long pid) {
        try {
            RawCriu.run(List.of("kill", "-USR1", Long.toString(pid)));
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
