package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.Extent;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.api.Leftover;
import io.jenkins.plugins.preemptible.engine.api.PausedContainers;
import io.jenkins.plugins.preemptible.engine.api.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.SealRequest;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.SuspendReport;
import io.jenkins.plugins.preemptible.engine.container.ContainedFreeze;
import io.jenkins.plugins.preemptible.engine.container.StageContainers;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.live.LiveImage;
import io.jenkins.plugins.preemptible.engine.live.LiveRequest;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * An engine that stops the containers of a stage with the stage.
 *
 * <p>All that concerns the stage's own tree is the inner engine's, and so is everything of a stage without containers. While
 * containers are paused, the tree is frozen: they are paused after it and run again before it.
 */
record ContainerEngine(Engine inner, StageContainers containers) implements ForwardingEngine {

    /** Of a stage that cannot be forgotten. */
    private static final Set<State> GOING_ON = Set.of(State.RUNNING, State.SUSPENDING, State.RESUMING);

    static Engine of(Engine inner, Path home) {
        return new ContainerEngine(inner, new StageContainers(home));
    }

    @Override
    public void tellContainers(StageId id, List<ContainerRef> told, List<String> marks) {
        try {
            if (!told.isEmpty() || !containers.of(id).isEmpty()) {
                containers.tell(
                        id,
                        told,
                        marks,
                        HostProcess.of(inner.status(id).initPid()).orElse(null));
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the containers of " + id + " cannot be noted", e);
        }
    }

    @Override
    public List<ContainerRef> containersOf(StageId id) {
        return containers.of(id);
    }

    @Override
    public PausedContainers pausedContainers(StageId id) {
        return containers.stillPaused(id);
    }

    @Override
    public long containedBytes(StageId id) {
        return containers.of(id).isEmpty()
                ? 0
                : containers.look(id).stream()
                        .mapToLong(StageContainers.Seen::residentBytes)
                        .sum();
    }

    @Override
    public void killInContainer(StageId id, ContainerRef container) {
        try {
            containers.kill(id, container, false);
        } catch (IOException e) {
            throw unreachable(e);
        }
    }

    @Override
    public PreflightReport preflight(StageId id) {
        PreflightReport seen = inner.preflight(id);
        return containers.of(id).isEmpty() ? seen : ContainedFreeze.with(seen, containers.look(id), checkpoints());
    }

    @Override
    public Frozen freeze(StageId id, FreezeRequest request) {
        if (containers.of(id).isEmpty()) {
            return inner.freeze(id, request);
        }
        return new ContainedFreeze(containers, id, checkpoints()).freeze(request, inner::freeze);
    }

    @Override
    public Checkpoint dump(StageId id, Path archive, ImageKey key, SealRequest request) {
        if (!containers.of(id).isEmpty()) {
            if (request.ifFails() == IfDumpFails.THAW && status(id).state() == State.SUSPENDING) {
                thaw(id);
            }
            throw new SuspendFailedException(FailureReason.CONTAINER, shown(id));
        }
        return inner.dump(id, archive, key, request);
    }

    @Override
    public SuspendReport suspend(StageId id, Path archive, ImageKey key, Extent extent) {
        if (!containers.of(id).isEmpty()) {
            throw new SuspendFailedException(FailureReason.CONTAINER, shown(id));
        }
        return inner.suspend(id, archive, key, extent);
    }

    @Override
    public LiveImage checkpoint(StageId id, LiveRequest request) {
        if (!containers.of(id).isEmpty()) {
            throw new SuspendFailedException(FailureReason.CONTAINER, shown(id));
        }
        return inner.checkpoint(id, request);
    }

    private String shown(StageId id) {
        return containers.of(id).get(0).shown();
    }

    @Override
    public void thaw(StageId id) {
        try {
            containers.unpause(id);
        } catch (IOException e) {
            throw unreachable(e);
        }
        boolean thawed = false;
        try {
            inner.thaw(id);
            thawed = true;
        } finally {
            if (!thawed && inner.status(id).state() == State.SUSPENDED) {
                pauseAgain(id);
            }
        }
    }

    @Override
    public Optional<ResumeReport> resumeHere(StageId id, LastResort otherwise) {
        if (!containers.paused(id)) {
            return inner.resumeHere(id, otherwise);
        }
        inner.status(id).state().refusalToResume().ifPresent(refusal -> {
            throw new ResumeFailedException(refusal, id.value());
        });
        boolean resumed = false;
        try {
            List<String> missing = containers.unpause(id);
            Optional<ResumeReport> done = inner.resumeHere(id, otherwise);
            resumed = done.isPresent();
            return done.map(report -> withContainers(report, missing));
        } catch (IOException e) {
            throw unreachable(e);
        } finally {
            if (!resumed) {
                pauseAgain(id);
            }
        }
    }

    private void pauseAgain(StageId id) {
        try {
            containers.pause(id, true);
        } catch (IOException e) {
            System.getLogger(ContainerEngine.class.getName())
                    .log(System.Logger.Level.WARNING, id + " is suspended, and a container of it may run", e);
        }
    }

    private ResumeReport withContainers(ResumeReport report, List<String> missing) {
        List<String> all = new ArrayList<>(missing);
        all.addAll(report.warnings());
        int contained = containers.look(report.id()).stream()
                .mapToInt(StageContainers.Seen::processes)
                .sum();
        return new ResumeReport(
                report.id(),
                report.restoreMillis(),
                report.processes() + contained,
                report.unpackMillis(),
                report.tier(),
                all);
    }

    /** The tree is killed also where a container cannot be; another call tries that again. */
    @Override
    public void kill(StageId id) {
        try {
            containers.end(id);
        } catch (IOException e) {
            throw new UncheckedIOException("the containers of " + id + " could not be ended", e);
        } finally {
            inner.kill(id);
        }
    }

    /** With its folder and its note nothing would be left that lets a paused container run again: that comes first. */
    @Override
    public void forget(StageId id) {
        if (containers.paused(id) && !GOING_ON.contains(inner.status(id).state())) {
            try {
                containers.end(id);
            } catch (IOException e) {
                throw unreachable(e);
            }
        }
        inner.forget(id);
        containers.forget(id);
    }

    private static EngineException unreachable(IOException e) {
        return new EngineException(FailureReason.CONTAINER_UNREACHABLE, e.getMessage(), List.of(), e);
    }

    /** Containers that a step which was cut off has left paused beside a tree that runs, run again. */
    @Override
    public StageStatus status(StageId id) {
        StageStatus now = inner.status(id);
        if (now.state() == State.RUNNING && containers.paused(id)) {
            try {
                containers.unpause(id);
            } catch (IOException e) {
                throw unreachable(e);
            }
        }
        return now;
    }

    @Override
    public void commit(StageId id) {
        inner.commit(id);
    }

    @Override
    public ResumeReport resume(Path archive, ImageKey key) {
        return inner.resume(archive, key);
    }

    @Override
    public List<StageStatus> list() {
        return inner.list();
    }

    @Override
    public List<Leftover> clean(boolean dryRun, Duration imageAge) {
        // First the notes, then the stages: one that starts meanwhile is known.
        List<StageId> noted = dryRun ? List.of() : containers.noted();
        if (!dryRun) {
            inner.list().stream().filter(StageStatus::over).map(StageStatus::id).forEach(this::endQuietly);
        }
        List<Leftover> left = inner.clean(dryRun, imageAge);
        noted.forEach(id -> containers.endStray(id, this::isKnown));
        return left;
    }

    private boolean isKnown(StageId id) {
        return inner.list().stream().anyMatch(stage -> stage.id().equals(id));
    }

    /** The inner engine keeps the folder of a stage of which this does not succeed. */
    private void endQuietly(StageId id) {
        try {
            containers.end(id);
        } catch (IOException | UncheckedIOException e) {
            System.getLogger(ContainerEngine.class.getName())
                    .log(
                            System.Logger.Level.WARNING,
                            "a container of " + id + ", which is over, may still be paused",
                            e);
        }
    }
}
