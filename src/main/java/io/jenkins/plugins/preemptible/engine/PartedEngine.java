package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.Extent;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.api.Leftover;
import io.jenkins.plugins.preemptible.engine.api.PausedContainers;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.SealRequest;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.SuspendReport;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.live.LiveImage;
import io.jenkins.plugins.preemptible.engine.live.LiveRequest;
import io.jenkins.plugins.preemptible.engine.part.PartNotes;
import io.jenkins.plugins.preemptible.engine.part.PartObstacle;
import io.jenkins.plugins.preemptible.engine.part.PartProcesses;
import io.jenkins.plugins.preemptible.engine.part.PartSteps;
import io.jenkins.plugins.preemptible.engine.part.StageParts;
import io.jenkins.plugins.preemptible.engine.part.StageParts.Running;
import io.jenkins.plugins.preemptible.engine.part.ToldContainers;
import io.jenkins.plugins.preemptible.engine.part.WholeStages;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.stage.StageContainer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * An engine whose stages on the host may have a part that lives in a container.
 *
 * <ol>
 *   <li>A part is a stage of its own to the inner engine, under an id that nobody else is told.
 *   <li>Where alone the part has processes of its own, that part is what is frozen, dumped and resumed. The stage's other
 *       part, an init that idles, stays as it is.
 *   <li>Where both have, both are frozen, and neither is dumped: two images of two moments would not fit each other.
 *   <li>A stage without a part, or with one in which nothing runs, is the inner engine's alone.
 * </ol>
 */
record PartedEngine(
        Engine inner, StageParts parts, ToldContainers told, PartObstacle obstacle, WholeStages whole, PartSteps steps)
        implements ForwardingEngine {

    static Engine of(Engine inner, Path home) {
        StageParts parts = new StageParts(inner, new PartNotes(home), new PartProcesses(home));
        ToldContainers told = new ToldContainers(parts);
        PartObstacle obstacle = new PartObstacle(parts);
        return new PartedEngine(
                inner, parts, told, obstacle, new WholeStages(parts), new PartSteps(parts, told, obstacle));
    }

    @Override
    public EnterCommand enterContainer(StageId id, ContainerRef container, List<String> marks) {
        return steps.start(id, container, marks);
    }

    @Override
    public void leaveContainer(StageId id) {
        steps.end(id);
    }

    @Override
    public Optional<EnterCommand> containedCommand(StageId id) {
        return parts.running(id) == Running.NO_PART || parts.state(id.contained()) != State.RUNNING
                ? Optional.empty()
                : Optional.of(inner.enterCommand(id.contained()));
    }

    @Override
    public void tellContainers(StageId id, List<ContainerRef> containers, List<String> marks) {
        told.tell(id, containers);
        inner.tellContainers(id, containers, marks);
    }

    @Override
    public List<ContainerRef> containersOf(StageId id) {
        return told.withOwn(id, inner.containersOf(id));
    }

    @Override
    public PausedContainers pausedContainers(StageId id) {
        return inner.pausedContainers(id);
    }

    @Override
    public long containedBytes(StageId id) {
        return inner.containedBytes(id) + told.residentBytes(id);
    }

    @Override
    public void killInContainer(StageId id, ContainerRef container) {
        inner.killInContainer(id, container);
    }

    @Override
    public PreflightReport preflight(StageId id) {
        told.tellAgain(id);
        return switch (parts.settled(id)) {
            case PART -> inner.preflight(id.contained());
            case BOTH -> obstacle.withOutside(id, inner.preflight(id));
            case NO_PART, WHOLE -> inner.preflight(id);
        };
    }

    @Override
    public Frozen freeze(StageId id, FreezeRequest request) {
        told.tellAgain(id);
        return switch (request.mustNotRun() ? parts.running(id) : parts.settled(id)) {
            case PART -> steps.freeze(id, request);
            case BOTH -> steps.freezeBoth(id, request);
            case NO_PART, WHOLE -> inner.freeze(id, request);
        };
    }

    @Override
    public Checkpoint dump(StageId id, Path archive, ImageKey key, SealRequest request) {
        Checkpoint done = inner.dump(parts.suspended(id), archive, key, request);
        return new Checkpoint(
                id,
                done.frozenMillis(),
                done.dumpMillis(),
                done.archiveMillis(),
                done.imageBytes(),
                done.archiveBytes(),
                done.processes(),
                done.imageId(),
                done.parentId(),
                done.skipped(),
                done.trial());
    }

    @Override
    public void commit(StageId id) {
        steps.commit(id);
    }

    @Override
    public void thaw(StageId id) {
        inner.thaw(parts.suspended(id));
    }

    @Override
    public SuspendReport suspend(StageId id, Path archive, ImageKey key, Extent extent) {
        told.tellAgain(id);
        return switch (parts.running(id)) {
            // No verb of Jenkins': the report names the part.
            case PART -> inner.suspend(id.contained(), archive, key, extent);
            case BOTH -> throw obstacle.refusal(id);
            case NO_PART, WHOLE -> inner.suspend(id, archive, key, extent);
        };
    }

    @Override
    public LiveImage checkpoint(StageId id, LiveRequest request) {
        if (parts.running(id) != Running.NO_PART) {
            throw new SuspendFailedException(FailureReason.CONTAINER, obstacle.shown(id));
        }
        return inner.checkpoint(id, request);
    }

    @Override
    public ResumeReport resume(Path archive, ImageKey key) {
        return whole.named(inner.resume(archive, key));
    }

    @Override
    public Optional<ResumeReport> resumeHere(StageId id, LastResort otherwise) {
        return inner.resumeHere(parts.suspended(id), otherwise).map(whole::named);
    }

    @Override
    public StageStatus status(StageId id) {
        return whole.status(id);
    }

    @Override
    public List<StageStatus> list() {
        return whole.list();
    }

    /** In this order: a container that is paused holds what is in it. */
    @Override
    public void kill(StageId id) {
        Optional<StageContainer> orphan = steps.orphan(id);
        try {
            inner.kill(id);
        } finally {
            steps.kill(id);
            orphan.ifPresent(container -> steps.remove(id, container));
        }
    }

    @Override
    public void forget(StageId id) {
        inner.forget(id);
        steps.end(id);
    }

    @Override
    public List<Leftover> clean(boolean dryRun, Duration imageAge) {
        List<Leftover> left = inner.clean(dryRun, imageAge);
        if (!dryRun) {
            steps.endStray();
        }
        return left;
    }
}
