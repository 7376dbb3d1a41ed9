package io.jenkins.plugins.preemptible.engine.simulation;

import io.jenkins.plugins.preemptible.engine.simulation.workload.SimJob;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/**
 * What the jobs that arrived on one day waited in all, without preemption and with it.
 *
 * <ol>
 *   <li>Without preemption is {@link Discipline#PRIORITY_ONLY}: the same queue, in which only idle executors are given
 *       out.
 *   <li>A wait lasts from the arrival to the first start.
 *   <li>What preemption costs those that give way stands beside it: it is no wait.
 * </ol>
 *
 * @param day as ISO 8601 has it
 * @param jobs that arrived
 * @param secondsWithout all their waits without preemption
 * @param secondsWith all their waits with {@link Discipline#SUSPEND}
 * @param secondsHeldUp for how long those that had begun made no progress with it: suspensions, restores, lost runs
 */
public record DayWaits(String day, int jobs, double secondsWithout, double secondsWith, double secondsHeldUp) {

    /** The days on which jobs arrived, the first one first. */
    static List<DayWaits> of(Outcome without, Outcome with, ZoneId zone) {
        TreeMap<String, DayWaits> days = new TreeMap<>();
        // Both have the same jobs in the same order.
        for (int i = 0; i < with.progresses().size(); i++) {
            JobProgress progress = with.progresses().get(i);
            SimJob job = progress.job;
            String day = Instant.ofEpochMilli(job.arrivalMillis())
                    .atZone(zone)
                    .toLocalDate()
                    .toString();
            long lastedMillis = progress.endMillis - progress.firstStartMillis;
            DayWaits one = new DayWaits(
                    day,
                    1,
                    seconds(without.progresses().get(i).firstStartMillis - job.arrivalMillis()),
                    seconds(progress.firstStartMillis - job.arrivalMillis()),
                    seconds(lastedMillis - job.durationMillis()));
            days.merge(day, one, DayWaits::plus);
        }
        return new ArrayList<>(days.values());
    }

    /** Both together, under the name of the first. */
    public DayWaits plus(DayWaits other) {
        return new DayWaits(
                day,
                jobs + other.jobs,
                secondsWithout + other.secondsWithout,
                secondsWith + other.secondsWith,
                secondsHeldUp + other.secondsHeldUp);
    }

    /** Less than 0 when the jobs waited longer with preemption. */
    public double secondsAvoided() {
        return secondsWithout - secondsWith;
    }

    private static double seconds(long millis) {
        return millis / 1000.0;
    }
}
