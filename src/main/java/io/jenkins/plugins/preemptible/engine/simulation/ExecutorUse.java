package io.jenkins.plugins.preemptible.engine.simulation;

import io.jenkins.plugins.preemptible.engine.policy.FairShares;
import io.jenkins.plugins.preemptible.engine.simulation.workload.SimJob;
import io.jenkins.plugins.preemptible.engine.simulation.workload.Workload;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** How many executors of a simulation are idle, which owners hold the others, and what each owner has used lately. */
final class ExecutorUse {

    private final int executors;
    private final BusyTime busy;
    private final FairShares shares = new FairShares();
    private final Map<String, Integer> held = new TreeMap<>();
    private int idle;

    ExecutorUse(Workload workload) {
        List<SimJob> jobs = workload.jobs();
        this.executors = workload.executors();
        this.idle = executors;
        this.busy = jobs.isEmpty()
                ? new BusyTime(0, 0)
                : new BusyTime(
                        jobs.get(0).arrivalMillis(), jobs.get(jobs.size() - 1).arrivalMillis());
    }

    /** Counts the time between two events as used by those who hold executors. */
    void advance(long from, long to) {
        busy.add(from, to, executors - idle);
    }

    /**
     * Counts the time for the owners' fair shares.
     *
     * @param wanting the owners who wait for an executor
     */
    void share(long millis, Set<String> wanting) {
        shares.advance(millis, held, wanting);
    }

    void taken(String owner) {
        idle--;
        held.merge(owner, 1, Integer::sum);
    }

    void released(String owner) {
        idle++;
        held.computeIfPresent(owner, (name, count) -> count == 1 ? null : count - 1);
    }

    int idle() {
        return idle;
    }

    Map<String, Long> usedMillis() {
        return shares.usedMillis();
    }

    /** The share of executors that was busy, from the first arrival to the last. */
    double utilisation() {
        return busy.share(executors);
    }

    /**
     * Executor time held in a window of time.
     *
     * <ol>
     *   <li>The window is that in which jobs arrive: before and after it, executors stand idle for want of work.
     *   <li>What lies outside of it is cut off.
     *   <li>An executor is busy while it is held, by a restore too.
     * </ol>
     */
    private static final class BusyTime {

        private final long fromMillis;
        private final long toMillis;
        private long millis;

        BusyTime(long fromMillis, long toMillis) {
            this.fromMillis = fromMillis;
            this.toMillis = toMillis;
        }

        void add(long from, long to, int executors) {
            long length = Math.min(to, toMillis) - Math.max(from, fromMillis);
            millis += Math.max(0, length) * executors;
        }

        /** From 0 to 1; 0 for a window without length. */
        double share(int executors) {
            return toMillis == fromMillis ? 0 : (double) millis / ((double) (toMillis - fromMillis) * executors);
        }
    }
}
