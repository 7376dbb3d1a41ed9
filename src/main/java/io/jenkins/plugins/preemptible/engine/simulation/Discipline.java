package io.jenkins.plugins.preemptible.engine.simulation;

import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.policy.Slices;
import io.jenkins.plugins.preemptible.engine.simulation.workload.SimJob;

/**
 * A way to assign executors, to be compared with others.
 *
 * <ol>
 *   <li>All four ask the same decide(): what differs is what it is told, and how its answer is carried out.
 *   <li>The first two switch preemption off, so only idle executors are given out; the first hides the priorities too.
 *   <li>The third carries a suspension out as a kill, with the same exempt time and the same most suspensions; it is
 *       told nothing of memory and expected ends, so of equal priority the one that started last is killed, which has
 *       least to lose.
 * </ol>
 */
public enum Discipline {
    FIRST_COME("first come, first served"),
    PRIORITY_ONLY("priority order only"),
    KILL_AND_REQUEUE("kill and requeue"),
    SUSPEND("suspend (ours)");

    private final String title;

    Discipline(String title) {
        this.title = title;
    }

    /** For people. */
    public String title() {
        return title;
    }

    boolean kills() {
        return this == KILL_AND_REQUEUE;
    }

    /** Among equals, executor time is shared by owner. */
    boolean shares() {
        return this == SUSPEND;
    }

    int priority(SimJob job) {
        return this == FIRST_COME ? 0 : job.priority();
    }

    Limits limits(Limits ours) {
        return switch (this) {
            case FIRST_COME, PRIORITY_ONLY -> new Limits(false, 0, 0, 0);
            // Slices would only have equals kill each other; sizes bound images, of which there are none.
            case KILL_AND_REQUEUE ->
                ours.withSlices(Slices.NONE).withMostSuspended(0, 0).withMemory(0, 0);
            case SUSPEND -> ours;
        };
    }
}
