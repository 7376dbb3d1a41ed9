package io.jenkins.plugins.preemptible.engine.part;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.part.PartNotes.Part;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;

/**
 * Which part of a stage is meant by a step on it: that which lives in a container, or the rest.
 *
 * <p>What is meant is found anew by each step, from the states and processes of both parts. One of the two is suspended at a
 * time, so after a crash at any point their records say which.
 *
 * @param inner to which a part is a stage of its own
 */
public record StageParts(StageVerbs inner, PartNotes notes, PartProcesses processes) {

    static final Set<State> SUSPENDED = Set.of(State.SUSPENDING, State.SUSPENDED, State.RESUMING);

    private static final Duration REMAINS = TimeLimits.of(Duration.ofSeconds(4));
    private static final Set<String> OF_REMAINS = Set.of("sh", "sleep");

    /** What of a stage runs, or is suspended. */
    public enum Running {
        /** It has no part in a container, or that is over. */
        NO_PART,
        /** It has one in which nothing runs. */
        WHOLE,
        /** Nothing runs outside of that part. */
        PART,
        BOTH
    }

    public Running running(StageId id) {
        Optional<Part> part = notes.of(id);
        State inside = part.isEmpty() ? null : state(id.contained());
        if (inside == null || isOver(inside)) {
            return Running.NO_PART;
        }
        if (SUSPENDED.contains(inside)) {
            return Running.PART;
        }
        if (state(id) != State.RUNNING || processes.running(id.contained()).isEmpty()) {
            return Running.WHOLE;
        }
        return part.get().told().isEmpty() && processes.running(id).isEmpty() ? Running.PART : Running.BOTH;
    }

    /**
     * The same, once what a step leaves on the host when it ends has ended too: Durable Task has a shell that sleeps for three
     * seconds at a time until it finds that its step is over.
     */
    public Running settled(StageId id) {
        long end = System.nanoTime() + REMAINS.toNanos();
        Running now = running(id);
        while (now == Running.BOTH
                && notes.of(id).filter(part -> part.told().isEmpty()).isPresent()
                && OF_REMAINS.containsAll(processes.running(id))
                && System.nanoTime() - end < 0) {
            try {
                Thread.sleep(50);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return now;
            }
            now = running(id);
        }
        return now;
    }

    static boolean isOver(State state) {
        return state == State.ENDED || state == State.FAILED || state == State.KILLED;
    }

    /** Null when there is no such stage. */
    public State state(StageId id) {
        try {
            return inner.status(id).state();
        } catch (EngineException e) {
            if (e.reason() == FailureReason.UNKNOWN_STAGE) {
                return null;
            }
            throw e;
        }
    }

    /** The stage, or that part of it which is suspended. */
    public StageId suspended(StageId id) {
        return notes.of(id).isPresent() && isSuspended(id.contained()) ? id.contained() : id;
    }

    private boolean isSuspended(StageId part) {
        State state = state(part);
        return state != null && SUSPENDED.contains(state);
    }
}
