package io.jenkins.plugins.preemptible.engine.part;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.contained.ContainerTool;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.part.PartNotes.Part;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.stage.StageContainer;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The start of a part that lives in a container, its end, and the steps of a suspension that concern both parts of a stage.
 */
public record PartSteps(StageParts parts, ToldContainers told, PartObstacle obstacle) {

    public EnterCommand start(StageId id, ContainerRef container, List<String> marks) {
        State now = parts.inner().status(id).state();
        now.refusalToEnter().ifPresent(reason -> {
            throw new EngineException(reason, id.value());
        });
        Optional<Part> known = parts.notes().of(id);
        State old = known.isEmpty() ? null : parts.state(id.contained());
        if (old == State.RUNNING && ToldContainers.isSame(known.get().container(), container)) {
            return parts.inner().enterCommand(id.contained());
        }
        if (old != null && StageParts.SUSPENDED.contains(old)) {
            throw new EngineException(FailureReason.STAGE_BUSY, id.value());
        }
        if (old == State.RUNNING && !parts.processes().running(id.contained()).isEmpty()) {
            throw new EngineException(
                    FailureReason.CONTAINER_NOT_ENTERED,
                    container.shown() + ": something of the stage runs in "
                            + known.get().container().shown());
        }
        end(id);
        StageJson record = parts.processes()
                .record(id)
                .orElseThrow(() -> new EngineException(FailureReason.UNKNOWN_STAGE, id.value()));
        if (record.container() != null) {
            throw new EngineException(
                    FailureReason.CONTAINER_NOT_ENTERED, container.shown() + ": the stage lives in another container");
        }
        StageSpec spec = new StageSpec(
                id.contained(),
                record.name(),
                Path.of(record.workDir()),
                List.of(),
                Map.of(),
                record.connections(),
                List.of());
        parts.notes().write(id, new Part(container, marks, parts.inner().containersOf(id), false));
        try {
            parts.inner().startIn(spec, container, marks);
            return parts.inner().enterCommand(id.contained());
        } catch (RuntimeException e) {
            end(id);
            throw e;
        }
    }

    /** Kills what is left of the part, and forgets it. */
    public void end(StageId id) {
        Optional<Part> part = parts.notes().of(id);
        if (part.isEmpty()) {
            return;
        }
        told.tellAgain(id);
        if (parts.state(id) != null && !part.get().told().equals(parts.inner().containersOf(id))) {
            // It is paused with the rest of the stage: nothing in it could end.
            parts.inner().killInContainer(id, part.get().container());
        }
        kill(id);
        if (parts.state(id.contained()) != null) {
            parts.inner().forget(id.contained());
        }
        parts.notes().delete(id);
    }

    public void kill(StageId id) {
        if (parts.notes().of(id).isPresent() && parts.state(id.contained()) != null) {
            parts.inner().kill(id.contained());
        }
    }

    /**
     * The container of a part that is suspended, if it is younger than the stage: killed now, the stage ends without the step
     * that would end the container.
     */
    public Optional<StageContainer> orphan(StageId id) {
        if (parts.suspended(id).equals(id)) {
            return Optional.empty();
        }
        HostProcess init = parts.processes().record(id).map(StageJson::init).orElse(null);
        return parts.processes()
                .record(id.contained())
                .map(StageJson::container)
                .filter(container -> container.runs()
                        && init != null
                        && init.bootId().equals(container.first().bootId())
                        && init.startTicks() <= container.first().startTicks());
    }

    public void remove(StageId id, StageContainer orphan) {
        try {
            ContainerTool tool = new ContainerTool(orphan.container());
            List<String> marks = parts.notes().of(id).map(Part::marks).orElse(List.of());
            if (tool.inspect(marks).filter(ContainerTool.Seen::marked).isPresent()) {
                tool.remove();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(orphan.container().shown() + " could not be removed", e);
        }
    }

    /** Parts of stages that are no more. */
    public void endStray() {
        parts.notes().ids().stream().filter(id -> parts.state(id) == null).forEach(this::end);
    }

    public Frozen freeze(StageId id, FreezeRequest request) {
        DumpGuard guard = part -> {
            List<String> outside = parts.processes().running(id);
            return outside.isEmpty()
                    ? request.guard().objection(id)
                    : Optional.of(
                            "something has just started outside of its container: " + PartObstacle.names(outside));
        };
        FreezeRequest ofPart = request.mustNotRun()
                ? request
                : new FreezeRequest(guard, request.memoryFloorBytes()).orFrozenOnly(request.frozenOnlyBytes());
        Frozen frozen = parts.inner().freeze(id.contained(), ofPart);
        parts.notes().of(id).ifPresent(part -> parts.notes().write(id, part.withFrozen(true)));
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
    public Frozen freezeBoth(StageId id, FreezeRequest request) {
        if (parts.inner().checkpoints() && !request.mustNotRun() && request.frozenOnlyBytes() == 0) {
            throw obstacle.refusal(id);
        }
        Part part = parts.notes().of(id).orElseThrow();
        parts.inner().tellContainers(id, told.withOwn(id, part.told()), part.marks());
        boolean done = false;
        try {
            Frozen frozen = parts.inner().freeze(id, request);
            done = true;
            return frozen;
        } finally {
            if (!done && !request.mustNotRun()) {
                told.tellAgain(id);
            }
        }
    }

    /** Kills what was frozen, unless something outside of the part has started since: that was launched before, and came late. */
    public void commit(StageId id) {
        StageId suspended = parts.suspended(id);
        List<String> outside =
                suspended.equals(id) ? List.of() : parts.processes().running(id);
        if (!outside.isEmpty()) {
            parts.inner().thaw(suspended);
            throw new SuspendFailedException(FailureReason.ENTERING, PartObstacle.names(outside));
        }
        parts.inner().commit(suspended);
    }
}
