package io.jenkins.plugins.preemptible.engine.simulation;

import com.fasterxml.jackson.annotation.JsonIgnore;
import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.simulation.workload.SimJob;
import io.jenkins.plugins.preemptible.engine.simulation.workload.Workload;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The same workload under all disciplines, side by side.
 *
 * <ol>
 *   <li>One {@link Figures} a discipline, in the order of {@link Discipline}.
 *   <li>For a history, besides, what its jobs really waited.
 *   <li>Jobs that were too many to be replayed are counted, not hidden.
 * </ol>
 *
 * @param jobs that were simulated
 * @param leftOut the oldest ones, which were not
 * @param executors of all agents
 * @param load work that arrived for the executor time that there was, 1 = as much as there was; 0 for a workload whose
 *     jobs all arrive at once
 * @param recorded what the jobs of a history really waited; empty for generated workloads
 * @param days waits by the day of the arrival; of generated workloads by the days since their beginning, as in 1970
 */
public record Comparison(
        int jobs,
        int leftOut,
        int executors,
        double load,
        List<Figures> figures,
        List<WaitFigures> recorded,
        @JsonIgnore List<DayWaits> days) {

    public Comparison {
        figures = List.copyOf(figures);
        recorded = List.copyOf(recorded);
        days = List.copyOf(days);
    }

    /** Runs a made-up workload under all disciplines. */
    public static Comparison of(Workload workload, Limits limits, Rates rates) {
        return of(workload, limits, rates, 0, List.of(), ZoneOffset.UTC, discipline -> {});
    }

    /**
     * @param zone whose days are counted
     * @param next told each discipline before it is simulated
     */
    static Comparison of(
            Workload workload,
            Limits limits,
            Rates rates,
            int leftOut,
            List<WaitFigures> recorded,
            ZoneId zone,
            Consumer<Discipline> next) {
        Map<Discipline, Outcome> outcomes = new EnumMap<>(Discipline.class);
        for (Discipline each : Discipline.values()) {
            next.accept(each);
            outcomes.put(each, Simulation.run(workload, limits, rates, each));
        }
        List<SimJob> jobs = workload.jobs();
        long window = jobs.isEmpty()
                ? 0
                : jobs.get(jobs.size() - 1).arrivalMillis() - jobs.get(0).arrivalMillis();
        double load = window == 0 ? 0 : (double) workload.workMillis() / ((double) window * workload.executors());
        return new Comparison(
                jobs.size(),
                leftOut,
                workload.executors(),
                load,
                outcomes.values().stream().map(Outcome::figures).toList(),
                recorded,
                DayWaits.of(outcomes.get(Discipline.PRIORITY_ONLY), outcomes.get(Discipline.SUSPEND), zone));
    }

    /** What that discipline made of it. */
    public Figures of(Discipline discipline) {
        return figures.get(discipline.ordinal());
    }
}
