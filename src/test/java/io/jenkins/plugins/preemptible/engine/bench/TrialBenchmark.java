package io.jenkins.plugins.preemptible.engine.bench;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.TrialResult;
import io.jenkins.plugins.preemptible.engine.api.TrialVerdict;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

/** What it costs to try an image beside its frozen tree: time, time until it is sealed, and memory. */
final class TrialBenchmark implements Benchmark {

    private static final int SMALL = 16;
    private static final int LARGE = 1400;
    /** Switches trials off, see {@code engine.trial.ImageTrial}. */
    private static final String SETTING = "PREEMPTIBLE_TRIAL";

    /** What is wanted of a trial. */
    private static final double MOST_MILLIS = 200;

    private static final double MOST_MEGABYTES = 20;

    /** Of one size of stage. */
    private record Cost(List<Double> trial, List<Double> with, List<Double> without, List<Double> megabytes) {
        Cost() {
            this(new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        }

        /** Each run with a trial against the one without that followed it. */
        List<Double> added() {
            return IntStream.range(0, with.size())
                    .mapToObj(i -> with.get(i) - without.get(i))
                    .toList();
        }
    }

    @Override
    public String name() {
        return "trial";
    }

    @Override
    public Result run(BenchRig rig) throws Exception {
        List<Row> rows = new ArrayList<>();
        for (int size : new int[] {SMALL, LARGE}) {
            Cost cost = measure(rig, size);
            String what = size + " MB, ";
            rows.add(new Row(
                    what + "added until sealed, to allowed",
                    new Samples("ms", cost.added()),
                    Samples.of("ms", MOST_MILLIS),
                    1.0));
            rows.add(new Row(
                    what + "memory of its processes, to allowed",
                    new Samples("MB", cost.megabytes()),
                    Samples.of("MB", MOST_MEGABYTES),
                    1.0));
            rows.add(new Row(
                    what + "frozen to sealed, to without it",
                    new Samples("ms", cost.with()),
                    new Samples("ms", cost.without()),
                    null));
            rows.add(new Row(what + "from its begin to its end", new Samples("ms", cost.trial()), null, null));
        }
        return new Result(
                name(),
                "What does it cost to try the image before the frozen tree is killed?",
                rows,
                List.of(),
                List.of(
                        "*Added*: a run with the trial less the one without that followed it. The trial runs beside the packing.",
                        "Memory is the proportional set size of every process of the trial, looked at every few ms."));
    }

    private static Cost measure(BenchRig rig, int megabytes) throws Exception {
        Cost cost = new Cost();
        StageId id = rig.holding(1, megabytes);
        try {
            for (int i = 0; i <= rig.runsFor(megabytes); i++) {
                BenchRig.Sealed with = sealed(rig, id);
                requirePassed(with.checkpoint().trial());
                BenchRig.Sealed without = withoutTrial(() -> sealed(rig, id));
                double peak = peakMegabytes(rig, id);
                if (i > 0) {
                    cost.trial().add((double) with.checkpoint().trial().millis());
                    cost.with().add(with.millis());
                    cost.without().add(without.millis());
                    cost.megabytes().add(peak);
                }
            }
        } finally {
            rig.end(id);
        }
        return cost;
    }

    /** Calls it while images are not tried. */
    static <T> T withoutTrial(Callable<T> call) throws Exception {
        System.setProperty(SETTING, "off");
        try {
            return call.call();
        } finally {
            System.clearProperty(SETTING);
        }
    }

    private static void requirePassed(TrialResult trial) throws IOException {
        if (trial.verdict() != TrialVerdict.PASSED || trial.withPages()) {
            throw new IOException("the image did not pass without its pages: " + trial);
        }
    }

    private static BenchRig.Sealed sealed(BenchRig rig, StageId id) throws Exception {
        BenchRig.Sealed sealed = rig.seal(id, rig.archive("trial"));
        rig.engine.thaw(id);
        return sealed;
    }

    // Not in a run that is timed.
    private static double peakMegabytes(BenchRig rig, StageId id) throws Exception {
        Path noted = rig.folder.resolve("home/stages").resolve(id.value()).resolve("trial/group");
        AtomicBoolean ended = new AtomicBoolean();
        AtomicLong peak = new AtomicLong();
        Thread sampler = new Thread(() -> {
            while (!ended.get()) {
                peak.accumulateAndGet(kilobytes(noted), Math::max);
            }
        });
        sampler.start();
        try {
            sealed(rig, id);
        } finally {
            ended.set(true);
            sampler.join();
        }
        return peak.get() / 1e3;
    }

    private static long kilobytes(Path noted) {
        long sum = 0;
        try {
            for (long pid : FreezerKind.at(Files.readString(noted)).pids(null)) {
                sum += Files.readAllLines(Path.of("/proc/" + pid + "/smaps_rollup")).stream()
                        .filter(l -> l.startsWith("Pss:"))
                        .mapToLong(l -> Long.parseLong(l.replaceAll("\\D", "")))
                        .sum();
            }
        } catch (IOException | RuntimeException e) {
            // There is none now, or one of its processes has just ended.
        }
        return sum;
    }
}
