package io.jenkins.plugins.preemptible.engine.policy;

import java.util.List;
import java.util.Set;

/**
 * All that the policy knows when it decides: who runs, who waits, who is suspended, and what is allowed.
 *
 * <ol>
 *   <li>The caller copies it from the queue and the agents, all at one moment.
 *   <li>Times are milliseconds of one clock, priorities are such that a lower number is the higher priority.
 *   <li>It never changes; the decision is a function of it alone.
 * </ol>
 *
 * @param nowMillis the moment at which it was taken
 * @throws IllegalArgumentException when two stages, items or agents have the same name, or a number is negative
 *     where none may be
 */
public record Snapshot(
        long nowMillis,
        Limits limits,
        List<Agent> agents,
        List<RunningStage> running,
        List<SuspendedStage> suspended,
        List<WaitingItem> waiting) {

    public Snapshot {
        agents = List.copyOf(agents);
        running = List.copyOf(running);
        suspended = List.copyOf(suspended);
        waiting = List.copyOf(waiting);
        distinct("agent", agents.stream().map(Agent::name).toList());
        distinct("running stage", running.stream().map(RunningStage::id).toList());
        distinct("suspended stage", suspended.stream().map(SuspendedStage::id).toList());
        distinct("waiting item", waiting.stream().map(WaitingItem::id).toList());
    }

    private static void distinct(String what, List<String> names) {
        if (Set.copyOf(names).size() != names.size()) {
            throw new IllegalArgumentException("A snapshot names a " + what + " twice: " + names);
        }
    }

    /**
     * What the administrator allows.
     *
     * @param enabled false: nothing is suspended; what is suspended may still go on
     * @param timeSliceMillis after that long since its start or last resume a stage gives way to its equals; 0 = never
     * @param exemptMillis shortest undisturbed run after a start or a resume
     * @param mostSuspensions of one stage; 0 = no limit
     */
    public record Limits(boolean enabled, long timeSliceMillis, long exemptMillis, int mostSuspensions) {
        public Limits {
            notNegative("time slice", timeSliceMillis);
            notNegative("shortest undisturbed run", exemptMillis);
            notNegative("most suspensions", mostSuspensions);
        }
    }

    /**
     * A machine with executors.
     *
     * @param idleExecutors executors that run nothing, those that are reserved for an item included
     * @param accepting it is online and not being drained
     */
    public record Agent(String name, int idleExecutors, boolean accepting) {
        public Agent {
            notNegative("number of idle executors", idleExecutors);
        }
    }

    /**
     * A preemptible stage that has an executor.
     *
     * @param startedMillis when it began
     * @param runningSinceMillis when it began or was last resumed
     * @param suspensions so far
     * @param timeSliceMillis its own, 0 = that of the limits
     * @param whyNotPreemptible null when it may be suspended
     * @param retryAfterMillis not to be suspended before, since a dump failed; 0 = at any time
     */
    public record RunningStage(
            String id,
            String agent,
            int priority,
            long startedMillis,
            long runningSinceMillis,
            int suspensions,
            long timeSliceMillis,
            String whyNotPreemptible,
            long retryAfterMillis) {
        public RunningStage {
            notNegative("number of suspensions", suspensions);
            notNegative("time slice", timeSliceMillis);
        }
    }

    /**
     * A stage that has an image and no executor.
     *
     * @param agents where it may go on
     * @param sinceMillis when it was suspended
     * @param preemptorItem for whom; null when for nobody in particular
     * @param requested it is in the queue already, to be resumed
     * @param reservedAgent where a stage was suspended, or is just being suspended, so that this one may go on; null
     *     when nowhere
     */
    public record SuspendedStage(
            String id,
            Set<String> agents,
            int priority,
            long sinceMillis,
            String preemptorItem,
            boolean requested,
            String reservedAgent) {
        public SuspendedStage {
            agents = Set.copyOf(agents);
        }

        /** A suspended stage for which no executor was freed. */
        public SuspendedStage(
                String id,
                Set<String> agents,
                int priority,
                long sinceMillis,
                String preemptorItem,
                boolean requested) {
            this(id, agents, priority, sinceMillis, preemptorItem, requested, null);
        }
    }

    /**
     * An item of the queue that could run if it had an executor.
     *
     * @param sinceMillis when it became buildable
     * @param agents where it may run
     * @param reservedAgent where an executor was freed for it, or is just being freed; null when nowhere
     */
    public record WaitingItem(String id, int priority, long sinceMillis, Set<String> agents, String reservedAgent) {
        public WaitingItem {
            agents = Set.copyOf(agents);
        }
    }

    private static void notNegative(String what, long value) {
        if (value < 0) {
            throw new IllegalArgumentException("The " + what + " must not be negative, but is " + value);
        }
    }
}
