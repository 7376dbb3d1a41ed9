package io.jenkins.plugins.preemptible.engine.bench;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.live.LiveImage;
import io.jenkins.plugins.preemptible.engine.live.LiveRequest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** What a checkpoint costs a stage that keeps running: the work that it does not get done, against its interval. */
final class CheckpointBenchmark implements Benchmark {

    private static final int MEGABYTES = 500;
    private static final int MEGABYTES_A_SECOND = 10;
    /** Of its running time. */
    private static final double ALLOWED = 0.02;

    private static final int SHORTEST_SECONDS = 5 * 60;
    private static final int USUAL_SECONDS = 30 * 60;

    @Override
    public String name() {
        return "checkpoint";
    }

    @Override
    public Result run(BenchRig rig) throws Exception {
        Path count = rig.work.resolve("count");
        StageId id = rig.start(List.of(
                rig.compiled("load").toString(),
                Integer.toString(MEGABYTES),
                Integer.toString(MEGABYTES_A_SECOND),
                count.toString()));
        List<Double> lost = new ArrayList<>();
        List<Double> stopped = new ArrayList<>();
        List<Double> whole = new ArrayList<>();
        try {
            BenchRig.until("its memory is filled", () -> read(count) > 0);
            for (int i = 0; i <= rig.runs; i++) {
                long[] before = new long[] {System.nanoTime(), read(count)};
                LiveImage made = rig.engine.checkpoint(
                        id,
                        LiveRequest.of(rig.archive("checkpoint"), rig.archive("files"), rig.key, List.of(rig.work)));
                long[] after = new long[] {System.nanoTime(), read(count)};
                double seconds = (after[0] - before[0]) / 1e9;
                // The same time without one, so that a slow minute hits both.
                Thread.sleep((long) (seconds * 1000));
                double usual = (read(count) - after[1]) / ((System.nanoTime() - after[0]) / 1e9);
                if (i > 0) {
                    lost.add(seconds - (after[1] - before[1]) / usual);
                    stopped.add((double) made.stopMillis());
                    whole.add(seconds);
                }
            }
        } finally {
            rig.end(id);
        }
        Samples work = new Samples("s", lost);
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
                        new Row(what + "stood still", new Samples("ms", stopped), null, null),
                        new Row(what + "from its begin to both archives", new Samples("s", whole), null, null)),
                List.of(),
                List.of(
                        "*Work lost*: the time of a checkpoint, less the time that the work done meanwhile takes without one."));
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
