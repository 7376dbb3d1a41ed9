package io.jenkins.plugins.preemptible.engine.bench;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.live.Bases;
import io.jenkins.plugins.preemptible.engine.live.LiveImage;
import io.jenkins.plugins.preemptible.engine.live.LiveRequest;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** What a checkpoint costs a stage that keeps running: the work that it does not get done, against its interval. */
final class CheckpointBenchmark implements Benchmark {

    private static final int MEGABYTES = 500;
    private static final int MEGABYTES_A_SECOND = 10;
    private static final int MEGABYTES_WRITTEN = 50;
    /** Of its running time. */
    private static final double ALLOWED = 0.02;

    private static final int SHORTEST_SECONDS = 5 * 60;
    private static final int USUAL_SECONDS = 30 * 60;

    @Override
    public String name() {
        return "checkpoint";
    }

    /** What one kind of checkpoint took. */
    private static final class Kind {
        final List<Double> lost = new ArrayList<>();
        final List<Double> stopped = new ArrayList<>();
        final List<Double> sealed = new ArrayList<>();
        final List<Double> cpu = new ArrayList<>();
        final List<Double> whole = new ArrayList<>();
    }

    @Override
    public Result run(BenchRig rig) throws Exception {
        Path count = rig.work.resolve("count");
        StageId id = rig.start(List.of(
                rig.compiled("load").toString(),
                Integer.toString(MEGABYTES),
                Integer.toString(MEGABYTES_A_SECOND),
                count.toString(),
                Integer.toString(MEGABYTES_WRITTEN)));
        Kind full = new Kind();
        Kind difference = new Kind();
        Kind written = new Kind();
        try {
            BenchRig.until("its memory is filled", () -> read(count) > 0);
            Path base = rig.archive("base");
            take(rig, id, count, base, Bases.NONE, new Kind());
            Bases earlier = new Bases(base.getFileName().toString(), null, Set.of());
            for (int i = 0; i < rig.runs; i++) {
                take(rig, id, count, rig.archive("full"), new Bases(null, null, Set.of(earlier.image())), full);
                LiveImage made = take(rig, id, count, rig.archive("difference"), earlier, difference);
                if (!made.imageDiffers() || made.wholeWhy() != null) {
                    throw new IOException("it is not a difference, or was not copied: " + made);
                }
            }
            Files.writeString(
                    new StageFolder(rig.folder.resolve("home/stages").resolve(id.value())).wholeDump(),
                    "it is compared");
            for (int i = 0; i < rig.runs; i++) {
                take(rig, id, count, rig.archive("written"), Bases.NONE, written);
            }
        } finally {
            rig.end(id);
        }
        Samples work = new Samples("s", difference.lost);
        String what = MEGABYTES + " MB, " + MEGABYTES_A_SECOND + " MB/s dirtied, ";
        return new Result(
                name(),
                "What does a checkpoint cost a stage that keeps running?",
                List.of(
                        new Row(
                                what + "work lost, to 2 % of 30 min",
                                work,
                                Samples.of("s", ALLOWED * USUAL_SECONDS),
                                1.0),
                        new Row(
                                what + "work lost, to 2 % of 5 min",
                                work,
                                Samples.of("s", ALLOWED * SHORTEST_SECONDS),
                                1.0),
                        row(
                                what + "stood still, to CRIU writing all memory",
                                "ms",
                                difference.stopped,
                                written.stopped),
                        row(what + "sealed as a difference, to a full one", "MB", difference.sealed, full.sealed),
                        row(what + "CPU of the engine, to a full one", "s", difference.cpu, full.cpu),
                        row(what + "begin to both archives, to a full one", "s", difference.whole, full.whole)),
                List.of(),
                List.of(
                        "*Work lost*: the time of a checkpoint, less the time that the work done meanwhile takes without one. "
                                + MEGABYTES_WRITTEN + " MB of the memory are written to in turn."));
    }

    private static Row row(String what, String unit, List<Double> own, List<Double> other) {
        return new Row(what, new Samples(unit, own), new Samples(unit, other), null);
    }

    private static LiveImage take(BenchRig rig, StageId id, Path count, Path archive, Bases earlier, Kind kind)
            throws Exception {
        LiveRequest request = LiveRequest.of(archive, rig.archive("files"), rig.key, List.of(rig.work));
        double cpu = cpuSeconds();
        long[] before = new long[] {System.nanoTime(), read(count)};
        LiveImage made = rig.engine.checkpoint(id, request.against(earlier));
        long[] after = new long[] {System.nanoTime(), read(count)};
        double seconds = (after[0] - before[0]) / 1e9;
        kind.cpu.add(cpuSeconds() - cpu);
        // The same time without one, so that a slow minute hits both.
        Thread.sleep((long) (seconds * 1000));
        double usual = (read(count) - after[1]) / ((System.nanoTime() - after[0]) / 1e9);
        kind.lost.add(seconds - (after[1] - before[1]) / usual);
        kind.stopped.add((double) made.stopMillis());
        kind.sealed.add((made.archiveBytes() + made.luggageBytes()) / 1e6);
        kind.whole.add(seconds);
        return made;
    }

    private static double cpuSeconds() {
        return ManagementFactory.getPlatformMXBean(com.sun.management.OperatingSystemMXBean.class)
                        .getProcessCpuTime()
                / 1e9;
    }

    private static long read(Path count) {
        try {
            byte[] bytes = Files.readAllBytes(count);
            return bytes.length < Long.BYTES
                    ? 0
                    : ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder()).getLong();
        } catch (IOException e) {
            return 0;
        }
    }
}
