package io.jenkins.plugins.preemptible.engine.home;

import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.FileStamp;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * A stage's last image, by its record and files: the archive, and CRIU's own files in the stage's folder.
 *
 * Reads the disk each time; safe for any thread. Hold the stage's lock to remove something.
 */
public final class SealedImages {

    private static final Logger LOG = Logger.getLogger(SealedImages.class.getName());

    private SealedImages() {}

    /** Removes the image of a stage that runs again, and its archive unless another file has its name by now. */
    public static void dropImage(StageFolder folder, StageJson record) throws IOException {
        if (ownsArchive(record)) {
            Files.deleteIfExists(Path.of(record.archive()));
        }
        StageFolder.delete(folder.images());
    }

    /** Whether the file under the archive's name is the one that was sealed, unchanged, and waits for commit or thaw. */
    public static boolean ownsArchive(StageJson record) {
        return record.dumped() != null && ownsSealed(record);
    }

    /** As {@link #ownsArchive}, also after the commit. */
    static boolean ownsSealed(StageJson record) {
        return record.archive() != null
                && record.image() != null
                && FileStamp.of(Path.of(record.archive())).equals(record.image().archiveStamp());
    }

    /**
     * The record beside CRIU's own files, when those can be restored in place of the archive. After a boot they cannot, nor
     * where that record is unreadable: neither was forced to disk.
     *
     * @param known what the stage's folder says
     */
    public static Optional<StageJson> localImage(StageFolder folder, StageJson known) {
        if (known.image() == null || !Proc.bootId().equals(known.image().bootId())) {
            return Optional.empty();
        }
        try {
            // CRIU's files hold no preserved paths, and those may have changed since: the archive has them.
            return new StageFolder(folder.images())
                    .read()
                    .filter(inFolder -> inFolder.preserved().isEmpty() && fits(known, inFolder));
        } catch (UncheckedIOException e) {
            LOG.log(
                    Level.WARNING,
                    e,
                    () -> "the local image of " + known.id() + " is of no use, its archive is needed");
            return Optional.empty();
        }
    }

    private static boolean fits(StageJson known, StageJson inFolder) {
        return inFolder.image() != null
                && inFolder.id().equals(known.id())
                && inFolder.suspensions() == known.suspensions()
                && inFolder.image().createdAt().equals(known.image().createdAt());
    }
}
