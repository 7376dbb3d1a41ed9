package io.jenkins.plugins.preemptible.engine.home;

import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * What a stage's record and its files say of its last image: the archive, and CRIU's own files beside the stage.
 *
 * Reads the disk each time; safe for any thread. Whoever removes something holds the stage's lock.
 */
public final class SealedImages {

    private SealedImages() {}

    /** What changes when a file is written to: its size, and its inode's number and time of change. */
    public static String stamp(Path file) {
        try {
            Map<String, Object> seen = Files.readAttributes(file, "unix:size,ino,ctime");
            return seen.get("size") + " " + seen.get("ino") + " " + seen.get("ctime");
        } catch (IOException e) {
            return "unknown " + e.getClass().getSimpleName();
        }
    }

    /** Removes the image of a stage that runs on or is about to, and its archive if no other file has its name by now. */
    public static void dropImage(StageFolder folder, StageJson record) throws IOException {
        if (ownsArchive(record)) {
            Files.deleteIfExists(Path.of(record.archive()));
        }
        StageFolder.delete(folder.images());
    }

    /** Whether the file under the archive's name is the very one that was sealed, untouched, and waits for the end. */
    static boolean ownsArchive(StageJson record) {
        return record.dumped() != null && ownsSealed(record);
    }

    /** The same, whether or not it waits for the end. */
    static boolean ownsSealed(StageJson record) {
        return record.archive() != null
                && record.image() != null
                && stamp(Path.of(record.archive())).equals(record.image().archiveStamp());
    }

    /**
     * The record beside CRIU's own files, when those can serve in place of the archive.
     *
     * @param known what the stage's folder says
     */
    public static Optional<StageJson> localImage(StageFolder folder, StageJson known) {
        // CRIU's files hold no preserved paths, and those may have changed since: the archive has them.
        return new StageFolder(folder.images())
                .read()
                .filter(inFolder -> inFolder.preserved().isEmpty() && fits(known, inFolder));
    }

    private static boolean fits(StageJson known, StageJson inFolder) {
        return known.image() != null
                && inFolder.image() != null
                && inFolder.id().equals(known.id())
                && inFolder.suspensions() == known.suspensions()
                && inFolder.image().createdAt().equals(known.image().createdAt())
                && Proc.bootId().equals(known.image().bootId());
    }
}
