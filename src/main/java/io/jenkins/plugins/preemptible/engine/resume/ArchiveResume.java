package io.jenkins.plugins.preemptible.engine.resume;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.api.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.home.InterruptedSteps;
import io.jenkins.plugins.preemptible.engine.home.OldImages;
import io.jenkins.plugins.preemptible.engine.home.Stages;
import io.jenkins.plugins.preemptible.engine.host.HostProbe;
import io.jenkins.plugins.preemptible.engine.image.HostFingerprint;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import io.jenkins.plugins.preemptible.engine.stage.FileStamp;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import io.jenkins.plugins.preemptible.engine.suspend.SuspendAttempt;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A resume of a stage from its archive, or from what this host has of the same suspension.
 *
 * <ol>
 *   <li>When the archive is the very file that the stage was suspended into last, untouched, and its first part is
 *       authentic under the key (or all of it was, as it arrived), what is left on this host serves ({@link LocalResume}).
 *   <li>Otherwise the archive is authenticated and unpacked as a whole, unless that was done while it arrived; CRIU sees
 *       nothing before.
 *   <li>The record inside it must fit what this home knows of the stage: not running, not ended, this very suspension.
 * </ol>
 */
public final class ArchiveResume {

    private final Stages stages;
    private final Path archive;
    private final ImageKey key;

    public ArchiveResume(Stages stages, Path archive, ImageKey key) {
        this.stages = stages;
        this.archive = archive.toAbsolutePath();
        this.key = key;
    }

    public ResumeReport resume() {
        Criu criu = Restore.usableCriu(stages);
        Path unpacked = null;
        try {
            Optional<UnpackedAhead> ahead = UnpackedAhead.take(archive, key);
            unpacked = ahead.map(UnpackedAhead::folder).orElse(null);
            ImageManifest manifest =
                    ahead.isPresent() ? ahead.get().image().manifest() : ImageArchive.manifestOf(archive, key);
            Optional<ResumeReport> near = near(manifest);
            if (near.isPresent()) {
                return near.get();
            }
            if (ahead.isPresent()) {
                return restore(criu, unpacked, ahead.get().image(), ahead.get().millis());
            }
            unpacked = stages.incoming().folder(manifest.allBytes());
            long begun = System.nanoTime();
            ImageArchive.Unpacked image = ImageArchive.read(ReadRequest.of(archive, key), unpacked);
            long unpackMillis = SuspendAttempt.millis(begun, System.nanoTime());
            return restore(criu, unpacked, image, unpackMillis);
        } catch (ImageException e) {
            FailureReason reason =
                    switch (e.reason()) {
                        case MISSING -> FailureReason.IMAGE_MISSING;
                        case NO_SPACE -> FailureReason.NO_SPACE;
                        default -> FailureReason.IMAGE_UNUSABLE;
                    };
            // The reason's own remedy is about images of this version.
            boolean otherVersion = e.reason() == ImageException.Reason.OTHER_VERSION;
            throw new ResumeFailedException(reason, otherVersion ? e.getMessage() : e.finding(), List.of(), e);
        } catch (IOException e) {
            throw new ResumeFailedException(FailureReason.CRIU_FAILED, e.getMessage(), List.of(), e);
        } finally {
            OldImages.deleteQuietly(unpacked);
        }
    }

    private Optional<ResumeReport> near(ImageManifest manifest) {
        StageId id = StageId.parse(manifest.stageId());
        boolean same = stages.folder(id)
                .read()
                .filter(r -> r.state() == State.SUSPENDED || r.state() == State.SUSPENDING)
                .map(StageJson::image)
                .filter(i -> i.createdAt().equals(manifest.createdAt()))
                .filter(i -> FileStamp.of(archive).equals(i.archiveStamp()))
                .isPresent();
        return same ? new LocalResume(stages, id).resume(LastResort.ARCHIVE) : Optional.empty();
    }

    private ResumeReport restore(Criu criu, Path images, ImageArchive.Unpacked image, long unpackMillis)
            throws IOException {
        ImageManifest manifest = image.manifest();
        StageJson sealed = new StageFolder(images)
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
        if (folder.exists()) {
            stages.settle(id);
        } else if (!Files.isDirectory(folder.path())) {
            // A folder without a record was left by a resume that was cut off.
            folder.create();
        }
        try (StageFolder.Held lock = lock(stages, id)) {
            return restore(criu, images, image, unpackMillis, folder, sealed);
        }
    }

