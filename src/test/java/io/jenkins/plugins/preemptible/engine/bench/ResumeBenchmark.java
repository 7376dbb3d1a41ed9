package io.jenkins.plugins.preemptible.engine.bench;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Going on from each tier, against a plain restore of the same memory. */
final class ResumeBenchmark implements Benchmark {

    private static final long[] MEGABYTES = {16, 256, 1400};

    @Override
    public String name() {
        return "resume";
    }

    @Override
    public Result run(BenchRig rig) throws Exception {
        List<Row> rows = new ArrayList<>();
        List<Curve> curves = new ArrayList<>();
        List<List<Double>> medians =
                List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        List<Double> sizes = new ArrayList<>();
        for (long size : MEGABYTES) {
            if (rig.goalsOnly && size == 256) {
                continue;
            }
            List<Samples> each = measure(rig, size);
            boolean goal = size == 1400;
            rows.add(new Row(size + " MB, frozen", each.get(0), each.get(3), goal ? 1 / 20.0 : null));
            rows.add(new Row(
                    size + " MB, local image", each.get(1), each.get(3), goal ? 1.15 : size == 16 ? 1.4 : null));
            rows.add(new Row(
                    size + " MB, archive, to unpacked and restored", each.get(2), each.get(4), goal ? 1.0 : null));
            sizes.add((double) size);
            for (int i = 0; i < 4; i++) {
                medians.get(i).add(each.get(i).median());
            }
        }
        String[] names = {"frozen", "local image", "archive", "criu restore"};
        for (int i = 0; i < 4; i++) {
            curves.add(new Curve(names[i], sizes, medians.get(i)));
        }
        return new Result(
                name(),
                "How long until the stage runs again, from each tier, against `criu restore`?",
                rows,
                List.of(new Plot("resume", "Resume", "memory (MB)", "ms", true, true, curves)),
                List.of(
                        "*Unpacked and restored*: `zstd -d | tar x` of what `tar | zstd -1 -T2` packed, then `criu restore`. It checks "
                                + "nothing that it unpacks; ours is authenticated and compared with its digests.",
                        rig.raw.kernelFeatures(),
                        "Where 60 ms of a resume of 16 MB from the local image went, as the kernel's events told it on an idle processor: 41 in "
                                + "criu (of them 23 to find out what the kernel can do; 12 more than for the plain process, for "
                                + "a mount and a PID namespace and two tmpfs), 7 to start setsid, unshare, mount and two shells, 6 to move into the control group, "
                                + "for which the kernel waits for every processor, 6 in the JVM.",
                        "Not measured: fetching the image from the artifacts, a cold page cache, going on "
                                + "from an image that is a difference, other programs on the machine."));
    }

    private static List<Samples> measure(BenchRig rig, long megabytes) throws Exception {
        StageId id = rig.holding(1, megabytes);
        try {
            List<List<Double>> times = List.of(
                    new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
            for (int i = 0; i <= rig.runsFor(megabytes); i++) {
                double[] now = new double[5];
                rig.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
                now[0] = BenchRig.millis(() -> require(
                        Tier.FROZEN, rig.engine.resumeHere(id).orElseThrow().tier()));
                Path archive = rig.archive("resume");
                rig.suspend(id, archive);
                now[1] = BenchRig.millis(() -> require(
                        Tier.LOCAL_IMAGE,
                        rig.engine.resumeHere(id).orElseThrow().tier()));
                rig.suspend(id, archive);
                StageFolder.delete(rig.folder.resolve("home/stages/" + id + "/images"));
                now[2] = BenchRig.millis(() -> require(
                        Tier.ARCHIVE, rig.engine.resume(archive, rig.key).tier()));
                double[] raw = rig.rawDumpAndRestore(rig.hold(1, megabytes, rig.folder.resolve("raw-ready")), true);
                now[3] = raw[1];
                now[4] = raw[1] + raw[2];
                if (i > 0) {
                    for (int k = 0; k < now.length; k++) {
                        times.get(k).add(now[k]);
                    }
                }
            }
            return times.stream().map(t -> new Samples("ms", t)).toList();
        } finally {
            rig.end(id);
            rig.raw.clear();
        }
    }

    private static void require(Tier wanted, Tier served) {
        if (wanted != served) {
            throw new IllegalStateException("served from " + served + " in place of " + wanted);
        }
    }
}
