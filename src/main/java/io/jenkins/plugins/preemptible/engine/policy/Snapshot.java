package io.jenkins.plugins.preemptible.engine.policy;

import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
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
 * @param usedMillis the executor time that each owner has had, see {@link FairShares}; an owner that is missing has had
 *     none
 * @param roomForImages whether the controller's disk takes another image; false: only what may stay frozen in its
 *     agent's memory is suspended
 * @param busy executors that run something other than a preemptible stage, at least those of agents on which a stage is
 *     suspended that could move; sorted by agent and end. One that is missing is expected to stay busy
 * @throws IllegalArgumentException when two stages, items or agents have the same name, or a number is negative
 *     where none may be
 */
public record Snapshot(
        long nowMillis,
        Limits limits,
        List<Agent> agents,
        List<RunningStage> running,
        List<SuspendedStage> suspended,
        List<WaitingItem> waiting,
        Map<String, Long> usedMillis,
        boolean roomForImages,
        List<BusyExecutor> busy) {

    public Snapshot {
        usedMillis = Map.copyOf(usedMillis);
        agents = List.copyOf(agents);
        running = List.copyOf(running);
        suspended = List.copyOf(suspended);
        waiting = List.copyOf(waiting);
        busy = busy.stream().sorted(BusyExecutor.BY_AGENT_AND_END).toList();
        distinct("agent", agents.stream().map(Agent::name).toList());
        distinct("running stage", running.stream().map(RunningStage::id).toList());
        distinct("suspended stage", suspended.stream().map(SuspendedStage::id).toList());
        distinct("waiting item", waiting.stream().map(WaitingItem::id).toList());
    }

    /** The controller's disk has room, and nothing is known of executors that run something other than a preemptible stage. */
    public Snapshot(
            long nowMillis,
            Limits limits,
            List<Agent> agents,
            List<RunningStage> running,
            List<SuspendedStage> suspended,
            List<WaitingItem> waiting,
            Map<String, Long> usedMillis) {
        this(nowMillis, limits, agents, running, suspended, waiting, usedMillis, true, List.of());
    }

    /** Nobody's executor time is known. */
    public Snapshot(
            long nowMillis,
            Limits limits,
            List<Agent> agents,
            List<RunningStage> running,
            List<SuspendedStage> suspended,
            List<WaitingItem> waiting) {
        this(nowMillis, limits, agents, running, suspended, waiting, Map.of());
    }

    /** The same moment with these items in place of its own. */
    Snapshot withWaiting(List<WaitingItem> items) {
        return new Snapshot(nowMillis, limits, agents, running, suspended, items, usedMillis, roomForImages, busy);
    }

    private static void distinct(String what, List<String> names) {
        Set<String> seen = new HashSet<>();
        for (String name : names) {
            if (!seen.add(name)) {
                throw new IllegalArgumentException("A snapshot names a " + what + " twice: " + name);
            }
        }
    }

    /**
     * A machine with executors.
     *
     * @param labels that it carries
     * @param idleExecutors executors that run nothing, those that are reserved for somebody included
     * @param accepting it is online and takes builds
     * @param state what it is about to do
     * @param freeBytes free memory; -1 = unknown
     * @param dumpBytesPerSecond how fast it made images lately; 0 = unknown
     * @param restoreBytesPerSecond how fast it restored them; 0 = unknown
     * @param suspended stages whose memory or image it holds
     * @param memoryOnly it makes no images: a suspended stage stays in its memory
     * @param totalBytes all its memory; -1 = unknown
     * @param frozenOnlyBytes of that, what stages hold that are frozen since they cannot be dumped
     */
    public record Agent(
            String name,
            Set<String> labels,
            int idleExecutors,
            boolean accepting,
            AgentState state,
            long freeBytes,
            long dumpBytesPerSecond,
            long restoreBytesPerSecond,
            int suspended,
            boolean memoryOnly,
            long totalBytes,
            long frozenOnlyBytes) {
        public Agent {
            labels = Set.copyOf(labels);
            notNegative("memory of frozen stages", frozenOnlyBytes);
            notNegative("number of idle executors", idleExecutors);
            notNegative("rate of dumps", dumpBytesPerSecond);
            notNegative("rate of restores", restoreBytesPerSecond);
            notNegative("number of suspended stages", suspended);
        }

        /** An agent whose memory nobody knows, and where nothing is only frozen. */
        public Agent(
                String name,
                Set<String> labels,
                int idleExecutors,
                boolean accepting,
                AgentState state,
                long freeBytes,
                long dumpBytesPerSecond,
                long restoreBytesPerSecond,
                int suspended,
                boolean memoryOnly) {
            this(
                    name,
                    labels,
                    idleExecutors,
                    accepting,
                    state,
                    freeBytes,
                    dumpBytesPerSecond,
                    restoreBytesPerSecond,
                    suspended,
                    memoryOnly,
                    -1,
                    0);
        }

        /** An agent that makes images. */
        public Agent(
                String name,
                Set<String> labels,
                int idleExecutors,
                boolean accepting,
                AgentState state,
                long freeBytes,
                long dumpBytesPerSecond,
                long restoreBytesPerSecond,
                int suspended) {
            this(
                    name,
                    labels,
                    idleExecutors,
                    accepting,
                    state,
                    freeBytes,
                    dumpBytesPerSecond,
                    restoreBytesPerSecond,
                    suspended,
                    false);
        }

        /** Whether nothing can be suspended there, since it would have to stay in memory that is not free. */
        boolean shortOfMemory(Limits limits) {
            return memoryOnly && freeBytes >= 0 && freeBytes < limits.memoryFloorBytes();
        }

        /** An agent of which no more is known. */
        public Agent(String name, int idleExecutors, boolean accepting) {
            this(name, Set.of(), idleExecutors, accepting, AgentState.THERE, -1, 0, 0, 0);
        }
    }

    /** What an agent is about to do. */
    public enum AgentState {
        /** Nothing in particular. */
        THERE,
        /** A cloud is just starting it: its executors count as idle, but nothing of it can be used yet. */
        ON_ITS_WAY,
        /** Jenkins prepares to shut down and starts nothing: a stage may be queued to go on, but none gives way. */
        QUIETING_DOWN,
        /** Somebody drains it: everything preemptible is suspended, and nothing goes on there. */
        DRAINED
    }

    /**
     * A preemptible stage that has an executor.
     *
     * @param owner among whose equals the executor time is shared; empty = nobody's
     * @param startedMillis when it began
     * @param runningSinceMillis when it began or was last resumed
     * @param suspensions so far
     * @param timeSliceMillis its own, 0 = that of the limits
     * @param whyNotPreemptible why it cannot be dumped as it is now; null when it can
     * @param retryAfterMillis not to be suspended before, since a dump failed; 0 = at any time
     * @param residentBytes its memory; -1 = unknown
     * @param growthBytesPerSecond by how much that grew lately; 0 when it did not
     * @param expectedEndMillis when it will end, by what its earlier runs took; 0 = unknown
     * @param rerun it may be ended and run again from its beginning
     * @param neverPreempt somebody said so of its build, or the limits do for stages like it
     * @param freezable what keeps it from being dumped lets it be frozen
     * @param lastFrozenMillis how long it stood still before it runs now, frozen since it could not be dumped; else 0
     * @param otherStep the last attempt came to nothing since a step runs in it that cannot be frozen
     */
    public record RunningStage(
            String id,
            String agent,
            int priority,
            String owner,
            long startedMillis,
            long runningSinceMillis,
            int suspensions,
            long timeSliceMillis,
            String whyNotPreemptible,
            long retryAfterMillis,
            long residentBytes,
            long growthBytesPerSecond,
            long expectedEndMillis,
            boolean rerun,
            boolean neverPreempt,
            boolean freezable,
            long lastFrozenMillis,
            boolean otherStep) {
        public RunningStage {
            notNegative("number of suspensions", suspensions);
            notNegative("time slice", timeSliceMillis);
            notNegative("growth", growthBytesPerSecond);
        }

        /** A stage in which no other step is known to run. */
        public RunningStage(
                String id,
                String agent,
                int priority,
                String owner,
                long startedMillis,
                long runningSinceMillis,
                int suspensions,
                long timeSliceMillis,
                String whyNotPreemptible,
                long retryAfterMillis,
                long residentBytes,
                long growthBytesPerSecond,
                long expectedEndMillis,
                boolean rerun,
                boolean neverPreempt,
                boolean freezable,
                long lastFrozenMillis) {
            this(
                    id,
                    agent,
                    priority,
                    owner,
                    startedMillis,
                    runningSinceMillis,
                    suspensions,
                    timeSliceMillis,
                    whyNotPreemptible,
                    retryAfterMillis,
                    residentBytes,
                    growthBytesPerSecond,
                    expectedEndMillis,
                    rerun,
                    neverPreempt,
                    freezable,
                    lastFrozenMillis,
                    false);
        }

        /** A stage that is not frozen where it cannot be dumped. */
        public RunningStage(
                String id,
                String agent,
                int priority,
                String owner,
                long startedMillis,
                long runningSinceMillis,
                int suspensions,
                long timeSliceMillis,
                String whyNotPreemptible,
                long retryAfterMillis,
                long residentBytes,
                long growthBytesPerSecond,
                long expectedEndMillis,
                boolean rerun,
                boolean neverPreempt) {
            this(
                    id,
                    agent,
                    priority,
                    owner,
                    startedMillis,
                    runningSinceMillis,
                    suspensions,
                    timeSliceMillis,
                    whyNotPreemptible,
                    retryAfterMillis,
                    residentBytes,
                    growthBytesPerSecond,
                    expectedEndMillis,
                    rerun,
                    neverPreempt,
                    false,
                    0);
        }

        /** A stage of which no more is known. */
        public RunningStage(
                String id,
                String agent,
                int priority,
                long startedMillis,
                long runningSinceMillis,
                int suspensions,
                long timeSliceMillis,
                String whyNotPreemptible,
                long retryAfterMillis) {
            this(
                    id,
                    agent,
                    priority,
                    "",
                    startedMillis,
                    runningSinceMillis,
                    suspensions,
                    timeSliceMillis,
                    whyNotPreemptible,
                    retryAfterMillis,
                    -1,
                    0,
                    0,
                    false,
                    false);
        }
    }

    /**
     * A stage that has no executor: its memory is frozen, or it has an image.
     *
     * @param agents where it may go on
     * @param owner as of a running stage
     * @param sinceMillis when it was suspended
     * @param preemptorItem for whom; null when for nobody in particular
     * @param requested it is in the queue already, to be resumed
     * @param reservedAgent where an executor is kept, or just being freed, for it; null when nowhere
     * @param byHand suspended manually: it is resumed only when a user says so
     * @param thawByMillis it cannot be dumped, and is to run again by then; 0 = it may stay suspended
     * @param elsewhere agents that it could be moved to; nobody gives way there
     * @param moveMillis how long a move is expected to take; 0 = no time
     * @param nowhere why it can go nowhere at this moment, should no agent be found; null = none accepts it
     */
    public record SuspendedStage(
            String id,
            Set<String> agents,
            int priority,
            String owner,
            long sinceMillis,
            String preemptorItem,
            boolean requested,
            String reservedAgent,
            boolean byHand,
            long thawByMillis,
            Set<String> elsewhere,
            long moveMillis,
            Reason nowhere) {
        public SuspendedStage {
            agents = Set.copyOf(agents);
            elsewhere = Set.copyOf(elsewhere);
            notNegative("time of a move", moveMillis);
        }

        /** A stage of which it is not known why it can go nowhere. */
        public SuspendedStage(
                String id,
                Set<String> agents,
                int priority,
                String owner,
                long sinceMillis,
                String preemptorItem,
                boolean requested,
                String reservedAgent,
                boolean byHand,
                long thawByMillis,
                Set<String> elsewhere,
                long moveMillis) {
            this(
                    id,
                    agents,
                    priority,
                    owner,
                    sinceMillis,
                    preemptorItem,
                    requested,
                    reservedAgent,
                    byHand,
                    thawByMillis,
                    elsewhere,
                    moveMillis,
                    null);
        }

        /** Whether it has to run again soon, even if a user wants it suspended. */
        boolean urgent(Limits limits, long nowMillis) {
            return limits.freezeOnly().isUrgent(thawByMillis, nowMillis);
        }
    }

    /**
     * An item of the queue that could run if it had an executor.
     *
     * @param owner as of a running stage
     * @param sinceMillis when it became buildable
     * @param agents where it may run; items that fit the same agents had better share one set, which the decision
     *     then looks at once
     * @param reservedAgent where an executor was freed for it, or is just being freed; null when nowhere
     * @param expectedMillis how long it will run, by what its earlier runs took; 0 = unknown
     */
    public record WaitingItem(
            String id,
            int priority,
            String owner,
            long sinceMillis,
            Set<String> agents,
            String reservedAgent,
            long expectedMillis) {
        public WaitingItem {
            agents = Set.copyOf(agents);
            notNegative("expected duration", expectedMillis);
        }

        /** The same item, which fits other agents. */
        public WaitingItem fitting(Set<String> others) {
            return new WaitingItem(id, priority, owner, sinceMillis, others, reservedAgent, expectedMillis);
        }

        /** An item of nobody's of which no more is known. */
        public WaitingItem(String id, int priority, long sinceMillis, Set<String> agents, String reservedAgent) {
            this(id, priority, "", sinceMillis, agents, reservedAgent, 0);
        }
    }

    /**
     * An executor that runs something other than a preemptible stage: a build, or a node block of a Pipeline.
     *
     * @param expectedEndMillis when that will end at the latest, by what earlier runs took; 0 = unknown
     */
    public record BusyExecutor(String agent, long expectedEndMillis) {

        private static final Comparator<BusyExecutor> BY_AGENT_AND_END =
                Comparator.comparing(BusyExecutor::agent).thenComparingLong(BusyExecutor::expectedEndMillis);

        public BusyExecutor {
            notNegative("expected end", expectedEndMillis);
        }
    }

    static void notNegative(String what, long value) {
        if (value < 0) {
            throw new IllegalArgumentException("The " + what + " must not be negative, but is " + value);
        }
    }
}
