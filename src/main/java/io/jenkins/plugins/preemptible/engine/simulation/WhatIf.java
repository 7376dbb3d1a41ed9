package io.jenkins.plugins.preemptible.engine.simulation;

import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.simulation.workload.PastJob;
import io.jenkins.plugins.preemptible.engine.simulation.workload.SimAgent;
import io.jenkins.plugins.preemptible.engine.simulation.workload.Workload;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * Simulates limits with jobs that have run.
 *
 * <ol>
 *   <li>The history is replayed under every {@link Discipline}, on the agents that are given.
 *   <li>At most so many jobs, the newest ones, so that the answer is there within seconds.
 *   <li>Beside the simulated waits stands what the same jobs really waited.
 * </ol>
 *
 * Pure but for the time it takes: for any thread, under no lock.
 */
public final class WhatIf {

    /** At most, on few agents. */
    public static final int MOST_JOBS = 20_000;

    /** Jobs and agents multiplied: about ten seconds of a processor for all disciplines. */
    private static final int MOST_WORK = 600_000;

    /** What a decision costs beside its agents, in agents. */
    private static final int FIXED_WORK = 10;

    private static final int EXECUTORS_OF_AN_AGENT = 2;

    private WhatIf() {}

    /**
     * Compares.
     *
     * @param zone whose days are counted
     * @param next told each discipline before it is simulated
     * @throws IllegalArgumentException when there are no agents, or a job's label is that of none; the message is a
     *     sentence for people
     */
    public static Comparison compare(
            List<PastJob> history,
            List<SimAgent> agents,
            Limits limits,
            Rates rates,
            ZoneId zone,
            Consumer<Discipline> next) {
        return compare(history, agents, limits, rates, mostJobs(agents.size()), zone, next);
    }

    /** The same, by days of UTC. */
    public static Comparison compare(List<PastJob> history, List<SimAgent> agents, Limits limits, Rates rates) {
        return compare(history, agents, limits, rates, mostJobs(agents.size()));
    }

    static Comparison compare(List<PastJob> history, List<SimAgent> agents, Limits limits, Rates rates, int mostJobs) {
        return compare(history, agents, limits, rates, mostJobs, ZoneOffset.UTC, discipline -> {});
    }

    private static Comparison compare(
            List<PastJob> history,
            List<SimAgent> agents,
            Limits limits,
            Rates rates,
            int mostJobs,
            ZoneId zone,
            Consumer<Discipline> next) {
        List<PastJob> newest = history.stream()
                .sorted(Comparator.comparingLong(PastJob::queuedMillis))
                .skip(Math.max(0, history.size() - mostJobs))
                .toList();
        Workload workload = new Workload(newest.stream().map(PastJob::replayed).toList(), agents);
        return Comparison.of(workload, limits, rates, history.size() - newest.size(), recorded(newest), zone, next);
    }

    /** How many jobs are replayed at most on so many agents. */
    public static int mostJobs(int agents) {
        return Math.min(MOST_JOBS, MOST_WORK / (FIXED_WORK + agents));
    }

    private static List<WaitFigures> recorded(List<PastJob> jobs) {
        Map<String, List<PastJob>> byKind = new TreeMap<>();
        jobs.forEach(job ->
                byKind.computeIfAbsent(job.kind(), kind -> new ArrayList<>()).add(job));
        List<WaitFigures> recorded = new ArrayList<>();
        byKind.forEach((kind, of) -> {
            long[] waits = of.stream()
                    .mapToLong(job -> job.startedMillis() - job.queuedMillis())
                    .sorted()
                    .toArray();
            recorded.add(WaitFigures.of(kind, waits, waits));
        });
        return recorded;
    }

    /**
     * Agents that a history must have had at least: for each of its labels, as many executors as were in use at once,
     * two on an agent.
     *
     * @param memoryBytes of each, 0 = unknown
     */
    public static List<SimAgent> agentsOf(List<PastJob> history, long memoryBytes) {
        Map<String, List<PastJob>> byLabel = new TreeMap<>();
        history.forEach(job ->
                byLabel.computeIfAbsent(job.label(), label -> new ArrayList<>()).add(job));
        List<SimAgent> agents = new ArrayList<>();
        byLabel.forEach((label, jobs) -> {
            int left = mostAtOnce(jobs);
            for (int number = 1; left > 0; number++) {
                int executors = Math.min(left, EXECUTORS_OF_AN_AGENT);
                agents.add(new SimAgent(
                        (label.isEmpty() ? "any" : label) + "-agent-" + number,
                        label.isEmpty() ? Set.of() : Set.of(label),
                        executors,
                        memoryBytes));
                left -= executors;
            }
        });
        return agents;
    }

    private static int mostAtOnce(List<PastJob> jobs) {
        TreeMap<Long, Integer> changes = new TreeMap<>();
        for (PastJob job : jobs) {
            changes.merge(job.startedMillis(), 1, Integer::sum);
            changes.merge(Math.max(job.startedMillis() + 1, job.endedMillis()), -1, Integer::sum);
        }
        int most = 0;
        int now = 0;
        for (int change : changes.values()) {
            now += change;
            most = Math.max(most, now);
        }
        return most;
    }
}
