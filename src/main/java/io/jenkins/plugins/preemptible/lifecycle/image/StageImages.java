package io.jenkins.plugins.preemptible.lifecycle.image;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.AbortException;
import hudson.FilePath;
import hudson.Launcher;
import hudson.model.Run;
import hudson.model.TaskListener;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Delivery;
import io.jenkins.plugins.preemptible.agent.Pieces;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.lifecycle.stage.ImagePath;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.regex.Pattern;
import java.util.stream.Stream;
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
 *       from the agent: else nobody would count. It gets a large one in {@link ImageParts}, one after the other.
 *   <li>{@link #fetch} brings it to the agent's exchange folder.
 *   <li>{@link #delete} removes the file where the artifact manager keeps files; elsewhere the image stays, useless
 *       without its key.
 *   <li>{@link #deleteOrEmpty} puts an empty file in its place there: only for a name that is not taken again soon. A store that
 *       answers late would empty what has the name by then.
 * </ol>
 */
public final class StageImages {

    /** A little more than what is authenticated as a whole: the trial of a usual stage needs no more of its image. */
    public static final int BEGINNING_BYTES = ArchiveFormat.CHUNK + (64 << 10);

    private static final Logger LOGGER = Logger.getLogger(StageImages.class.getName());
    private static final long OTHER_FILES_BYTES = 64L << 20;

    /** What the plugin stores, whole or in parts. */
    private static final Pattern STORED = Pattern.compile(".*\\.(preempt|workspace)(\\.\\d+-of-\\d+)?");

    private StageImages() {}

    /**
     * The key of a stage's image.
     *
     * @throws ImageGoneException when it has none, so that nobody can read the image
     */
    public static Secret keyOf(StageRecord stage) throws ImageGoneException {
        Secret key = stage.imageKey();
        if (key == null) {
            throw new ImageGoneException("the image's key is gone");
        }
        return key;
    }

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
        store(live, agent, null, announcedBytes);
    }

    /**
     * Brings the image from the agent while that still makes it.
     *
     * @return null where it is stored elsewhere than on this disk, which takes it as a whole; or where it cannot be stored:
     *     storing it says why
     */
    @CheckForNull
    public static ImageAhead ahead(LiveStage live, StageAgent agent) throws InterruptedException {
        try {
            Run<?, ?> run = live.context().get(Run.class);
            ArtifactManager manager = run == null ? null : run.pickArtifactManager();
            if (manager == null || !isOnThisDisk(manager)) {
                return null;
            }
            Path folder = folderOf(live, manager);
            return new ImageAhead(
                    agent, folder.resolve(ImagePath.FILE), roomIn(folder), bytes -> tooLarge(bytes) == null);
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> "the image of stage " + live.id() + " is brought when it is made");
            return null;
        }
    }

    /**
     * The image that {@link #ahead} brings.
     *
     * @throws IOException when it goes to no disk of the controller, or the build is gone
     */
    public static GrowingArchive growing(LiveStage live) throws IOException, InterruptedException {
        Run<?, ?> run = live.context().get(Run.class);
        ArtifactManager manager = run == null ? null : run.getArtifactManager();
        if (manager == null || !isOnThisDisk(manager)) {
            throw new ImageGoneException("no image is brought to this disk");
        }
        return new GrowingArchive(Path.of(manager.root().toURI()).resolve(ImagePath.of(live.id(), ImagePath.FILE)));
    }

    private static Path folderOf(LiveStage live, ArtifactManager manager) throws IOException {
        return ImageTransfer.folder(Path.of(manager.root().toURI()), ImagePath.FOLDER, live.id());
    }

    /**
     * The same as {@link #store(LiveStage, StageAgent, long)}.
     *
     * @param ahead what was brought of it while it was made; null where nothing was
     */
    public static void store(LiveStage live, StageAgent agent, @CheckForNull ImageAhead ahead, long announcedBytes)
            throws IOException, InterruptedException {
        String tooLarge = tooLarge(announcedBytes);
        if (tooLarge != null) {
            throw new IOException(tooLarge);
        }
        long there = ahead == null ? 0 : ahead.bytes(announcedBytes);
        store(live, agent::askImage, there, announcedBytes, ImagePath.FILE);
    }

    /**
     * Archives any file of a stage that an agent has, as {@link #store(LiveStage, StageAgent, long)} does the image.
     *
     * @param file its name beside the image's
     */
    public static void store(LiveStage live, Pieces source, long announcedBytes, String file)
            throws IOException, InterruptedException {
        store(live, source, 0, announcedBytes, file);
    }

    private static void store(LiveStage live, Pieces source, long there, long announcedBytes, String file)
            throws IOException, InterruptedException {
        Run<?, ?> run = live.context().get(Run.class);
        TaskListener listener = live.context().get(TaskListener.class);
        if (run == null || listener == null) {
            throw new AbortException("the build does not answer any more");
        }
        ArtifactManager manager = run.pickArtifactManager();
        if (isOnThisDisk(manager)) {
            Path folder = folderOf(live, manager);
            ImageTransfer.receive(source, there, announcedBytes, folder.resolve(file), roomIn(folder));
            return;
        }
        Path folder = Files.createTempDirectory(run.getRootDir().toPath(), ImagePath.FOLDER);
        try {
            for (ImageParts.Part part : ImageParts.of(file, announcedBytes, ImageParts.mostBytes())) {
                Path here = folder.resolve(part.file());
                try {
                    boolean last = part.offset() + part.bytes() == announcedBytes;
                    ImageTransfer.receive(part(source, part, last), part.bytes(), here, roomIn(folder));
                    manager.archive(
                            new FilePath(folder.toFile()),
                            new Launcher.LocalLauncher(listener),
                            BuildListenerAdapter.wrap(listener),
                            Map.of(ImagePath.of(live.id(), part.file()), part.file()));
                } finally {
                    Files.deleteIfExists(here);
                }
            }
        } finally {
            Files.deleteIfExists(folder);
        }
    }

    private static boolean isOnThisDisk(ArtifactManager manager) {
        return manager.getClass() == StandardArtifactManager.class;
    }

    /** @param last whether the agent is to have nothing behind it */
    private static Pieces part(Pieces whole, ImageParts.Part part, boolean last) {
        return (offset, most) ->
                offset < part.bytes() || last ? whole.ask(part.offset() + offset, most) : () -> new byte[0];
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
        fetch(run, ImagePath.of(stage), stage.archiveBytes(), exchange.child(AgentStage.IMAGE_FILE), () -> true);
    }

    /**
     * The same for any file of a stage.
     *
     * @param path below the build's artifacts
     * @param bytes that were stored; 0 where that is not known of an earlier version's
     * @param wanted asked for each piece; nothing more comes once it is false
     */
    public static void fetch(Run<?, ?> run, String path, long bytes, FilePath to, BooleanSupplier wanted)
            throws IOException, InterruptedException {
        fetch(run, parts(run, path, bytes), to, wanted);
    }

    /** The same of a file whose size is not known: its parts go by their names. */
    public static void fetchWhole(Run<?, ?> run, String path, FilePath to) throws IOException, InterruptedException {
        int name = path.lastIndexOf('/') + 1;
        String file = path.substring(name);
        // Without a slash at its end, which a store would take for a part of its name.
        VirtualFile folder = run.getArtifactManager().root().child(path.substring(0, name - 1));
        List<String> beside = new ArrayList<>();
        for (VirtualFile each : folder.list()) {
            // Empty ones are what is left of an earlier file of that name, which had another number of parts.
            if (ImageParts.isOf(file, each.getName()) && each.length() > 0) {
                beside.add(each.getName());
            }
        }
        List<String> files = ImageParts.named(file, beside);
        fetch(run, files.stream().map(path.substring(0, name)::concat).toList(), to, () -> true);
    }

    private static void fetch(Run<?, ?> run, List<String> files, FilePath to, BooleanSupplier wanted)
            throws IOException, InterruptedException {
        try (InputStream stored = open(run, files)) {
            Delivery.bring(stored, to, wanted);
        } catch (UncheckedIOException x) {
            throw x.getCause();
        } catch (Error x) {
            // Remoting throws what the agent says that it has thrown.
            throw new IOException("the image could not be brought to the agent", x);
        }
    }

    /**
     * The first bytes of a stage's image.
     *
     * @param most at least 1
     * @return fewer only when it has no more
     * @throws ImageGoneException when the image is not there any more
     */
    public static byte[] beginning(Run<?, ?> run, StageRecord stage, int most) throws IOException {
        try (InputStream stored = open(run, parts(run, ImagePath.of(stage), stage.archiveBytes()))) {
            return stored.readNBytes(most);
        } catch (UncheckedIOException x) {
            throw x.getCause();
        }
    }

    /** A part that cannot be opened throws {@link UncheckedIOException} when its turn comes, the first one here. */
    private static InputStream open(Run<?, ?> run, List<String> files) {
        return new SequenceInputStream(new Opened(run, files.iterator()));
    }

    private static List<String> parts(Run<?, ?> run, String path, long bytes) {
        long mostBytes = isOnThisDisk(run.getArtifactManager()) ? Long.MAX_VALUE : ImageParts.mostBytes();
        return ImageParts.of(path, bytes, mostBytes).stream()
                .map(ImageParts.Part::file)
                .toList();
    }

    /**
     * Asks for each part when the one before it is at its end: the artifact manager for S3 begins to fetch a file when it is asked
     * whether it is there, and a store gives up a connection on which nobody reads.
     */
    private record Opened(Run<?, ?> run, Iterator<String> files) implements Enumeration<InputStream> {
        @Override
        public boolean hasMoreElements() {
            return files.hasNext();
        }

        @Override
        public InputStream nextElement() {
            String path = files.next();
            try {
                VirtualFile file = run.getArtifactManager().root().child(path);
                if (!file.isFile()) {
                    throw new ImageGoneException(
                            "the image " + path + " is no longer among the artifacts of " + run.getFullDisplayName());
                }
                return file.open();
            } catch (IOException x) {
                throw new UncheckedIOException(x);
            }
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
        return deleteAll(
                run,
                stageId,
                name -> Stream.of(ImagePath.LUGGAGE, ImagePath.FILE, AgentStage.IMAGE_FILE)
                        .anyMatch(file -> ImageParts.isOf(file, name)));
    }

    /** Removes one file of a stage; tells whether it is not there any more. */
    public static boolean delete(Run<?, ?> run, String stageId, String file) {
        return deleteAll(run, stageId, name -> ImageParts.isOf(file, name));
    }

    /** Removes the files of a stage with such names where that can be done; tells whether nothing is left of them. */
    private static boolean deleteAll(Run<?, ?> run, String stageId, Predicate<String> names) {
        return withoutFailure(run, stageId, () -> delete(run, stageId, names).isEmpty());
    }

    /**
     * Removes the files of a stage with such names, and puts empty ones in the place of those that the artifact manager cannot
     * remove. May take as long as a store takes to answer.
     *
     * @return whether nothing is left in them
     */
    public static boolean deleteOrEmpty(Run<?, ?> run, String stageId, Predicate<String> names) {
        return withoutFailure(run, stageId, () -> {
            List<String> full = new ArrayList<>();
            for (VirtualFile file : delete(run, stageId, names)) {
                if (isOnDisk(file)) {
                    return false;
                }
                if (file.length() > 0) {
                    full.add(file.getName());
                }
            }
            empty(run, stageId, full);
            return true;
        });
    }

    /** The same of all that is stored of a stage, checkpoints too. */
    public static boolean deleteOrEmpty(Run<?, ?> run, String stageId) {
        return deleteOrEmpty(run, stageId, name -> STORED.matcher(name).matches());
    }

    /** The same of one file of a stage. */
    public static boolean deleteOrEmpty(Run<?, ?> run, String stageId, String file) {
        return deleteOrEmpty(run, stageId, name -> ImageParts.isOf(file, name));
    }

    /** Whether an artifact of a stage is that file, or a part of it. */
    public static boolean isOf(String file, String artifact) {
        return ImageParts.isOf(file, artifact);
    }

    /** Asks an artifact manager, which may be away. */
    @FunctionalInterface
    private interface Removal {
        boolean run() throws IOException, InterruptedException;
    }

    private static boolean withoutFailure(Run<?, ?> run, String stageId, Removal removal) {
        try {
            return removal.run();
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot remove what " + run + " keeps of stage " + stageId);
        } catch (InterruptedException x) {
            Thread.currentThread().interrupt();
        }
        return false;
    }

    /** @return those that are still there */
    private static List<VirtualFile> delete(Run<?, ?> run, String stageId, Predicate<String> names) throws IOException {
        VirtualFile folder =
                run.getArtifactManager().root().child(ImagePath.FOLDER).child(stageId);
        List<VirtualFile> left = new ArrayList<>();
        for (VirtualFile file : folder.list()) {
            // All of them, whatever becomes of one.
            if (names.test(file.getName()) && !delete(run, stageId, file)) {
                left.add(file);
            }
        }
        removeEmpty(folder);
        return left;
    }

    private static void empty(Run<?, ?> run, String stageId, List<String> names)
            throws IOException, InterruptedException {
        if (names.isEmpty()) {
            return;
        }
        // Fails where the build's folder is gone, and its artifacts with it.
        Path folder = Files.createTempDirectory(run.getRootDir().toPath(), ImagePath.FOLDER);
        try {
            Map<String, String> artifacts = new HashMap<>();
            for (String name : names) {
                Files.createFile(folder.resolve(name));
                artifacts.put(ImagePath.of(stageId, name), name);
            }
            run.getArtifactManager()
                    .archive(
                            new FilePath(folder.toFile()),
                            new Launcher.LocalLauncher(TaskListener.NULL),
                            BuildListenerAdapter.wrap(TaskListener.NULL),
                            artifacts);
        } finally {
            for (String name : names) {
                Files.deleteIfExists(folder.resolve(name));
            }
            Files.deleteIfExists(folder);
        }
    }

    private static boolean isOnDisk(VirtualFile file) {
        return "file".equals(file.toURI().getScheme());
    }

    private static void removeEmpty(VirtualFile folder) {
        try {
            if (isOnDisk(folder)) {
                ImageTransfer.removeEmpty(Path.of(folder.toURI()));
            }
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> folder + " is left, empty");
        }
    }

    private static boolean delete(Run<?, ?> run, String stageId, VirtualFile file) {
        try {
            if (!isOnDisk(file)) {
                return false;
            }
            Files.deleteIfExists(Path.of(file.toURI()));
            return true;
        } catch (IOException | RuntimeException x) {
            LOGGER.log(
                    Level.WARNING,
                    x,
                    () -> "cannot remove " + file.getName() + " of stage " + stageId + " from " + run
                            + "; it stays there, sealed with a key that nobody has any more");
            return false;
        }
    }
}
