package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.contained.ContainerTool;
import io.jenkins.plugins.preemptible.engine.container.ContainedParts;
import io.jenkins.plugins.preemptible.engine.container.ContainedParts.Part;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.preflight.ContainerObstacles;
import io.jenkins.plugins.preemptible.engine.preflight.Obstacle;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.stage.StageContainer;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The parts of stages that live in containers: their start and end, and which part of a stage is meant by a step on it.
 *
 * <p>What is meant is found anew by each step, from the states and processes of both parts. One of the two is suspended at a
 * time, so after a crash at any point their records say which.
 *
 * @param inner to which a part is a stage of its own
 */
record StageParts(Engine inner, ContainedParts notes) {

    private static final Set<State> SUSPENDED = Set.of(State.SUSPENDING, State.SUSPENDED, State.RESUMING);

    private static final Duration REMAINS = TimeLimits.of(Duration.ofSeconds(4));
    private static final Set<String> OF_REMAINS = Set.of("sh", "sleep");

    /** What of a stage runs, or is suspended. */
    enum Running {
        /** It has no part in a container, or that is over. */
        NO_PART,
        /** It has one in which nothing runs. */
        WHOLE,
        /** Nothing runs outside of that part. */
        PART,
        BOTH
    }

    Running running(StageId id) {
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
    Running settled(StageId id) {
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
    State state(StageId id) {
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
    StageId suspended(StageId id) {
        return notes.of(id).isPresent() && isSuspended(id.contained()) ? id.contained() : id;
    }

    private boolean isSuspended(StageId part) {
        State state = state(part);
        return state != null && SUSPENDED.contains(state);
    }

    EnterCommand start(StageId id, ContainerRef container, List<String> marks) {
        State now = inner.status(id).state();
        now.refusalToEnter().ifPresent(reason -> {
            throw new EngineException(reason, id.value());
        });
        Optional<Part> known = notes.of(id);
        State old = known.isEmpty() ? null : state(id.contained());
        if (old == State.RUNNING && isSame(known.get().container(), container)) {
            return inner.enterCommand(id.contained());
        }
        if (old != null && SUSPENDED.contains(old)) {
            throw new EngineException(FailureReason.STAGE_BUSY, id.value());
        }
        if (old == State.RUNNING && !notes.running(id.contained()).isEmpty()) {
            throw new EngineException(
                    FailureReason.CONTAINER_NOT_ENTERED,
                    container.shown() + ": something of the stage runs in "
                            + known.get().container().shown());
        }
        end(id);
        StageJson record =
                notes.record(id).orElseThrow(() -> new EngineException(FailureReason.UNKNOWN_STAGE, id.value()));
        if (record.container() != null) {
            throw new EngineException(
                    FailureReason.CONTAINER_NOT_ENTERED, container.shown() + ": the stage lives in another container");
        }
        notes.write(id, new Part(container, marks, inner.containersOf(id)));
        try {
            inner.startIn(
                    new StageSpec(
                            id.contained(),
                            record.name(),
                            Path.of(record.workDir()),
                            List.of(),
                            Map.of(),
                            record.connections(),
                            List.of()),
                    container,
                    marks);
            return inner.enterCommand(id.contained());
        } catch (RuntimeException e) {
            end(id);
            throw e;
        }
    }

    /** An id may be shorter than the other one. */
    private static boolean isSame(ContainerRef one, ContainerRef other) {
        return one.program().equals(other.program())
                && (one.id().startsWith(other.id()) || other.id().startsWith(one.id()));
    }

    /** Kills what is left of the part, and forgets it. */
    void end(StageId id) {
        Optional<Part> part = notes.of(id);
        if (part.isEmpty()) {
            return;
        }
        tellAgain(id);
        if (state(id) != null && !part.get().told().equals(inner.containersOf(id))) {
            // It is paused with the rest of the stage: nothing in it could end.
            inner.killInContainer(id, part.get().container());
        }
        kill(id);
        if (state(id.contained()) != null) {
            inner.forget(id.contained());
        }
        notes.delete(id);
    }

    void kill(StageId id) {
        if (notes.of(id).isPresent() && state(id.contained()) != null) {
            inner.kill(id.contained());
        }
    }

    /**
     * The container of a part that is suspended, if it is younger than the stage: killed now, the stage ends without the step
     * that would end the container.
     */
    Optional<StageContainer> orphan(StageId id) {
        if (suspended(id).equals(id)) {
            return Optional.empty();
        }
        HostProcess init = notes.record(id).map(StageJson::init).orElse(null);
        return notes.record(id.contained())
                .map(StageJson::container)
                .filter(container -> container.runs()
                        && init != null
                        && init.bootId().equals(container.first().bootId())
                        && init.startTicks() <= container.first().startTicks());
    }

    void remove(StageId id, StageContainer orphan) {
        try {
            ContainerTool tool = new ContainerTool(orphan.container());
            List<String> marks = notes.of(id).map(Part::marks).orElse(List.of());
            if (tool.inspect(marks).filter(ContainerTool.Seen::marked).isPresent()) {
                tool.remove();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(orphan.container().shown() + " could not be removed", e);
        }
    }

    /** Parts of stages that are no more. */
    void endStray() {
        notes.ids().stream().filter(id -> state(id) == null).forEach(this::end);
    }

    void tell(StageId id, List<ContainerRef> told) {
        notes.of(id).filter(part -> !part.told().equals(told)).ifPresent(part -> notes.write(id, part.withTold(told)));
    }

    /** Tells the inner engine only of the containers that it was told of, and no more of that which was frozen whole. */
    void tellAgain(StageId id) {
        notes.of(id)
                .filter(part -> !part.told().equals(inner.containersOf(id)) && state(id) != null)
                .ifPresent(part -> inner.tellContainers(id, part.told(), part.marks()));
    }

    List<ContainerRef> withOwn(StageId id, List<ContainerRef> told) {
        Optional<Part> part = notes.of(id);
        if (part.isEmpty()
                || told.stream().anyMatch(known -> isSame(known, part.get().container()))) {
            return told;
        }
        List<ContainerRef> all = new ArrayList<>(told);
        all.add(part.get().container());
        return all;
    }

    Frozen freeze(StageId id, FreezeRequest request) {
        DumpGuard guard = part -> {
            List<String> outside = notes.running(id);
            return outside.isEmpty()
                    ? request.guard().objection(id)
                    : Optional.of("something has just started outside of its container: " + names(outside));
        };
        FreezeRequest ofPart = request.mustNotRun()
                ? request
                : new FreezeRequest(guard, request.memoryFloorBytes()).orFrozenOnly(request.frozenOnlyBytes());
        Frozen frozen = inner.freeze(id.contained(), ofPart);
        return new Frozen(
                id,
                frozen.preflightMillis(),
                frozen.freezeMillis(),
                frozen.processes(),
                frozen.residentBytes(),
                frozen.handover(),
                frozen.memoryOnly(),
                frozen.ties());
    }

    /** With the whole container, as one that no part lives in. */
    Frozen freezeBoth(StageId id, FreezeRequest request) {
        if (inner.checkpoints() && !request.mustNotRun() && request.frozenOnlyBytes() == 0) {
            throw refusal(id);
        }
        Part part = notes.of(id).orElseThrow();
        inner.tellContainers(id, withOwn(id, part.told()), part.marks());
        boolean done = false;
        try {
            Frozen frozen = inner.freeze(id, request);
            done = true;
            return frozen;
        } finally {
            if (!done && !request.mustNotRun()) {
                tellAgain(id);
            }
        }
    }

    /** Kills what was frozen, unless something outside of the part has started since: that was launched before, and came late. */
    void commit(StageId id) {
        StageId suspended = suspended(id);
        List<String> outside = suspended.equals(id) ? List.of() : notes.running(id);
        if (!outside.isEmpty()) {
            inner.thaw(suspended);
            throw new SuspendFailedException(FailureReason.ENTERING, names(outside));
        }
        inner.commit(suspended);
    }

    SuspendFailedException refusal(StageId id) {
        return new SuspendFailedException(FailureReason.CONTAINER, shown(id));
    }

    PreflightReport withOutside(StageId id, PreflightReport seen) {
        if (!inner.checkpoints()) {
            return seen;
        }
        List<Obstacle> all = new ArrayList<>(List.of(ContainerObstacles.notDumped(shown(id))));
        all.addAll(seen.obstacles());
        return new PreflightReport(all, seen.options());
    }

    /** The container of the part, and what runs outside of it. */
    String shown(StageId id) {
        Part part = notes.of(id).orElseThrow();
        List<String> outside = new ArrayList<>(notes.running(id));
        part.told().forEach(container -> outside.add(container.shown()));
        return part.container().shown() + (outside.isEmpty() ? "" : ", and outside of it " + names(outside));
    }

    /** As the programs are named that a stage has chosen: cleaned. */
    private static String names(List<String> programs) {
        return PlainText.of(String.join(", ", programs));
    }

    long residentBytes(StageId id) {
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

    ResumeReport named(ResumeReport report) {
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

    StageStatus status(StageId id) {
        StageStatus whole = inner.status(id);
        return whole.state() == State.RUNNING && notes.of(id).isPresent() && isSuspended(id.contained())
                ? suspended(whole, inner.status(id.contained()))
                : whole;
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

    List<StageStatus> list() {
        List<StageId> parted = notes.ids();
        List<StageId> parts = parted.stream().map(StageId::contained).toList();
        return inner.list().stream()
                .filter(stage -> !parts.contains(stage.id()))
                .map(stage -> parted.contains(stage.id()) ? status(stage.id()) : stage)
                .toList();
    }
}
