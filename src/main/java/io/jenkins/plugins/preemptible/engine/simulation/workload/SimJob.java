package io.jenkins.plugins.preemptible.engine.simulation.workload;

import java.util.Objects;

/**
 * A job that arrives in the simulation and wants one executor for some time.
 *
 * <ol>
 *   <li>It arrives at its time, independent of the others.
 *   <li>It is through when it has held an executor for its duration and lost nothing of that.
 *   <li>Its duration is not known beforehand; what earlier runs of the same name took is known.
 * </ol>
 *
 * @param name of what is run again and again; empty = nothing is known of earlier runs
 * @param kind the class under which its wait is reported
 * @param label that its agent has to carry; empty = any agent
 * @param priority a lower number is the higher priority
 * @param arrivalMillis of any one clock
 * @param durationMillis on an executor, undisturbed; at least 1
 * @param memoryBytes resident while it runs
 * @param preemptible it may be suspended
 * @param rerun it may be ended and run again from its beginning
 * @param dumpable false: it can only be frozen
 * @throws IllegalArgumentException when the duration or the memory is out of its range
 */
public record SimJob(
        String name,
        String kind,
        String owner,
        String label,
        int priority,
        long arrivalMillis,
        long durationMillis,
        long memoryBytes,
        boolean preemptible,
        boolean rerun,
        boolean dumpable) {

    /** One that can be dumped. */
    public SimJob(
            String name,
            String kind,
            String owner,
            String label,
            int priority,
            long arrivalMillis,
            long durationMillis,
            long memoryBytes,
            boolean preemptible,
            boolean rerun) {
        this(name, kind, owner, label, priority, arrivalMillis, durationMillis, memoryBytes, preemptible, rerun, true);
    }

    public SimJob {
        Objects.requireNonNull(name);
        Objects.requireNonNull(kind);
        Objects.requireNonNull(owner);
        Objects.requireNonNull(label);
        if (durationMillis < 1) {
            throw new IllegalArgumentException("A job's duration must be at least 1 ms, but is " + durationMillis);
        }
        if (memoryBytes < 0) {
            throw new IllegalArgumentException("A job's memory must not be negative, but is " + memoryBytes);
        }
    }

    /** The same, but it cannot be dumped. */
    SimJob onlyFrozen() {
        return new SimJob(
                name,
                kind,
                owner,
                label,
                priority,
                arrivalMillis,
                durationMillis,
                memoryBytes,
                preemptible,
                rerun,
                false);
    }
}
