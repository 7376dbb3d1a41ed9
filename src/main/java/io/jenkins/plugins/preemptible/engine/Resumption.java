package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuException;
import io.jenkins.plugins.preemptible.engine.criu.CriuOptions;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.image.ImageArchive;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.stage.MountStandIns;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageRecord;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus.State;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * One resume of a stage from its archive.
 *
 * <ol>
 *   <li>The archive is authenticated and unpacked as a whole; CRIU sees nothing before.
 *   <li>The record inside it must fit what this home knows of the stage: not running, not ended, this very suspension.
 *   <li>CRIU restores into a new control group; a failure kills whatever came to be and keeps the archive.
 * </ol>
 */
final class Resumption {

    private final Stages stages;
    private final Path archive;
    private final ImageKey key;

    Resumption(Stages stages, Path archive, ImageKey key) {
        this.stages = stages;
        this.archive = archive.toAbsolutePath();
        this.key = key;
    }

    ResumeReport resume() {
        Criu criu = stages.criu().usable().orElseThrow(() -> new ResumeFailedException(
                stages.criu().installed().isEmpty() ? FailureReason.CRIU_MISSING : FailureReason.CRIU_UNUSABLE, null));
        Path unpacked = null;
        try {
            unpacked = Files.createTempDirectory(stages.incoming(), "image");
            long begun = System.nanoTime();
            ImageManifest manifest = ImageArchive.read(archive, key, unpacked);
            long unpackMillis = Duration.ofNanos(System.nanoTime() - begun).toMillis();
            return restore(criu, unpacked, manifest, unpackMillis);
        } catch (ImageException e) {
            FailureReason reason = switch (e.reason()) {
                case MISSING -> FailureReason.IMAGE_MISSING;
                case NO_SPACE -> FailureReason.NO_SPACE;
                default -> FailureReason.IMAGE_UNUSABLE;
            };
            throw new ResumeFailedException(reason, e.finding(), List.of(), e);
        } catch (IOException e) {
            throw new ResumeFailedException(FailureReason.CRIU_FAILED, e.getMessage(), List.of(), e);
        } finally {
            deleteQuietly(unpacked);
        }
    }

    private ResumeReport restore(Criu criu, Path images, ImageManifest manifest, long unpackMillis) throws IOException {
        StageRecord sealed = new StageFolder(images)
                .read()
                .orElseThrow(() -> new ResumeFailedException(FailureReason.IMAGE_UNUSABLE, "it holds no stage record"));
        Files.delete(images.resolve("stage.json"));
        StageId id = StageId.parse(sealed.id());
        if (!id.value().equals(manifest.stageId())) {
            throw new ResumeFailedException(FailureReason.IMAGE_UNUSABLE, "its record and its manifest differ");
        }
        StageFolder folder = stages.folder(id);
        if (!sealed.sandbox() && !folder.path().toString().equals(sealed.folder())) {
            throw new ResumeFailedException(FailureReason.ELSEWHERE, sealed.folder());
        }
        boolean known = folder.exists();
        if (known) {
            stages.settle(id);
        } else {
            folder.create();
        }
        try (StageFolder.Held lock = lock(id)) {
            refuseUnfit(folder, sealed);
            finishKill(folder);
            return new ResumeReport(id, restore(criu, images, sealed, id), manifest.processes(), unpackMillis);
        } finally {
            if (!known && !folder.exists()) {
                deleteQuietly(folder.path());
            }
        }
    }

    private StageFolder.Held lock(StageId id) {
        try {
            return stages.lock(id);
        } catch (EngineException e) {
            throw new ResumeFailedException(e.reason(), e.detail());
        }
    }

    private static void refuseUnfit(StageFolder folder, StageRecord sealed) {
        Optional<StageRecord> known = folder.read();
        if (known.isEmpty()) {
            return;
        }
        FailureReason reason =
                switch (known.get().state()) {
                    // A resume that was cut off leaves RESUMING behind; the lock says that nobody is at it.
                    case SUSPENDED, RESUMING -> null;
                    case RUNNING -> FailureReason.STAGE_RUNS;
                    case SUSPENDING -> FailureReason.STAGE_BUSY;
                    case KILLED -> FailureReason.KILLED;
                    case ENDED, FAILED -> FailureReason.STAGE_ENDED;
                };
        if (reason == null && known.get().suspensions() != sealed.suspensions()) {
            reason = FailureReason.IMAGE_OUTDATED;
        }
        if (reason != null) {
            throw new ResumeFailedException(reason, sealed.id());
        }
    }

    // A commit or a resume that was cut off may have left frozen or half restored processes.
    private static void finishKill(StageFolder folder) throws IOException {
        Optional<StageRecord> known = folder.read();
        if (known.isPresent() && known.get().freezer() != null) {
            Stages.killWhole(Stages.freezer(known.get()).orElseThrow(), known.get().init());
        }
    }

    /** Returns the milliseconds that it took until the tree runs. */
    private long restore(Criu criu, Path images, StageRecord sealed, StageId id) throws IOException {
        StageFolder folder = stages.folder(id);
        Freezer freezer = FreezerKind.create(id, stages.freezers());
        StageRecord suspended = sealed.withState(State.SUSPENDED).withImage(archive.toString(), null);
        try {
            folder.write(suspended.withState(State.RESUMING).withFreezer(freezer.location()));
            long begun = System.nanoTime();
            long pid;
            try (MountStandIns standIns = MountStandIns.make(sealed.mounts())) {
                pid = criu.restore(images, folder, freezer, sealed.mounts(), CriuOptions.PLAIN);
            }
            Optional<HostProcess> init = HostProcess.of(pid);
            if (freezer.cgroup().isEmpty()) {
                freezer.thaw(init.orElse(null));
            }
            long restoreMillis = Duration.ofNanos(System.nanoTime() - begun).toMillis();
            // A stage that ended at once is found by its exit code at the next look.
            HostProcess first = init.orElse(new HostProcess(pid, 0, Proc.bootId()));
            StageRecord after = folder.change(r -> r.state() == State.RESUMING
                            ? r.withState(State.RUNNING).withInit(first).withImage(null, null)
                            : r)
                    .orElse(suspended);
            if (after.state() != State.RUNNING) {
                Stages.killWhole(freezer, first);
                throw new ResumeFailedException(FailureReason.KILLED, id.value());
            }
            return restoreMillis;
        } catch (CriuException e) {
            undo(folder, freezer, suspended);
            throw new ResumeFailedException(e.reason(), id.value(), e.lines(), e);
        } catch (IOException e) {
            undo(folder, freezer, suspended);
            throw e;
        } finally {
            deleteQuietly(folder.root());
        }
    }

    private static void undo(StageFolder folder, Freezer freezer, StageRecord suspended) {
        try {
            Stages.killWhole(freezer, null);
            folder.change(r -> r.state() == State.RESUMING ? suspended : r);
        } catch (IOException e) {
            // The record still says RESUMING with its freezer: the next resume or kill finishes this.
        }
    }

    private static void deleteQuietly(Path folder) {
        try {
            if (folder != null) {
                StageFolder.delete(folder);
            }
        } catch (IOException e) {
            // Left for the next one: it hinders nothing.
        }
    }
}
