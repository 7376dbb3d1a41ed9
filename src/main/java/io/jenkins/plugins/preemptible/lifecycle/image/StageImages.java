package io.jenkins.plugins.preemptible.lifecycle.image;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.AbortException;
import hudson.FilePath;
import hudson.Launcher;
import hudson.model.Run;
import hudson.model.TaskListener;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Delivery;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.lifecycle.stage.ImagePath;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.model.ArtifactManager;
import jenkins.model.Jenkins;
import jenkins.model.StandardArtifactManager;
import jenkins.util.BuildListenerAdapter;
import jenkins.util.VirtualFile;

/**
 * The sealed images of suspended stages, among their builds' artifacts.
 *
 * <ol>
 *   <li>{@link #store} brings the image from the agent, counting its bytes, and adds it to the artifacts of the build,
 *       which may run on while it does. An artifact manager that keeps files elsewhere gets it from the controller, not
 *       from the agent: else nobody would count.
 *   <li>{@link #fetch} brings it to the agent's exchange folder.
 *   <li>{@link #delete} removes the file where the artifact manager keeps files; elsewhere the image stays, useless
 *       without its key.
 * </ol>
 */
public final class StageImages {

    private static final Logger LOGGER = Logger.getLogger(StageImages.class.getName());
    private static final long OTHER_FILES_BYTES = 64L << 20;

    private StageImages() {}

    /**
     * Archives the image in the agent's exchange folder.
     *
     * @param announcedBytes its size, as the agent told
     * @throws IOException when it has another size or is larger than the configured limit allows, when the artifact
     *     manager does not take it, or the build is gone; nothing of it is archived then
     * @throws ArchiveRoom.ShortageException when the disk gets full meanwhile; nothing of it is archived then
     */
    public static void store(LiveStage live, StageAgent agent, long announcedBytes)
            throws IOException, InterruptedException {
        String tooLarge = tooLarge(announcedBytes);
        if (tooLarge != null) {
            throw new IOException(tooLarge);
        }
        store(live, agent::readImage, announcedBytes, ImagePath.FILE);
    }

    /**
     * Archives any file of a stage that an agent has, as {@link #store(LiveStage, StageAgent, long)} does the image.
     *
     * @param file its name beside the image's
     */
    public static void store(LiveStage live, Source source, long announcedBytes, String file)
            throws IOException, InterruptedException {
        Run<?, ?> run = live.context().get(Run.class);
        TaskListener listener = live.context().get(TaskListener.class);
        if (run == null || listener == null) {
            throw new AbortException("the build does not answer any more");
        }
        ArtifactManager manager = run.pickArtifactManager();
        if (manager.getClass() == StandardArtifactManager.class) {
            Path artifacts = Path.of(manager.root().toURI());
            Path folder = ImageTransfer.folder(artifacts, ImagePath.FOLDER, live.id());
            ImageTransfer.receive(source::read, announcedBytes, folder.resolve(file), roomIn(folder));
            return;
        }
        Path folder = Files.createTempDirectory(run.getRootDir().toPath(), ImagePath.FOLDER);
        Path image = folder.resolve(file);
        try {
            ImageTransfer.receive(source::read, announcedBytes, image, roomIn(folder));
            manager.archive(
                    new FilePath(folder.toFile()),
                    new Launcher.LocalLauncher(listener),
                    BuildListenerAdapter.wrap(listener),
                    Map.of(ImagePath.of(live.id(), file), file));
        } finally {
            Files.deleteIfExists(image);
            Files.deleteIfExists(folder);
        }
    }

    /** A file on an agent. */
    @FunctionalInterface
    public interface Source {
        /** @return the bytes asked for; fewer at the end, none behind it */
        byte[] read(long offset, int most) throws IOException, InterruptedException;
    }

    private static ImageTransfer.Room roomIn(Path folder) {
        return bytes -> ArchiveRoom.require(folder, bytes);
    }

    /**
     * Why an image is too large to be stored, a sentence for people; null when it is not. Memory that does not compress is
     * sealed into a little more than itself, and there are CRIU's other files.
     */
    @CheckForNull
    public static String tooLarge(long announcedBytes) {
        long limit = PreemptibleConfiguration.get().limits().imageBytes();
        return limit > 0 && announcedBytes > limit + limit / 8 + OTHER_FILES_BYTES
                ? "Its image has " + StageLog.size(announcedBytes) + ", and the largest image that may be stored has "
                        + StageLog.size(limit)
                        + ". Have the stage use less memory, or ask an administrator to raise the"
                        + " largest image."
                : null;
    }

