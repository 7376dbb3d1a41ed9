package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.ResumeReport;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.image.ImageArchive;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * An archive of the caller's, on its way back to the host that sealed what is in it.
 *
 * <ol>
 *   <li>Its manifest says which stage it is.
 *   <li>The whole archive is authenticated and unpacked; it holds the host's bytes and nothing else.
 *   <li>What was unpacked is gone afterwards, however it ends.
 * </ol>
 */
final class Unwrapping implements AutoCloseable {

    private final OwnFolders own;
    private final Path archive;
    private Path folder;
    private long millis;

    Unwrapping(OwnFolders own, Path archive) {
        this.own = own;
        this.archive = archive;
    }

    StageId idOf(ImageKey key) throws ImageException {
        return StageId.parse(ImageArchive.manifestOf(archive, key).stageId());
    }

    Path unpack(ImageKey key) throws IOException {
        long begun = System.nanoTime();
        folder = own.passing();
        ImageArchive.read(archive, key, folder);
        millis = Duration.ofNanos(System.nanoTime() - begun).toMillis();
        Path sealed = folder.resolve(Wrapping.SEALED);
        if (!Files.isRegularFile(sealed)) {
            throw new ResumeFailedException(
                    FailureReason.IMAGE_UNUSABLE, "it was not made through the privileged part of this host");
        }
        return sealed;
    }

    ResumeReport timed(ResumeReport host) {
        return new ResumeReport(
                host.id(),
                host.restoreMillis(),
                host.processes(),
                host.unpackMillis() + millis,
                host.tier(),
                host.warnings());
    }

    static ResumeFailedException failed(IOException e) {
        if (e instanceof ImageException image) {
            FailureReason reason =
                    switch (image.reason()) {
                        case MISSING -> FailureReason.IMAGE_MISSING;
                        case NO_SPACE -> FailureReason.NO_SPACE;
                        default -> FailureReason.IMAGE_UNUSABLE;
                    };
            return new ResumeFailedException(reason, image.finding(), List.of(), e);
        }
        return new ResumeFailedException(FailureReason.CRIU_FAILED, e.getMessage(), List.of(), e);
    }

    @Override
    public void close() throws IOException {
        if (folder != null) {
            StageFolder.delete(folder);
        }
    }
}
