package io.jenkins.plugins.preemptible.lifecycle.image;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import java.io.File;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.model.Jenkins;

/**
 * Whether the controller's disk takes another image.
 *
 * <ol>
 *   <li>It does as long as more than the configured floor stays free where the build keeps its artifacts.
 *   <li>Asked before an image is made, when its size is known, and while it arrives: so images that arrive at the same
 *       time end at the floor, not below it.
 *   <li>Artifacts that are kept elsewhere need no room here. A disk that cannot be asked is taken for one with room.
 * </ol>
 *
 * Any thread; asks the file system, which takes microseconds unless that is a network's.
 */
public final class ArchiveRoom {

    private static final Logger LOGGER = Logger.getLogger(ArchiveRoom.class.getName());

    /** Where the last image had no room; null when all had. */
    @CheckForNull
    private static volatile Path lastFull;

    private ArchiveRoom() {}

    /** A disk with less free room than its floor, in bytes. */
    public record Shortage(long freeBytes, long floorBytes) implements Serializable {

        /** For people, with its full stop. */
        public String sentence() {
            return "The controller's disk has " + StageLog.size(freeBytes) + " free, and " + StageLog.size(floorBytes)
                    + " are kept free of images.";
        }
    }

    /** The disk got full while an image arrived. */
    public static final class ShortageException extends IOException {
        private static final long serialVersionUID = 1L;
        private final Shortage shortage;

        private ShortageException(Shortage shortage) {
            super(shortage.sentence());
            this.shortage = shortage;
        }

        public Shortage shortage() {
            return shortage;
        }
    }

    /**
     * Refuses an image that would get below the floor.
     *
     * @param folder that it is written to, whatever the artifact manager does with it afterwards
     * @param bytes that are still to come
     */
    static void require(Path folder, long bytes) throws ShortageException {
        Shortage shortage = below(folder, bytes);
        if (shortage != null) {
            lastFull = folder;
            throw new ShortageException(shortage);
        }
    }

    /**
     * What is missing where the build keeps its artifacts; null when there is room.
     *
     * @param imageBytes of the image that is to be stored there; 0 when that is not known yet
     */
    @CheckForNull
    public static Shortage missing(@CheckForNull Run<?, ?> run, long imageBytes) {
        if (run == null || !keepsArtifactsHere(run)) {
            return null;
        }
        Path folder = run.getRootDir().toPath();
        Shortage shortage = below(folder, imageBytes);
        if (shortage != null) {
            lastFull = folder;
        }
        return shortage;
    }

    /** What is missing on the disk of Jenkins' own folder, or where the last image had no room; null when nothing is. */
    @CheckForNull
    public static Shortage now() {
        Path full = lastFull;
        Shortage there = full == null ? null : below(full, 0);
        File home = Jenkins.get().getRootDir();
        return there == null ? below(home.toPath(), 0) : there;
    }

    @CheckForNull
    private static Shortage below(Path folder, long imageBytes) {
        try {
            FileStore disk = Files.getFileStore(folder);
            long free = disk.getUsableSpace();
            long floor = PreemptibleConfiguration.get().diskFloorBytes(disk.getTotalSpace());
            return floor > 0 && free - imageBytes < floor ? new Shortage(free, floor) : null;
        } catch (IOException x) {
            LOGGER.log(Level.FINE, x, () -> "cannot tell how much room is left in " + folder);
            return null;
        }
    }

    private static boolean keepsArtifactsHere(Run<?, ?> run) {
        try {
            return "file".equals(run.pickArtifactManager().root().toURI().getScheme());
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> "cannot tell where " + run + " keeps its artifacts");
            return true;
        }
    }
}
