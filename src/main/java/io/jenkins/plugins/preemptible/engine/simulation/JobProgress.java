package io.jenkins.plugins.preemptible.engine.simulation;

import io.jenkins.plugins.preemptible.engine.policy.Cost;
import io.jenkins.plugins.preemptible.engine.simulation.workload.SimJob;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * A job in the simulation: its state, the work that it has done, the work that it has lost.
 *
 * <ol>
 *   <li>It waits, runs, yields (still running, while its executor is being taken), may be suspended and restored, ends.
 *   <li>Work is counted when it stops running, for any reason.
 *   <li>A new plan makes the events that were planned before void: {@link #plan}.
 * </ol>
 */
final class JobProgress {

    enum State {
        TO_COME,
        WAITING,
        RUNNING,
        YIELDING,
        /** Frozen, and its executor is kept until the image is made, since memory is short. */
        DUMPED_FIRST,
        SUSPENDED,
        RESTORING,
        ENDED
    }

    /** So that all ids have the same length. */
    private static final int FIRST_NUMBER = 10_000_000;

    /** An executor that it held. */
    record Hold(String agent, long fromMillis, long toMillis) {}

    final SimJob job;
    /** Sorts as the number does. */
    final String id;

    final int priority;
    /** Among whose equals executor time is shared; empty where it is not. */
    final String owner;

    final Set<String> fitting;

    State state = State.TO_COME;
    /** The number of the plan that is valid. */
    int plan;

    Host host;
    /** Where an executor is kept for it, or is being freed. */
    Host reserved;
    /** The job for which it yields. */
    JobProgress heir;

    boolean losesItsWork;
    /** Whether it yields since it can be frozen only. */
    boolean yieldsFrozen;

    long sealAfterMillis;

    /** When it began to wait, or was suspended. */
    long sinceMillis;
    /** The start of the attempt that counts. */
    long startedMillis;

    long runningSinceMillis;
    /** What was done before {@link #runningSinceMillis}. */
    long doneMillis;
    /** It has no image yet: its memory is held, and it can be thawed. */
    boolean frozen;

    /** It cannot be dumped, is frozen, and is to run again by then; else 0. */
    long thawByMillis;
    /** How long it stood still in that way before it runs now; else 0. */
    long lastFrozenMillis;

    long dumpFromMillis;

    long firstStartMillis;
    boolean begun;
    long endMillis;
    int suspensions;
    int reruns;
    long lostMillis;
    long dumpMillis;
    long restoreMillis;
    final List<Hold> holds = new ArrayList<>();
    private long heldSinceMillis;

    JobProgress(int number, SimJob job, Discipline discipline, Set<String> fitting) {
        this.job = job;
        this.id = "job-" + (FIRST_NUMBER + number);
        this.priority = discipline.priority(job);
        this.owner = discipline.shares() ? job.owner() : "";
        this.fitting = fitting;
    }

    boolean waits() {
        return state == State.WAITING;
    }

    boolean isSuspended() {
        return state == State.SUSPENDED;
    }

    /** As the policy sees it: a stage that could be chosen. */
    boolean isRunningStage() {
        return state == State.RUNNING && job.preemptible();
    }

    void starts(long now) {
        reserved = null;
        startedMillis = now;
        if (!begun) {
            begun = true;
            firstStartMillis = now;
        }
        host.remember(job.memoryBytes());
        runs(now);
    }

    void holds(Host on, long now) {
        host = on;
        on.take(this);
        heldSinceMillis = now;
    }

    void releases(long now) {
        host.release(this);
        holds.add(new Hold(host.agent.name(), heldSinceMillis, now));
    }

    void runs(long now) {
        state = State.RUNNING;
        runningSinceMillis = now;
        plan++;
    }

    long remainingMillis() {
        return job.durationMillis() - doneMillis;
    }

    void stopsRunning(long now) {
        doneMillis += now - runningSinceMillis;
        plan++;
    }

    void losesAllWork() {
        lostMillis += doneMillis;
        doneMillis = 0;
    }

    Cost cost(Rates rates) {
        // By the policy's own formula, so that what it expects is what happens.
        return Cost.of(PolicyView.stage(this, job.memoryBytes(), 0, false), PolicyView.agent(host, rates));
    }
}