    /** Why an image was not stored, for a build's log: its readers need not know the controller's folders. */
    public static String why(Throwable failure) {
        String words = failure instanceof FileSystemException file
                ? file.getClass().getSimpleName() + (file.getReason() == null ? "" : ", " + file.getReason())
                : String.valueOf(failure.getMessage());
        return words.replace(Jenkins.get().getRootDir().getPath(), "…");
    }

    /**
     * @throws ImageGoneException when the image is not there any more
     * @throws IOException when it does not arrive whole
     */
    public static void fetch(Run<?, ?> run, StageRecord stage, FilePath exchange)
            throws IOException, InterruptedException {
        fetch(run, ImagePath.of(stage), exchange.child(AgentStage.IMAGE_FILE));
    }

    /**
     * The same for any file of a stage.
     *
     * @param path below the build's artifacts
     */
    public static void fetch(Run<?, ?> run, String path, FilePath to) throws IOException, InterruptedException {
        VirtualFile image = run.getArtifactManager().root().child(path);
        if (!image.isFile()) {
            throw new ImageGoneException(
                    "the image " + path + " is no longer among the artifacts of " + run.getFullDisplayName());
        }
        try (InputStream stored = image.open()) {
            Delivery.bring(stored, to);
        } catch (Error x) {
            // Remoting throws what the agent says that it has thrown.
            throw new IOException("the image could not be brought to the agent", x);
        }
    }

    /** Removes an image that nobody will need; whatever fails, nothing depends on it. */
    public static void discard(LiveStage live) throws InterruptedException {
        try {
            Run<?, ?> run = live.context().get(Run.class);
            if (run != null) {
                delete(run, live.id());
            }
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> "the build of stage " + live.id() + " is gone, its artifacts with it");
        }
    }

    /** Removes the image where that can be done; tells whether nothing is left. */
    public static boolean delete(Run<?, ?> run, String stageId) {
        // All of them, whatever becomes of one.
        return delete(run, stageId, ImagePath.LUGGAGE)
                & delete(run, stageId, ImagePath.FILE)
                & delete(run, stageId, AgentStage.IMAGE_FILE);
    }

    /** Removes all files of a stage whose names begin so; tells whether nothing is left of them. */
    public static boolean deleteAll(Run<?, ?> run, String stageId, String prefix) {
        try {
            VirtualFile folder =
                    run.getArtifactManager().root().child(ImagePath.FOLDER).child(stageId);
            boolean all = true;
            for (VirtualFile file : folder.list()) {
                all &= !file.getName().startsWith(prefix) || delete(run, stageId, file.getName());
            }
            return all;
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot list what " + run + " keeps of stage " + stageId);
            return false;
        }
    }

    /** Removes one file of a stage; tells whether it is not there any more. */
    public static boolean delete(Run<?, ?> run, String stageId, String file) {
        try {
            VirtualFile root = run.getArtifactManager().root();
            VirtualFile image = root.child(ImagePath.of(stageId, file));
            if (!image.exists()) {
                return true;
            }
            URI uri = image.toURI();
            if (!"file".equals(uri.getScheme())) {
                return false;
            }
            Files.deleteIfExists(Path.of(uri));
            // Only our own two folders, and only when empty: other stages of the build may be suspended as well.
            try {
                Files.deleteIfExists(
                        Path.of(root.child(ImagePath.FOLDER).child(stageId).toURI()));
                Files.deleteIfExists(Path.of(root.child(ImagePath.FOLDER).toURI()));
            } catch (DirectoryNotEmptyException x) {
                LOGGER.log(Level.FINER, "another image is still there", x);
            }
            return true;
        } catch (IOException | RuntimeException x) {
            LOGGER.log(
                    Level.WARNING,
                    x,
                    () -> "cannot remove the image of stage " + stageId + " from " + run
                            + "; it stays there, sealed with a key that nobody has any more");
            return false;
        }
    }
}