    private ResumeReport restore(
            Criu criu,
            Path images,
            ImageArchive.Unpacked image,
            long unpackMillis,
            StageFolder folder,
            StageJson sealed)
            throws IOException {
        ImageManifest manifest = image.manifest();
        StageId id = StageId.parse(sealed.id());
        boolean known = folder.exists();
        try {
            refuseUnfit(folder, sealed);
            List<String> warnings = new ArrayList<>(compareHosts(criu, manifest));
            InterruptedSteps.finishKill(folder);
            putBack(image, folder.read().map(StageJson::preserved).orElse(null));
            // The record that is here knows the archive's stamp, unless the stage was resumed elsewhere meanwhile.
            StageJson here = folder.read().orElse(sealed);
            StageJson.Image last = sealed.suspensions() > here.suspensions() ? sealed.image() : here.image();
            StageJson suspended = here.withImage(last)
                    .withState(State.SUSPENDED)
                    .withInit(null)
                    .withFreezer(null)
                    .withMounts(sealed.mounts())
                    .withSuspensions(sealed.suspensions())
                    .withArchive(archive.toString(), null);
            Restore.Restored restored = new Restore(stages, id, criu).restore(images, sealed, suspended);
            warnings.addAll(restored.warnings());
            return new ResumeReport(id, restored.millis(), manifest.processes(), unpackMillis, Tier.ARCHIVE, warnings);
        } finally {
            if (!known && !folder.exists()) {
                OldImages.deleteQuietly(folder.path());
            }
        }
    }

    /** Returns what differs and may still work; refuses what cannot. */
    private List<String> compareHosts(Criu criu, ImageManifest manifest) {
        if (manifest.host() == null) {
            return List.of();
        }
        List<HostFingerprint.Objection> objections = HostFingerprint.objections(
                manifest.host(),
                HostProbe.fingerprint(criu.version(), manifest.host().buildIds().keySet()));
        for (HostFingerprint.Objection each : objections) {
            if (each.refusal()) {
                throw new ResumeFailedException(FailureReason.OTHER_PROCESSOR, each.sentence());
            }
        }
        return objections.stream().map(HostFingerprint.Objection::sentence).toList();
    }

    // A host that knows the stage knows what it declared; another one has to believe the image, as it does in all else.
    private void putBack(ImageArchive.Unpacked image, List<String> declared) throws ImageException {
        image.preserved()
                .putBack(
                        declared == null
                                ? null
                                : declared.stream().map(Path::of).toList());
    }

    static StageFolder.Held lock(Stages stages, StageId id) {
        try {
            return stages.lock(id);
        } catch (EngineException e) {
            throw new ResumeFailedException(e.reason(), e.detail());
        }
    }

    private static void refuseUnfit(StageFolder folder, StageJson sealed) {
        Optional<StageJson> known = folder.read();
        if (known.isEmpty()) {
            return;
        }
        FailureReason reason =
                switch (known.get().state()) {
                    // A resume that was cut off leaves RESUMING behind; the free lock says that no process works on it.
                    case SUSPENDED, RESUMING -> null;
                    case RUNNING -> FailureReason.STAGE_RUNS;
                    case SUSPENDING -> FailureReason.STAGE_BUSY;
                    case KILLED -> FailureReason.KILLED;
                    case ENDED, FAILED -> FailureReason.STAGE_ENDED;
                };
        if (reason == null && outdated(known.get(), sealed)) {
            reason = FailureReason.IMAGE_OUTDATED;
        }
        if (reason != null) {
            throw new ResumeFailedException(reason, sealed.id());
        }
    }

    // Numbers alone are not enough: a suspension that was given up had the same one. A higher number comes from another
    // host, where the stage was resumed.
    private static boolean outdated(StageJson known, StageJson sealed) {
        boolean sameImage = known.image() == null
                || sealed.image() == null
                || known.image().createdAt().equals(sealed.image().createdAt());
        return known.suspensions() > sealed.suspensions()
                || (known.suspensions() == sealed.suspensions() && !sameImage);
    }
}
