package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.Checkpoint;
import io.jenkins.plugins.preemptible.engine.EngineException;
import io.jenkins.plugins.preemptible.engine.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.image.ImageArchive;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;

/**
 * An image that the host sealed, on its way into an archive of the caller's.
 *
 * <ol>
 *   <li>The host's bytes become the only file of an image folder; they are not understood here.
 *   <li>That folder is sealed with the caller's key: the controller's seal around the host's.
 *   <li>The folder is gone afterwards, however it ends.
 * </ol>
 */
final class Wrapping implements AutoCloseable {

    /** The name of the host's bytes in the archive. */
    static final String SEALED = "host.preempt";

    private final OwnFolders own;
    private final StageId id;
    private final Path archive;
    private Path folder;

    Wrapping(OwnFolders own, StageId id, Path archive) {
        this.own = own;
        this.id = id;
        this.archive = archive;
    }

    void requireFolder() {
        Path parent = archive.getParent();
        if (parent == null || !Files.isDirectory(parent) || !Files.isWritable(parent) || Files.isDirectory(archive)) {
            throw new EngineException(FailureReason.BAD_FOLDER, archive.toString());
        }
    }

    void take(Checkpoint told, InputStream bytes) throws IOException {
        folder = own.passing();
        long taken = Files.copy(bytes, folder.resolve(SEALED));
        if (taken != told.archiveBytes()) {
            throw new IOException("the host gave " + taken + " of " + told.archiveBytes() + " bytes of the image");
        }
    }

    Checkpoint seal(Checkpoint host, String name, ImageKey key) throws IOException {
        ImageManifest manifest = new ImageManifest(
                ImageArchive.FORMAT_VERSION,
                id.value(),
                name,
                Instant.now().toString(),
                "of the host",
                Proc.kernelRelease(),
                Proc.machine(),
                host.processes(),
                0,
                List.of());
        ImageArchive.Written written = ImageArchive.write(folder, archive, key, manifest);
        own.stage(id).note(archive);
        return new Checkpoint(
                id,
                host.frozenMillis(),
                host.dumpMillis(),
                host.archiveMillis() + written.millis(),
                host.imageBytes(),
                written.archiveBytes(),
                host.processes(),
                host.imageId(),
                null,
                List.of());
    }

    static SuspendFailedException failed(Exception e) {
        if (e instanceof ImageException image) {
            FailureReason reason = image.reason() == ImageException.Reason.NO_SPACE
                    ? FailureReason.NO_SPACE
                    : FailureReason.IMAGE_UNUSABLE;
            return new SuspendFailedException(reason, image.finding(), List.of(), e);
        }
        if (e instanceof EngineException engine) {
            return new SuspendFailedException(engine.reason(), engine.detail(), engine.criuLines(), e);
        }
        boolean full = String.valueOf(e.getMessage()).contains("No space left");
        return new SuspendFailedException(
                full ? FailureReason.NO_SPACE : FailureReason.CRIU_FAILED, e.getMessage(), List.of(), e);
    }

    @Override
    public void close() throws IOException {
        if (folder != null) {
            StageFolder.delete(folder);
        }
    }
}
