package io.jenkins.plugins.preemptible.engine.simulation.workload;

import io.jenkins.plugins.preemptible.engine.policy.Cost;
import java.util.Objects;

/**
 * A build or stage that has run, as a history tells it.
 *
 * <ol>
 *   <li>It is replayed: it arrives when it was queued and needs the executor time that it had.
 *   <li>Its real wait is reported beside the simulated ones.
 *   <li>Its priority is the class under which its wait is reported.
 * </ol>
 *
 * @param name of the job, by which earlier runs tell how long a run takes; empty = unknown
 * @param label that its agent had to carry; empty = any agent
 * @param priority a lower number is the higher priority
 * @param owner among whose equals the executor time is shared; empty = no owner
 * @param preemptible whether it could have been suspended
 * @param dumpable false: it could only have been frozen
 * @param memoryBytes -1 = unknown: taken as {@link Cost#DEFAULT_BYTES}
 * @throws IllegalArgumentException when the three moments are not in their order
 */
public record PastJob(
        String name,
        long queuedMillis,
        long startedMillis,
        long endedMillis,
        String label,
        int priority,
        String owner,
        boolean preemptible,
        long memoryBytes,
        boolean dumpable) {

    /** One that could have been dumped. */
    public PastJob(
            String name,
            long queuedMillis,
            long startedMillis,
            long endedMillis,
            String label,
            int priority,
            String owner,
            boolean preemptible,
            long memoryBytes) {
        this(name, queuedMillis, startedMillis, endedMillis, label, priority, owner, preemptible, memoryBytes, true);
    }

    public PastJob {
        Objects.requireNonNull(name);
        Objects.requireNonNull(label);
        Objects.requireNonNull(owner);
        if (startedMillis < queuedMillis) {
            throw new IllegalArgumentException("it was started before it was queued");
        }
        if (endedMillis < startedMillis) {
            throw new IllegalArgumentException("it ended before it was started");
        }
    }

    public String kind() {
        return "priority " + priority;
    }

    public SimJob replayed() {
        return new SimJob(
                name,
                kind(),
                owner,
                label,
                priority,
                queuedMillis,
                // One that ended within the clock's tick still held an executor.
                Math.max(1, endedMillis - startedMillis),
                memoryBytes < 0 ? Cost.DEFAULT_BYTES : memoryBytes,
                preemptible,
                false,
                dumpable);
    }
}
