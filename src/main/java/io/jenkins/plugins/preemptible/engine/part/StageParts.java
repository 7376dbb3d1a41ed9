package io.jenkins.plugins.preemptible.engine.part;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.part.ContainedParts.Part;
import io.jenkins.plugins.preemptible.engine.preflight.ContainerObstacles;
import io.jenkins.plugins.preemptible.engine.preflight.Obstacle;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
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
public record StageParts(StageVerbs inner, ContainedParts notes) {

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
        if (state(id) != State.RUNNING || notes.running(id.contained()).isEmpty()) {
            return Running.WHOLE;
        }
        return part.get().told().isEmpty() && notes.running(id).isEmpty() ? Running.PART : Running.BOTH;
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
                && OF_REMAINS.containsAll(notes.running(id))
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

    private static boolean isOver(State state) {
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

    /** An id may be shorter than the other one. */
    static boolean isSame(ContainerRef one, ContainerRef other) {
        return one.program().equals(other.program())
                && (one.id().startsWith(other.id()) || other.id().startsWith(one.id()));
    }

    public void tell(StageId id, List<ContainerRef> told) {
        notes.of(id).filter(part -> !part.told().equals(told)).ifPresent(part -> notes.write(id, part.withTold(told)));
    }

    /** Tells the inner engine only of the containers that it was told of, and no more of that which was frozen whole. */
    public void tellAgain(StageId id) {
        notes.of(id)
                .filter(part -> !part.told().equals(inner.containersOf(id)) && state(id) != null)
                .ifPresent(part -> inner.tellContainers(id, part.told(), part.marks()));
    }

    public List<ContainerRef> withOwn(StageId id, List<ContainerRef> told) {
        Optional<Part> part = notes.of(id);
        if (part.isEmpty()
                || told.stream().anyMatch(known -> isSame(known, part.get().container()))) {
            return told;
        }
        List<ContainerRef> all = new ArrayList<>(told);
        all.add(part.get().container());
        return all;
    }

    public SuspendFailedException refusal(StageId id) {
        return new SuspendFailedException(FailureReason.CONTAINER, shown(id));
    }

    public PreflightReport withOutside(StageId id, PreflightReport seen) {
        if (!inner.checkpoints()) {
            return seen;
        }
        List<Obstacle> all = new ArrayList<>(List.of(ContainerObstacles.notDumped(shown(id))));
        all.addAll(seen.obstacles());
        return new PreflightReport(all, seen.options());
    }

    /** The container of the part, and what runs outside of it. */
    public String shown(StageId id) {
        Part part = notes.of(id).orElseThrow();
        List<String> outside = new ArrayList<>(notes.running(id));
        part.told().forEach(container -> outside.add(container.shown()));
        return part.container().shown() + (outside.isEmpty() ? "" : ", and outside of it " + names(outside));
    }

    /** As the programs are named that a stage has chosen: cleaned. */
    static String names(List<String> programs) {
        return PlainText.of(String.join(", ", programs));
    }

    public long residentBytes(StageId id) {
        Optional<Part> part = notes.of(id);
        boolean counted = part.isPresent()
                && inner.containersOf(id).stream()
                        .anyMatch(known -> isSame(known, part.get().container()));
        if (part.isEmpty() || counted || state(id.contained()) == null) {
            return 0;
        }
        long init = inner.status(id.contained()).initPid();
        return init == 0
                ? 0
                : Proc.tree(init).stream()
                        .mapToLong(process -> Proc.residentBytes(process.pid()))
                        .sum();
    }

    public ResumeReport named(ResumeReport report) {
        return notes.ids().stream()
                .filter(id -> id.contained().equals(report.id()))
                .findFirst()
                .map(id -> new ResumeReport(
                        id,
                        report.restoreMillis(),
                        report.processes(),
                        report.unpackMillis(),
                        report.tier(),
                        report.warnings()))
                .orElse(report);
    }

    public StageStatus status(StageId id) {
        StageStatus whole = inner.status(id);
        Optional<Part> part = notes.of(id);
        State inside = part.isEmpty() ? null : state(id.contained());
        if (whole.state() != State.RUNNING || inside == null) {
            return whole;
        }
        if (part.get().frozen() && inside == State.RUNNING) {
            notes.write(id, part.get().withFrozen(false));
        }
        // One that ended with its container while it was frozen takes the stage with it, as one that lives there.
        boolean lost = part.get().frozen() && isOver(inside);
        return lost || SUSPENDED.contains(inside) ? suspended(whole, inner.status(id.contained())) : whole;
    }

    private static StageStatus suspended(StageStatus whole, StageStatus part) {
        return new StageStatus(
                whole.id(),
                whole.name(),
                part.state(),
                part.initPid(),
                whole.exitCode(),
                whole.workDir(),
                whole.startedAt(),
                part.archive(),
                part.suspensions(),
                whole.output(),
                part.tier());
    }

    public List<StageStatus> list() {
        List<StageId> parted = notes.ids();
        List<StageId> parts = parted.stream().map(StageId::contained).toList();
        return inner.list().stream()
                .filter(stage -> !parts.contains(stage.id()))
                .map(stage -> parted.contains(stage.id()) ? status(stage.id()) : stage)
                .toList();
    }
}
