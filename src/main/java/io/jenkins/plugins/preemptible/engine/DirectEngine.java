package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.Extent;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.api.Leftover;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.SealRequest;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.SuspendReport;
import io.jenkins.plugins.preemptible.engine.contained.ContainedStart;
import io.jenkins.plugins.preemptible.engine.container.StageContainers;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.home.CleanUp;
import io.jenkins.plugins.preemptible.engine.home.KillAndForget;
import io.jenkins.plugins.preemptible.engine.home.StageLaunch;
import io.jenkins.plugins.preemptible.engine.home.StageStart;
import io.jenkins.plugins.preemptible.engine.home.Stages;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.check.HostCheck;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import io.jenkins.plugins.preemptible.engine.host.check.PrivilegedCheck;
import io.jenkins.plugins.preemptible.engine.image.Arrival;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.live.LiveCheckpoint;
import io.jenkins.plugins.preemptible.engine.live.LiveImage;
import io.jenkins.plugins.preemptible.engine.live.LiveRequest;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedPart;
import io.jenkins.plugins.preemptible.engine.resume.ArchiveResume;
import io.jenkins.plugins.preemptible.engine.resume.LocalResume;
import io.jenkins.plugins.preemptible.engine.resume.UnpackedAhead;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import io.jenkins.plugins.preemptible.engine.suspend.CommitOrThaw;
import io.jenkins.plugins.preemptible.engine.suspend.Dumping;
import io.jenkins.plugins.preemptible.engine.suspend.Freezing;
import io.jenkins.plugins.preemptible.engine.suspend.MemoryOnly;
import io.jenkins.plugins.preemptible.engine.suspend.StagePreflight;
import io.jenkins.plugins.preemptible.engine.suspend.SuspendAttempt;
import io.jenkins.plugins.preemptible.engine.suspend.WholeSuspension;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * The engine that takes the steps in this process: as root, or through a privileged part that calls CRIU.
 *
 * <p>It only hands on. The steps are in {@code suspend} and {@code resume}, start and end in {@code home}.
 */
record DirectEngine(Stages stages) implements Engine {

    private static final Duration POLL = Duration.ofMillis(25);

    @Override
    public boolean checkpoints() {
        return stages.checkpoints();
    }

    @Override
    public HostReport check() {
        if (stages.freezers() == FreezerKind.HELPER) {
            return PrivilegedCheck.report(PrivilegedPart.find().orElseThrow(), stages.checkpoints());
        }
        HostReport report = new HostCheck(stages.criu(), stages.checkpoints()).report();
        return HostProcess.isRoot() ? report : PrivilegedCheck.withRemains(report);
    }

    @Override
    public StageStatus start(StageSpec spec) {
        return new StageStart(stages).start(spec);
    }

    @Override
    public StageStatus startIn(StageSpec spec, ContainerRef container, List<String> marks) {
        if (!HostProcess.isRoot()) {
            throw new EngineException(
                    FailureReason.CONTAINER_NOT_ENTERED, container.shown() + ": the agent's process is not root");
        }
        if (!checkpoints() || stages.criu().usable().isEmpty()) {
            throw new EngineException(
                    FailureReason.CONTAINER_NOT_ENTERED, container.shown() + ": this host makes no images");
        }
        return new StageStart(stages).startIn(spec, ContainedStart.find(container, marks));
    }

    @Override
    public EnterCommand enterCommand(StageId id) {
        StageJson record = stages.settle(id);
        record.state().refusalToEnter().ifPresent(reason -> {
            throw new EngineException(reason, id.value());
        });
        if (record.init() == null) {
            throw new EngineException(FailureReason.STAGE_BUSY, id.value());
        }
        Freezer freezer = Stages.freezer(record).orElseThrow();
        return record.container() == null
                ? StageLaunch.enter(id, record.init(), freezer)
                : ContainedStart.enter(id.value(), record.container(), record.init(), stages.folder(id), freezer);
    }

    @Override
    public PreflightReport preflight(StageId id) {
        return LiveCheckpoint.untraced(stages, id, new StagePreflight(stages).of(id));
    }

    @Override
    public Frozen freeze(StageId id, FreezeRequest request) {
        return new Freezing(attempt(id), new StagePreflight(stages)::of).freeze(request);
    }

    @Override
    public Checkpoint dump(StageId id, Path archive, ImageKey key, SealRequest request) {
        if (!checkpoints()) {
            throw MemoryOnly.refuseDump(id, request.ifFails(), () -> status(id).state(), () -> thaw(id));
        }
        return new Dumping(attempt(id)).dump(archive, key, request);
    }

    @Override
    public void commit(StageId id) {
        new CommitOrThaw(attempt(id)).commit();
    }

    @Override
    public void thaw(StageId id) {
        new CommitOrThaw(attempt(id)).thaw();
    }

    @Override
    public SuspendReport suspend(StageId id, Path archive, ImageKey key, Extent extent) {
        return new WholeSuspension(stages, id).suspend(archive, key, extent);
    }

    @Override
    public LiveImage checkpoint(StageId id, LiveRequest request) {
        return new LiveCheckpoint(stages, id, request).take();
    }

    private SuspendAttempt attempt(StageId id) {
        return new SuspendAttempt(stages, id);
    }

    @Override
    public ResumeReport resume(Path archive, ImageKey key) {
        return new ArchiveResume(stages, archive, key).resume();
    }

    @Override
    public void unpackAhead(Path archive, ImageKey key, Arrival arrival, BooleanSupplier cancelled) throws IOException {
        UnpackedAhead.unpack(stages, archive, key, arrival, cancelled);
    }

    @Override
    public void dropUnpacked(Path archive) throws IOException {
        UnpackedAhead.drop(stages, archive);
    }

    @Override
    public Optional<ResumeReport> resumeHere(StageId id, LastResort otherwise) {
        return new LocalResume(stages, id).resume(otherwise);
    }

    @Override
    public StageStatus status(StageId id) {
        return stages.status(id);
    }

    @Override
    public List<StageStatus> list() {
        return stages.list();
    }

    @Override
    public int await(StageId id) throws InterruptedException {
        while (true) {
            StageStatus now = status(id);
            if (now.over()) {
                return now.finalExitCode();
            }
            Thread.sleep(POLL.toMillis());
        }
    }

    @Override
    public void kill(StageId id) {
        new KillAndForget(stages, id).kill();
    }

    @Override
    public void forget(StageId id) {
        new KillAndForget(stages, id).forget();
    }

    @Override
    public List<Leftover> clean(boolean dryRun, Duration imageAge) {
        return new CleanUp(
                        () -> dryRun ? list() : new StageContainers(stages.home()).withoutPaused(list()),
                        this::forget,
                        Optional.of(stages))
                .clean(dryRun, imageAge);
    }
}
