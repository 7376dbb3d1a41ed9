package io.jenkins.plugins.preemptible.engine.simulation;

import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.policy.Slices;
import io.jenkins.plugins.preemptible.engine.simulation.workload.GitHubMix;
import io.jenkins.plugins.preemptible.engine.simulation.workload.SimAgent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.IntToDoubleFunction;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * How the disciplines compare over loads, dump rates, and limits, each with several seeds.
 *
 * <ol>
 *   <li>Loads from 50 to 95 % under all disciplines.
 *   <li>At {@value #GOAL_LOAD} of load: dump rates, time slices, and a bound on how often one stage gives way.
 *   <li>The goals are ratios within one seed; a goal is met when every seed meets it.
 * </ol>
 *
 * @param jobs of each run
 * @param seeds 1 and so on; at least one
 * @param longShare as of the mix
 * @param longFactor as of the mix
 * @param memoryBytes as of the mix
 */
public record Sweep(
        int jobs,
        int seeds,
        double longShare,
        double longFactor,
        long memoryBytes,
        List<SimAgent> agents,
        Limits limits,
        Rates rates) {

    /** Where the goals are set. */
    public static final double GOAL_LOAD = 0.9;

    private static final List<Double> LOADS = List.of(0.5, 0.6, 0.7, 0.8, GOAL_LOAD, 0.95);
    private static final List<Long> DUMP_RATES =
            List.of(100_000_000L, 200_000_000L, 500_000_000L, 1_000_000_000L, 2_000_000_000L);
    private static final List<Integer> SLICE_MINUTES = List.of(0, 10, 30, 60);
    private static final int FEW = 3;

    public Sweep {
        agents = List.copyOf(agents);
        if (seeds < 1) {
            throw new IllegalArgumentException("At least one seed is needed");
        }
    }

    /** What one discipline gave in one setting. */
    public record Row(
            String setting,
            Discipline discipline,
            SeedStatistics shortWaitP95Seconds,
            SeedStatistics longDelayP95Seconds,
            SeedStatistics wastedPercent,
            SeedStatistics suspensionsAndReruns,
            SeedStatistics jobsPerHour) {}

    /**
     * A ratio that is wanted.
     *
     * @param wanted for people
     */
    public record Goal(String what, String wanted, SeedStatistics ratio, boolean met) {}

    /** All tables. */
    public record Tables(List<Row> loads, List<Goal> goals, List<Row> dumpRates, List<Row> slices, List<Row> bounded) {
        public Tables {
            loads = List.copyOf(loads);
            goals = List.copyOf(goals);
            dumpRates = List.copyOf(dumpRates);
            slices = List.copyOf(slices);
            bounded = List.copyOf(bounded);
        }
    }

    /** Runs all of it: minutes. */
    public Tables run() {
        List<Stream<Row>> loads = new ArrayList<>();
        List<Goal> goals = List.of();
        for (double load : LOADS) {
            List<List<Figures>> all = Arrays.stream(Discipline.values())
                    .map(each -> figures(load, limits, rates, each))
                    .toList();
            String setting = String.format(Locale.ROOT, "%.0f %%", load * 100);
            loads.add(all.stream().map(of -> row(setting, of)));
            if (Double.compare(load, GOAL_LOAD) == 0) {
                goals = goals(all);
            }
        }
        return new Tables(
                loads.stream().flatMap(rows -> rows).toList(),
                goals,
                DUMP_RATES.stream().map(this::dumpRate).toList(),
                SLICE_MINUTES.stream().map(this::slice).toList(),
                Stream.of(Discipline.KILL_AND_REQUEUE, Discipline.SUSPEND)
                        .map(this::bounded)
                        .toList());
    }

    private Row dumpRate(long rate) {
        String setting = String.format(Locale.ROOT, "%.1f GB/s", rate / 1e9);
        return row(setting, figures(GOAL_LOAD, limits, rates.withDump(rate), Discipline.SUSPEND));
    }

    private Row slice(int minutes) {
        Limits other = limits.withSlices(new Slices(minutes * 60_000L, List.of()));
        String setting = minutes == 0 ? "none" : minutes + " min";
        return row(setting, figures(GOAL_LOAD, other, rates, Discipline.SUSPEND));
    }

    private Row bounded(Discipline discipline) {
        Limits few = new Limits(
                limits.enabled(),
                limits.slices(),
                limits.exemptMillis(),
                FEW,
                limits.mostSuspendedPerAgent(),
                limits.mostSuspended(),
                limits.ageingMillis(),
                limits.imageBytes(),
                limits.memoryFloorBytes(),
                limits.undumpable(),
                limits.undisturbed(),
                limits.freezeOnly());
        return row("at most " + FEW, figures(GOAL_LOAD, few, rates, discipline));
    }

    /** One a seed. */
    private List<Figures> figures(double load, Limits under, Rates at, Discipline discipline) {
        // Each run is a function of its own arguments alone, so they may run side by side.
        return LongStream.rangeClosed(1, seeds)
                .parallel()
                .mapToObj(seed -> Simulation.run(
                                new GitHubMix(load, jobs, seed, longShare, longFactor, memoryBytes).on(agents),
                                under,
                                at,
                                discipline)
                        .figures())
                .toList();
    }

    private static Row row(String setting, List<Figures> figures) {
        return new Row(
                setting,
                figures.get(0).discipline(),
                statistics(figures, Sweep::shortWait),
                statistics(figures, Sweep::longDelay),
                statistics(figures, of -> 100 * of.wastedShare()),
                statistics(figures, of -> of.suspensions() + of.reruns()),
                statistics(figures, Figures::jobsPerHour));
    }

    private static SeedStatistics statistics(List<Figures> figures, ToDoubleFunction<Figures> what) {
        return SeedStatistics.of(figures.stream().mapToDouble(what));
    }

    private static double shortWait(Figures figures) {
        return p95(figures, GitHubMix.SHORT, false);
    }

    private static double longDelay(Figures figures) {
        return p95(figures, GitHubMix.LONG, true);
    }

    // A mix of long stages alone, or of none, is allowed.
    private static double p95(Figures figures, String kind, boolean delay) {
        return figures.waits().stream()
                .filter(each -> each.kind().equals(kind))
                .mapToDouble(each -> delay ? each.delayP95Seconds() : each.p95Seconds())
                .findFirst()
                .orElse(0);
    }

    private List<Goal> goals(List<List<Figures>> all) {
        SeedStatistics wait = ratios(
                seed -> shortWait(of(all, Discipline.SUSPEND, seed)) / shortWait(of(all, Discipline.FIRST_COME, seed)));
        SeedStatistics waste = ratios(seed -> of(all, Discipline.SUSPEND, seed).wastedHours()
                / of(all, Discipline.KILL_AND_REQUEUE, seed).wastedHours());
        SeedStatistics loss = ratios(seed -> {
            double best = Arrays.stream(Discipline.values())
                    .mapToDouble(each -> of(all, each, seed).jobsPerHour())
                    .max()
                    .orElseThrow();
            return 1 - of(all, Discipline.SUSPEND, seed).jobsPerHour() / best;
        });
        return List.of(
                goal("p95 wait of the short jobs, ours to first come, first served", wait, 0.1),
                goal("wasted executor time, ours to kill and requeue", waste, 0.05),
                goal("throughput lost against the best of the four", loss, 0.02));
    }

    private SeedStatistics ratios(IntToDoubleFunction ofSeed) {
        return SeedStatistics.of(IntStream.range(0, seeds).mapToDouble(ofSeed));
    }

    private static Figures of(List<List<Figures>> all, Discipline discipline, int seed) {
        return all.get(discipline.ordinal()).get(seed);
    }

    private static Goal goal(String what, SeedStatistics ratio, double most) {
        return new Goal(what, "≤ " + most, ratio, ratio.most() <= most);
    }
}
