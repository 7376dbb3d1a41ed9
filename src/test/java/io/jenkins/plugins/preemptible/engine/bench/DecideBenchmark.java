package io.jenkins.plugins.preemptible.engine.bench;

import io.jenkins.plugins.preemptible.engine.bench.Crowd.Sets;
import io.jenkins.plugins.preemptible.engine.policy.PreemptionPolicy;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * One decision of the scheduler, on made-up crowds.
 *
 * <ol>
 *   <li>Each crowd is made before, and decided upon in turns with the others, so that a slow minute hits all.
 *   <li>What is compared with is a time that is allowed: the goal, or n log n from what the smallest crowd took.
 *   <li>Decisions before the measured ones let the JVM compile.
 * </ol>
 */
final class DecideBenchmark implements Benchmark {

    private static final double GOAL_MILLIS = 50;
    private static final int ITEMS = 10_000;
    private static final int[] GROWTH = {1_000, 3_000, 10_000, 30_000, 100_000};
    private static final int WARM_UP = 40;

    /** A decision takes milliseconds: many of them cost nothing. */
    private static final int TIMES = 10;

    @Override
    public String name() {
        return "decide";
    }

    @Override
    public Result run(BenchRig rig) {
        double load = ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
        List<Row> rows = new ArrayList<>();
        goals(rig.runs * TIMES, rows);
        List<Samples> growth = measure(
                Arrays.stream(GROWTH)
                        .mapToObj(n -> new Crowd(n, 100, Sets.SHARED))
                        .toList(),
                rig.runs * TIMES);
        growth(growth, rows);
        return new Result(
                name(),
                "How long does one decision take with 1000 executors and 500 suspended stages, against what is allowed?",
                rows,
                List.of(plot(growth)),
                List.of(
                        "Allowed are " + Text.number(GOAL_MILLIS) + " ms; for the growth, n log n from the time of "
                                + GROWTH[0] + " items. From each number of items to the next the time grew by "
                                + steps(growth) + " of what n log n allows.",
                        "Items ask for one of 20 labels. Those of one label share one set of agents, as the snapshots of "
                                + "Jenkins do; *copied*: each has its own copy of it; *own*: each fits other agents than "
                                + "every other one, which vetoes of other plugins may lead to. Both have no goal.",
                        TIMES + " decisions of each crowd a run. Other programs on the machine: " + Text.number(load)
                                + " wanted a processor when it began.",
                        "Not measured: taking the snapshot, and carrying the actions out."));
    }

    private static void goals(int times, List<Row> rows) {
        List<Crowd> crowds = List.of(
                new Crowd(ITEMS, 100, Sets.SHARED),
                new Crowd(ITEMS, 1000, Sets.SHARED),
                new Crowd(ITEMS, 100, Sets.COPIED),
                new Crowd(ITEMS, 1000, Sets.COPIED),
                new Crowd(ITEMS, 100, Sets.OWN),
                new Crowd(ITEMS, 1000, Sets.OWN));
        List<Samples> measured = measure(crowds, times);
        for (int i = 0; i < crowds.size(); i++) {
            Crowd crowd = crowds.get(i);
            String sets = crowd.sets() == Sets.SHARED
                    ? ""
                    : ", sets " + crowd.sets().name().toLowerCase(Locale.ROOT);
            rows.add(new Row(
                    crowd.items() + " items, " + crowd.agents() + " agents" + sets,
                    measured.get(i),
                    Samples.of("ms", GOAL_MILLIS),
                    crowd.sets() == Sets.SHARED ? 1.0 : null));
        }
    }

    private static void growth(List<Samples> measured, List<Row> rows) {
        for (int i = 1; i < GROWTH.length; i++) {
            rows.add(new Row(
                    "growth: " + GROWTH[i] + " items",
                    measured.get(i),
                    Samples.of("ms", allowed(measured, 0, i)),
                    1.0));
        }
    }

    /** By n log n from one size to another, in milliseconds. */
    private static double allowed(List<Samples> measured, int from, int to) {
        return measured.get(from).median() * nLogN(GROWTH[to]) / nLogN(GROWTH[from]);
    }

    private static String steps(List<Samples> measured) {
        return IntStream.range(1, GROWTH.length)
                .mapToObj(i -> Text.number(measured.get(i).median() / allowed(measured, i - 1, i)))
                .collect(Collectors.joining(", "));
    }

    private static Plot plot(List<Samples> measured) {
        List<Double> x = Arrays.stream(GROWTH).asDoubleStream().boxed().toList();
        return new Plot(
                "decide",
                "One decision",
                "waiting items",
                "ms",
                true,
                true,
                List.of(
                        new Curve(
                                "measured",
                                x,
                                measured.stream().map(Samples::median).toList()),
                        new Curve(
                                "n log n",
                                x,
                                IntStream.range(0, GROWTH.length)
                                        .mapToObj(i -> allowed(measured, 0, i))
                                        .toList())));
    }

    private static double nLogN(double n) {
        return n * Math.log(n);
    }

    private static List<Samples> measure(List<Crowd> crowds, int times) {
        List<Snapshot> snapshots = crowds.stream().map(Crowd::snapshot).toList();
        List<List<Double>> millis = IntStream.range(0, crowds.size())
                .mapToObj(i -> (List<Double>) new ArrayList<Double>())
                .toList();
        for (int time = -WARM_UP; time < times; time++) {
            for (int i = 0; i < snapshots.size(); i++) {
                long start = System.nanoTime();
                int actions = PreemptionPolicy.decide(snapshots.get(i)).size();
                double took = (System.nanoTime() - start) / 1e6;
                if (actions < crowds.get(i).items()) {
                    throw new IllegalStateException(crowds.get(i) + " got only " + actions + " answers");
                }
                if (time >= 0) {
                    millis.get(i).add(took);
                }
            }
        }
        return millis.stream().map(values -> new Samples("ms", values)).toList();
    }
}
