package io.jenkins.plugins.preemptible.engine.policy;

import io.jenkins.plugins.preemptible.engine.policy.Action.Freeing;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.Agent;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.AgentState;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.RunningStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.SuspendedStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.WaitingItem;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * A small controller in virtual time: it does what the policy decides.
 *
 * <ol>
 *   <li>Each {@link #tick} work is done, jobs end, come and are cancelled, then the policy decides until it has nothing
 *       more to do.
 *   <li>An executor that was freed for somebody is that one's alone. What {@link Action.Reserve} keeps is kept until
 *       the next decision, which says it again, and is no {@link SuspendedStage#reservedAgent}: for whoever has one of
 *       those nothing else is freed.
 *   <li>A suspended stage goes on where it was, as in Jenkins.
 * </ol>
 */
final class DecisionHistory {

    static final long TICK_MILLIS = 1000;
    /** What each stage holds that is only frozen, and what each agent has. */
    static final long FROZEN_BYTES = 30;

    static final long MEMORY_BYTES = 100;

    /** A decision may lead to another one at once; hardly ever to more than these. */
    private static final int ROUNDS = 4;

    enum State {
        TO_COME,
        WAITING,
        RUNNING,
        SUSPENDED,
        GONE
    }

    /** Something that runs. Times are ticks. */
    static final class Job {
        final String id;
        final int priority;
        final String owner;
        final Set<String> agents;
        final int work;
        final int comes;
        /** When it is cancelled, should it still wait; never when negative. */
        int cancelledAt = -1;
        /** False: an ordinary build, of which the policy knows only that its executor is not idle. */
        boolean stage = true;
        /** False: a stage that can only be frozen. */
        boolean dumpable = true;

        int lastFrozen;

        State state = State.TO_COME;
        String agent;
        int done;
        int began;
        int since;
        int suspensions;
        int ended;

        Job(String id, int priority, String owner, Set<String> agents, int work, int comes) {
            this.id = id;
            this.priority = priority;
            this.owner = owner;
            this.agents = agents;
            this.work = work;
            this.comes = comes;
        }
    }

    /** An executor that was freed, or is being freed, for somebody. */
    record Freed(String agent, String victim, int opens) {}

    /** What the tests look at while it happens. */
    interface Watcher {
        /** Before it is carried out. */
        default void decided(Action action, DecisionHistory history) {}

        /** @param waited since it was suspended */
        default void wentOn(Job stage, int waited) {}

        default void ticked(DecisionHistory history) {}
    }

    final Limits limits;
    final Map<String, Integer> executors;
    final Map<String, Job> jobs = new TreeMap<>();
    /** Those that have come and are not gone, in the order in which they came. */
    final List<Job> present = new ArrayList<>();

    final Map<String, Freed> freed = new HashMap<>();
    int now;
    /** Executors that are in the middle of a suspension. */
    private final Map<String, Integer> running = new HashMap<>();

    private final Map<String, List<Integer>> busyUntil = new HashMap<>();
    private final Map<String, String> kept = new HashMap<>();
    private final FairShares shares = new FairShares();
    private final int suspensionTicks;
    private final boolean queueFirst;
    private final Watcher watcher;

    /**
     * @param executors by agent
     * @param suspensionTicks how long it takes until the executor is free
     * @param queueFirst whether the queue gives idle executors that are not kept to the first that comes, as Jenkins'
     *     does, before the policy is asked
     */
    DecisionHistory(
            Limits limits, Map<String, Integer> executors, int suspensionTicks, boolean queueFirst, Watcher watcher) {
        this.limits = limits;
        this.executors = executors;
        this.suspensionTicks = suspensionTicks;
        this.queueFirst = queueFirst;
        this.watcher = watcher;
        executors.keySet().forEach(agent -> busyUntil.put(agent, new ArrayList<>()));
    }

    void add(Job job) {
        jobs.put(job.id, job);
    }

    void tick() {
        now++;
        shares.advance(TICK_MILLIS, holders(), wanting());
        jobs.values().stream()
                .filter(job -> job.state == State.TO_COME && job.comes <= now)
                .forEach(this::comes);
        present.forEach(this::happens);
        present.removeIf(job -> job.state == State.GONE);
        busyUntil.values().forEach(ends -> ends.removeIf(end -> end <= now));
        if (queueFirst) {
            dispatch(null);
        }
        for (int round = 0; round < ROUNDS; round++) {
            dispatchFreed();
            shares.advance(0, holders(), wanting());
            if (!carryOut(PreemptionPolicy.decide(snapshot()))) {
                break;
            }
        }
        dispatchFreed();
        watcher.ticked(this);
    }

    private void comes(Job job) {
        job.state = State.WAITING;
        job.since = now;
        present.add(job);
    }

    private void happens(Job job) {
        if (job.state == State.RUNNING && ++job.done >= job.work) {
            running.merge(job.agent, -1, Integer::sum);
            ends(job);
        } else if (job.state == State.WAITING && job.cancelledAt == now) {
            freed.remove(job.id);
            ends(job);
        }
    }

    private void ends(Job job) {
        job.state = State.GONE;
        job.ended = now;
    }

    private Map<String, Integer> holders() {
        Map<String, Integer> holders = new HashMap<>();
        present.stream()
                .filter(job -> job.state == State.RUNNING)
                .forEach(job -> holders.merge(job.owner, 1, Integer::sum));
        return holders;
    }

    private Set<String> wanting() {
        Set<String> wanting = new HashSet<>();
        present.stream().filter(DecisionHistory::wants).forEach(job -> wanting.add(job.owner));
        return wanting;
    }

    static boolean wants(Job job) {
        return job.state == State.WAITING || job.state == State.SUSPENDED;
    }

    Map<String, Long> usedMillis() {
        return shares.usedMillis();
    }

    int idle(String agent) {
        return executors.get(agent)
                - running.getOrDefault(agent, 0)
                - busyUntil.get(agent).size();
    }

    /** Idle executors that this one may have. */
    int idleFor(String agent, String id) {
        long others = freed.entrySet().stream()
                .filter(entry -> entry.getValue().agent().equals(agent)
                        && entry.getValue().opens() <= now)
                .filter(entry -> !entry.getKey().equals(id))
                .count();
        long keptForOthers = kept.entrySet().stream()
                .filter(entry ->
                        entry.getValue().equals(agent) && !entry.getKey().equals(id))
                .count();
        return idle(agent) - (int) (others + keptForOthers);
    }

    private void dispatchFreed() {
        for (Map.Entry<String, Freed> entry : List.copyOf(freed.entrySet())) {
            Job job = jobs.get(entry.getKey());
            String agent = entry.getValue().agent();
            // Another one that is idle there serves it as well.
            if (job.state == State.WAITING && (entry.getValue().opens() <= now || idleFor(agent, job.id) > 0)) {
                start(job, agent);
            }
        }
    }

    // The first that comes first; only those, or everybody that waits.
    private boolean dispatch(Set<String> only) {
        boolean all = true;
        List<Job> waiting = present.stream()
                .filter(job -> job.state == State.WAITING && !freed.containsKey(job.id))
                .filter(job -> only == null || only.contains(job.id))
                .toList();
        for (Job job : waiting) {
            job.agents.stream()
                    .sorted()
                    .filter(agent -> idleFor(agent, job.id) > 0)
                    .findFirst()
                    .ifPresent(agent -> start(job, agent));
            all &= job.state == State.RUNNING;
        }
        return all;
    }

    private void start(Job job, String agent) {
        if (job.state == State.SUSPENDED) {
            job.lastFrozen = job.dumpable ? 0 : now - job.since;
            watcher.wentOn(job, now - job.since);
        } else {
            job.began = now;
        }
        job.state = State.RUNNING;
        job.agent = agent;
        running.merge(agent, 1, Integer::sum);
        job.since = now;
        freed.remove(job.id);
        kept.remove(job.id);
    }

    private boolean carryOut(List<Action> actions) {
        kept.clear();
        Set<String> served = new HashSet<>();
        for (Action action : actions) {
            watcher.decided(action, this);
            if (action instanceof Freeing freeing) {
                suspend(jobs.get(freeing.stageId()), freeing);
            } else if (action instanceof Action.Resume resume && idleFor(resume.agent(), resume.stageId()) > 0) {
                start(jobs.get(resume.stageId()), resume.agent());
            } else if (action instanceof Action.Reserve reserve) {
                kept.put(reserve.stageId(), reserve.agent());
            } else if (action.reason() == Reason.EXECUTOR_FREE_ALREADY) {
                served.add(action.claimant());
            }
        }
        return !dispatch(served);
    }

    private void suspend(Job victim, Freeing freeing) {
        running.merge(victim.agent, -1, Integer::sum);
        victim.state = State.SUSPENDED;
        victim.since = now;
        victim.suspensions++;
        if (suspensionTicks == 0) {
            start(jobs.get(freeing.forItem()), victim.agent);
        } else {
            busyUntil.get(victim.agent).add(now + suspensionTicks);
            freed.put(freeing.forItem(), new Freed(victim.agent, victim.id, now + suspensionTicks));
        }
    }

    Snapshot snapshot() {
        List<RunningStage> stages = new ArrayList<>();
        List<SuspendedStage> suspended = new ArrayList<>();
        List<WaitingItem> waiting = new ArrayList<>();
        Map<String, Integer> suspendedOn = new HashMap<>();
        Map<String, Long> frozenOn = new HashMap<>();
        for (Job job : present) {
            String freedOn = freed.containsKey(job.id) ? freed.get(job.id).agent() : null;
            if (job.state == State.RUNNING && job.stage) {
                stages.add(new RunningStage(
                        job.id,
                        job.agent,
                        job.priority,
                        job.owner,
                        millis(job.began),
                        millis(job.since),
                        job.suspensions,
                        0,
                        job.dumpable ? null : "traced",
                        0,
                        job.dumpable ? 0 : FROZEN_BYTES,
                        0,
                        millis(now + job.work - job.done),
                        false,
                        false,
                        true,
                        millis(job.lastFrozen)));
            } else if (job.state == State.WAITING) {
                waiting.add(new WaitingItem(
                        job.id, job.priority, job.owner, millis(job.since), job.agents, freedOn, millis(job.work)));
            } else if (job.state == State.SUSPENDED) {
                suspendedOn.merge(job.agent, 1, Integer::sum);
                frozenOn.merge(job.agent, job.dumpable ? 0 : FROZEN_BYTES, Long::sum);
                suspended.add(new SuspendedStage(
                        job.id,
                        Set.of(job.agent),
                        job.priority,
                        job.owner,
                        millis(job.since),
                        null,
                        false,
                        freedOn,
                        false,
                        job.dumpable
                                ? 0
                                : millis(job.since) + limits.freezeOnly().longestMillis(),
                        Set.of(),
                        0));
            }
        }
        List<Agent> agents = executors.keySet().stream()
                .map(name -> new Agent(
                        name,
                        Set.of(),
                        idle(name),
                        true,
                        AgentState.THERE,
                        -1,
                        0,
                        0,
                        suspendedOn.getOrDefault(name, 0),
                        false,
                        MEMORY_BYTES,
                        frozenOn.getOrDefault(name, 0L)))
                .toList();
        return new Snapshot(millis(now), limits, agents, stages, suspended, waiting, shares.usedMillis());
    }

    static long millis(long ticks) {
        return ticks * TICK_MILLIS;
    }
}
