package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.Extent;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.api.Leftover;
import io.jenkins.plugins.preemptible.engine.api.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.SealRequest;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.SuspendReport;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.container.StageContainers;
import io.jenkins.plugins.preemptible.engine.home.CleanUp;
import io.jenkins.plugins.preemptible.engine.home.PrivilegedStages;
import io.jenkins.plugins.preemptible.engine.home.PrivilegedStart;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import io.jenkins.plugins.preemptible.engine.host.check.PrivilegedCheck;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.live.LiveImage;
import io.jenkins.plugins.preemptible.engine.live.LiveRequest;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import io.jenkins.plugins.preemptible.engine.privileged.Verb;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.suspend.MemoryOnly;
import io.jenkins.plugins.preemptible.engine.suspend.PrivilegedFreezing;
import io.jenkins.plugins.preemptible.engine.suspend.SuspendAttempt;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The engine of a user without root's rights whose privileged part makes no images.
 *
 * <ol>
 *   <li>The privileged part starts, freezes, thaws, enters and kills: one call through sudo each, of some 20 ms. The
 *       stage's files, its output and its exit code lie in the user's own home folder.
 *   <li>A suspended stage stays frozen in the host's memory, see {@link #checkpoints}.
 *   <li>Preflight, memory and guard are asked in this process, since they need no rights.
 * </ol>
 *
 * Safe for any threads and processes, as {@link Engine} is.
 */
record SudoEngine(PrivilegedStages stages) implements Engine {

    private static final Duration POLL = Duration.ofMillis(100);
    /** Every how many polls the privileged part is asked, too: a killed stage leaves no exit code. */
    private static final int ASK = 20;

    /** Never: images are made and restored by programs that need root's rights and would read what the user wrote. */
    @Override
    public boolean checkpoints() {
        return false;
    }

    @Override
    public HostReport check() {
        return PrivilegedCheck.report(stages.part(), false);
    }

    @Override
    public StageStatus start(StageSpec spec) {
        return new PrivilegedStart(stages).start(spec);
    }

    @Override
    public EnterCommand enterCommand(StageId id) {
        status(id).state().refusalToEnter().ifPresent(reason -> {
            throw new EngineException(reason, id.value());
        });
        return stages.part().enter(id);
    }

    @Override
    public PreflightReport preflight(StageId id) {
        return new PrivilegedFreezing(stages, id).preflight();
    }

    @Override
    public Frozen freeze(StageId id, FreezeRequest request) {
        return new PrivilegedFreezing(stages, id).freeze(request);
    }

    @Override
    public Checkpoint dump(StageId id, Path archive, ImageKey key, SealRequest request) {
        throw MemoryOnly.refuseDump(id, request.ifFails(), () -> status(id).state(), () -> thaw(id));
    }

    @Override
    public void commit(StageId id) {
        status(id);
        throw new SuspendFailedException(FailureReason.NO_CHECKPOINT, id.value());
    }

    @Override
    public void thaw(StageId id) {
        new PrivilegedFreezing(stages, id).thaw();
    }

    @Override
    public SuspendReport suspend(StageId id, Path archive, ImageKey key, Extent extent) {
        throw new SuspendFailedException(FailureReason.MEMORY_ONLY, id.value());
    }

    @Override
    public LiveImage checkpoint(StageId id, LiveRequest request) {
        throw new SuspendFailedException(FailureReason.MEMORY_ONLY, id.value());
    }

    @Override
    public ResumeReport resume(Path archive, ImageKey key) {
        throw new ResumeFailedException(FailureReason.MEMORY_ONLY, archive.toString());
    }

    @Override
    public Optional<ResumeReport> resumeHere(StageId id, LastResort otherwise) {
        status(id).state().refusalToResume().ifPresent(refusal -> {
            throw new ResumeFailedException(refusal, id.value());
        });
        try {
            int processes = stages.pids(id).size();
            long begun = System.nanoTime();
            stages.part().call(Verb.THAW, id);
            return Optional.of(
                    new ResumeReport(id, SuspendAttempt.millis(begun, System.nanoTime()), processes, 0, Tier.FROZEN));
        } catch (IOException e) {
            throw new UncheckedIOException("the frozen stage " + id + " cannot be read", e);
        }
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
        status(id);
        for (int polls = 0; ; polls++) {
            if (Files.exists(stages.own().stage(id).path().resolve("exit")) || polls % ASK == ASK - 1) {
                StageStatus now = status(id);
                if (now.over()) {
                    return now.finalExitCode();
                }
            }
            Thread.sleep(POLL.toMillis());
        }
    }

    @Override
    public void kill(StageId id) {
        status(id);
        stages.part().call(Verb.KILL, id);
    }

    @Override
    public void forget(StageId id) {
        status(id);
        stages.part().call(Verb.FORGET, id);
        stages.own().stage(id).deleteQuietly();
    }

    @Override
    public List<Leftover> clean(boolean dryRun, Duration imageAge) {
        return new CleanUp(
                        () -> dryRun ? list() : new StageContainers(stages.own().home()).withoutPaused(list()),
                        this::forget,
                        Optional.empty())
                .clean(dryRun, imageAge);
    }
}
