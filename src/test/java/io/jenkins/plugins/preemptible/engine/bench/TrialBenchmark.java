package io.jenkins.plugins.preemptible.engine.bench;

import io.jenkins.plugins.preemptible.engine.Checkpoint;
import io.jenkins.plugins.preemptible.engine.DumpGuard;
import io.jenkins.plugins.preemptible.engine.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.trial.TrialVerdict;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/** What it costs to try an image beside its frozen tree: time, time until it is sealed, and memory. */
final class TrialBenchmark implements Benchmark {

    private static final int SMALL = 16;
    private static final int LARGE = 1400;
    /** Switches trials off, see {@code engine.trial.ImageTrial}. */
    private static final String SETTING = "PREEMPTIBLE_TRIAL";

    /** Of one size of stage. */
    private record Cost(List<Double> trial, List<Double> with, List<Double> without, List<Double> megabytes) {
        Cost() {
            this(new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        }
    }

    @Override
    public String name() {
        return "trial";
    }

    @Override
    public Result run(BenchRig rig) throws Exception {
        Cost small = measure(rig, SMALL);
        Cost large = measure(rig, LARGE);
        return new Result(
                name(),
                "What does it cost to try the image before the frozen tree is killed?",
                List.of(
                        new Row("the trial of " + LARGE + " MB, against " + SMALL + " MB",
                                new Samples("ms", large.trial()), new Samples("ms", small.trial()), 2.0),
                        new Row("its processes' memory, " + LARGE + " MB against " + SMALL + " MB",
                                new Samples("MB", large.megabytes()), new Samples("MB", small.megabytes()), 2.0),
                        new Row(SMALL + " MB, frozen to sealed, with and without",
                                new Samples("ms", small.with()), new Samples("ms", small.without()), null),
                        new Row(LARGE + " MB, frozen to sealed, with and without",
                                new Samples("ms", large.with()), new Samples("ms", large.without()), null)),
                List.of(),
                List.of(
                        "The trial runs beside the packing.",
                        "Memory is the proportional set size of every process of the trial, looked at every few ms."));
    }

    private static Cost measure(BenchRig rig, int megabytes) throws Exception {
        Cost cost = new Cost();
        StageId id = rig.holding(1, megabytes);
        try {
            for (int i = 0; i <= rig.runsFor(megabytes); i++) {
                double[] trial = new double[1];
                double with = sealed(rig, id, trial);
                System.setProperty(SETTING, "off");
                double without;
                try {
                    without = sealed(rig, id, null);
                } finally {
                    System.clearProperty(SETTING);
                }
                double peak = peakMegabytes(rig, id);
                if (i > 0) {
                    cost.trial().add(trial[0]);
                    cost.with().add(with);
                    cost.without().add(without);
                    cost.megabytes().add(peak);
                }
            }
        } finally {
            rig.end(id);
        }
        return cost;
    }

    private static double sealed(BenchRig rig, StageId id, double[] trial) throws Exception {
        Path archive = rig.archive("trial");
        Files.deleteIfExists(archive);
        rig.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, Long.MAX_VALUE));
        Checkpoint[] made = new Checkpoint[1];
        double millis = BenchRig.millis(() -> made[0] = rig.engine.dump(id, archive, rig.key, IfDumpFails.THAW));
        rig.engine.thaw(id);
        if (trial != null) {
            if (made[0].trial().verdict() != TrialVerdict.PASSED || made[0].trial().withPages()) {
                throw new IOException("the image did not pass without its pages: " + made[0].trial());
            }
            trial[0] = made[0].trial().millis();
        }
        return millis;
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
            sealed(rig, id, null);
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
