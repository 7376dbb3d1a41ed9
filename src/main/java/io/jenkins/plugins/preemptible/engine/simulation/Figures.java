package io.jenkins.plugins.preemptible.engine.simulation;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * The figures of one discipline for a workload.
 *
 * <ol>
 *   <li>Waits by class; then what the executors did.
 *   <li>Wasted is work that was lost, and the time of dumps and restores. A dump is counted in full, though it holds an
 *       executor only where memory is short.
 *   <li>Utilisation and throughput are taken while jobs arrive, waste over all.
 * </ol>
 *
 * @param workHours executor hours that the jobs asked for
 * @param utilisation share of the executor time that was held, 0 to 1
 * @param lostHours executor hours of work that was lost by kills and reruns
 * @param overheadHours hours of dumps and restores
 * @param reruns kills and reruns
 * @param jobsPerHour jobs that ended, an hour
 */
public record Figures(
        Discipline discipline,
        List<WaitFigures> waits,
        double workHours,
        double utilisation,
        double lostHours,
        double overheadHours,
        long suspensions,
        long reruns,
        double jobsPerHour) {

    public Figures {
        waits = List.copyOf(waits);
    }

    /** Executor hours. */
    @JsonProperty
    public double wastedHours() {
        return lostHours + overheadHours;
    }

    /** What was wasted for each hour of work that was asked for. */
    @JsonProperty
    public double wastedShare() {
        return workHours == 0 ? 0 : wastedHours() / workHours;
    }

    /**
     * The waits of one class.
     *
     * @throws IllegalArgumentException when no job is of that class
     */
    public WaitFigures waits(String kind) {
        return waits.stream()
                .filter(each -> each.kind().equals(kind))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("No job is of the class " + kind));
    }
}
