package io.jenkins.plugins.preemptible.engine.simulation.workload;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * Makes up a workload that has the published figures of GitHub Actions.
 *
 * <ol>
 *   <li>{@value #PIPELINES} pipelines of {@value #OWNERS} owners have the five kinds of stages with their published
 *       mean durations; of all these, a share is long, by a factor, of low priority, and preemptible.
 *   <li>Runs arrive at random; each brings 2.85 stages at once in the mean, as published, of one pipeline.
 *   <li>Time is stretched at the end, so that the load is exactly the one that was asked for.
 * </ol>
 *
 * The same seed gives the same workload. Source of the means and of the jobs a run: 1.3 million runs with 3.7 million
 * jobs, ICSE 2024. Not published, hence assumed: equal shares of the five kinds; log-normal durations, 0.6 between
 * pipelines and 0.3 between runs of one (standard deviations of the logarithm); log-normal memory of 1.0; owners as
 * busy as 1, 1/2, 1/3 ….
 *
 * @param load 0.01 to 2: of all executors
 * @param jobs 1 to {@value #MOST_JOBS}
 * @param longShare 0 to 1
 * @param longFactor 1 to 1,000
 * @param memoryBytes median of a short stage; a long one has twice that
 * @throws IllegalArgumentException when a value is out of its range
 */
public record GitHubMix(double load, int jobs, long seed, double longShare, double longFactor, long memoryBytes) {

    public static final int MOST_JOBS = 1_000_000;
    public static final String SHORT = "short";
    public static final String LONG = "long";

    /** A lower number is the higher priority. */
    static final int SHORT_PRIORITY = 3;

    static final int LONG_PRIORITY = 5;

    static final int PIPELINES = 200;
    static final int OWNERS = 40;

    /** Test, build, release, lint, deploy: minutes. */
    private static final double[] MEAN_MINUTES = {8.1, 9.7, 11.0, 1.8, 1.3};

    private static final double JOBS_PER_RUN = 3.7 / 1.3;
    private static final double BETWEEN_PIPELINES = 0.6;
    private static final double BETWEEN_RUNS = 0.3;
    private static final double OF_MEMORY = 1.0;
    private static final long MOST_BYTES = 8L << 30;
    private static final long START = Instant.parse("2026-01-05T00:00:00Z").toEpochMilli();

    public GitHubMix {
        inRange("load", load, 0.01, 2);
        inRange("number of jobs", jobs, 1, MOST_JOBS);
        inRange("share of long stages", longShare, 0, 1);
        inRange("factor of long stages", longFactor, 1, 1_000);
        inRange("memory", memoryBytes, 0, 1L << 50);
    }

    /** 10 % of the stages are 10 times as long; half a gigabyte. */
    public GitHubMix(double load, int jobs, long seed) {
        this(load, jobs, seed, 0.1, 10, 512L << 20);
    }

    private static void inRange(String what, double value, double least, double most) {
        if (!(value >= least && value <= most)) {
            throw new IllegalArgumentException(String.format(
                    java.util.Locale.ROOT,
                    "The %s must be from %s to %s, but is %s",
                    what,
                    text(least),
                    text(most),
                    text(value)));
        }
    }

    private static String text(double value) {
        return value == Math.rint(value) && Math.abs(value) < 1e15
                ? Long.toString((long) value)
                : Double.toString(value);
    }

    /** A kind of stage of one pipeline: what is run again and again. */
    private record Recurring(String name, String owner, boolean isLong, double minutes, double bytes) {}

    /** Makes the workload for these agents, with any labels. */
    public Workload on(List<SimAgent> agents) {
        Random random = new Random(seed);
        List<Recurring> stages = stages(random);
        List<SimJob> made = new ArrayList<>(jobs);
        double at = 0;
        while (made.size() < jobs) {
            at -= Math.log(1 - random.nextDouble());
            int first = random.nextInt(PIPELINES) * MEAN_MINUTES.length;
            for (int left = 1 + poisson(JOBS_PER_RUN - 1, random); left > 0 && made.size() < jobs; left--) {
                made.add(job(stages.get(first + random.nextInt(MEAN_MINUTES.length)), Math.round(at * 1e6), random));
            }
        }
        return new Workload(
                stretched(made, agents.stream().mapToInt(SimAgent::executors).sum()), agents);
    }

    private List<Recurring> stages(Random random) {
        List<Boolean> isLong = new ArrayList<>();
        int all = PIPELINES * MEAN_MINUTES.length;
        for (int i = 0; i < all; i++) {
            isLong.add(i < Math.round(longShare * all));
        }
        Collections.shuffle(isLong, random);
        List<Recurring> stages = new ArrayList<>();
        for (int pipeline = 0; pipeline < PIPELINES; pipeline++) {
            String owner = "owner-" + owner(random);
            for (double mean : MEAN_MINUTES) {
                boolean longOne = isLong.get(stages.size());
                stages.add(new Recurring(
                        "pipeline-" + pipeline + "-" + stages.size() % MEAN_MINUTES.length,
                        owner,
                        longOne,
                        mean * (longOne ? longFactor : 1) * logNormal(BETWEEN_PIPELINES, random),
                        memoryBytes * (longOne ? 2 : 1) * Math.exp(OF_MEMORY * random.nextGaussian())));
            }
        }
        return stages;
    }

    private static int owner(Random random) {
        double all = 0;
        for (int owner = 1; owner <= OWNERS; owner++) {
            all += 1.0 / owner;
        }
        double left = random.nextDouble() * all;
        int owner = 1;
        while (owner < OWNERS && left >= 1.0 / owner) {
            left -= 1.0 / owner++;
        }
        return owner;
    }

    private static SimJob job(Recurring stage, long at, Random random) {
        long millis = Math.round(stage.minutes() * 60_000 * logNormal(BETWEEN_RUNS, random));
        return new SimJob(
                stage.name(),
                stage.isLong() ? LONG : SHORT,
                stage.owner(),
                "",
                stage.isLong() ? LONG_PRIORITY : SHORT_PRIORITY,
                at,
                Math.max(1_000, millis),
                Math.min(MOST_BYTES, Math.round(stage.bytes())),
                stage.isLong(),
                false);
    }

    /** Of mean 1. */
    private static double logNormal(double deviation, Random random) {
        return Math.exp(deviation * random.nextGaussian() - deviation * deviation / 2);
    }

    // Knuth's, good for small means.
    private static int poisson(double mean, Random random) {
        double least = Math.exp(-mean);
        double product = random.nextDouble();
        int count = 0;
        while (product > least) {
            product *= random.nextDouble();
            count++;
        }
        return count;
    }

    private List<SimJob> stretched(List<SimJob> made, int executors) {
        double work = made.stream().mapToLong(SimJob::durationMillis).sum();
        double first = made.get(0).arrivalMillis();
        double length = Math.max(1, made.get(made.size() - 1).arrivalMillis() - first);
        double factor = work / (load * executors) / length;
        return made.stream()
                .map(job -> new SimJob(
                        job.name(),
                        job.kind(),
                        job.owner(),
                        job.label(),
                        job.priority(),
                        START + Math.round((job.arrivalMillis() - first) * factor),
                        job.durationMillis(),
                        job.memoryBytes(),
                        job.preemptible(),
                        job.rerun(),
                        job.dumpable()))
                .toList();
    }
}
