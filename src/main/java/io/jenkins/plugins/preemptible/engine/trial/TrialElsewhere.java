package io.jenkins.plugins.preemptible.engine.trial;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.TrialResult;
import io.jenkins.plugins.preemptible.engine.content.ContentReader;
import io.jenkins.plugins.preemptible.engine.content.FileContent;
import io.jenkins.plugins.preemptible.engine.content.FileKind;
import io.jenkins.plugins.preemptible.engine.content.ImageContent;
import io.jenkins.plugins.preemptible.engine.content.ProcessContent;
import io.jenkins.plugins.preemptible.engine.content.SocketContent;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.TarOptions;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Tries a sealed image on another host than its own, from the beginning of its archive alone.
 *
 * <ol>
 *   <li>The files in front of the archive and its {@link TrialPart} make an image without pages.
 *   <li>Empty files stand in for those of the workspace, see {@link WorkspaceStandIns}. Everything else is the host's own:
 *       programs, libraries, files in homes, mounts, ports, devices, the kernel.
 *   <li>It is restored as {@link ImageTrial} does it, up to the point from which the stage would run.
 * </ol>
 *
 * Changes nothing but the scratch folder. Blocks; one at a time for each scratch folder.
 */
public final class TrialElsewhere implements AutoCloseable {

    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private static final String WITHOUT_PART = "the image has no part that can be tried by itself";
    private static final String LEFT_OUT = ", which is left out of what travels";

    private final StageId id;
    private final Path scratch;
    private final Path images;
    private final ImageManifest manifest;
    /** Why no trial can be made; null when one can. */
    private final String untriable;

    private TrialElsewhere(StageId id, Path scratch, Path images, ImageManifest manifest, String untriable) {
        this.id = id;
        this.scratch = scratch;
        this.images = images;
        this.manifest = manifest;
        this.untriable = untriable;
    }

    /**
     * Reads the beginning; to be closed.
     *
     * @param beginning of the archive, as much as there is of it by now
     * @param scratch made for the trial; what an earlier one has left there is ended and removed. Its parent exists
     * @throws ImageException when the beginning is too short, or is not that of an image of this stage
     */
    public static TrialElsewhere open(StageId id, Path beginning, ImageKey key, Path scratch) throws ImageException {
        Path images = scratch.resolve("images");
        String why;
        try {
            clear(scratch);
            Files.createDirectory(scratch, OWNER_ONLY);
            Optional<ImageManifest> manifest =
                    ImageArchive.readBeginning(ReadRequest.of(beginning, key).expecting(id.value(), 0, null), images);
            if (manifest.isPresent()) {
                return new TrialElsewhere(id, scratch, images, manifest.get(), null);
            }
            why = WITHOUT_PART;
        } catch (ImageException e) {
            clearQuietly(scratch);
            throw e;
        } catch (IOException | RuntimeException e) {
            why = e.toString();
        }
        return new TrialElsewhere(id, scratch, images, ImageArchive.manifestOfBeginning(beginning, key), why);
    }

    /** What the image says of itself. */
    public ImageManifest manifest() {
        return manifest;
    }

    /**
     * Runs the trial, once.
     *
     * @param workspace the folders that travel with the stage; at least one
     * @param leftOut files of these that do not travel: a stage that needs one is refused
     * @param criu this process's own, as root
     * @return {@code NOT_TRIED} where nothing is known of a restore here: the archive is of an earlier version, or this host
     *     can make no trials
     */
    public TrialResult run(List<Path> workspace, Predicate<Path> leftOut, Criu criu) {
        if (untriable != null) {
            return TrialResult.notTried(untriable);
        }
        try {
            if (!TrialPart.lay(images)) {
                return TrialResult.notTried(WITHOUT_PART);
            }
            StageJson sealed = new StageFolder(images)
                    .read()
                    .orElseThrow(() -> new IOException("the image holds no stage record"));
            ImageContent content = ContentReader.ofFolderWithoutPages(images);
            Optional<String> needed = needed(content, leftOut);
            if (needed.isPresent()) {
                return TrialResult.failed(needed.get() + LEFT_OUT, List.of());
            }
            Path logs = Files.createDirectory(scratch.resolve("logs"));
            Path tools = scratch.resolve("tools");
            TarOptions.makeTools(tools);
            ImageTrial.Subject subject = new ImageTrial.Subject(
                    id,
                    images,
                    scratch.resolve("trial"),
                    logs,
                    tools,
                    criu.program(),
                    sealed.options(),
                    sealed.mounts(),
                    null);
            return ImageTrial.run(
                    subject, workspace, content, () -> Thread.currentThread().isInterrupted());
        } catch (IOException | RuntimeException e) {
            return TrialResult.notTried(e.toString());
        }
    }

    @Override
    public void close() {
        clearQuietly(scratch);
    }

    private static void clearQuietly(Path scratch) {
        try {
            clear(scratch);
        } catch (IOException e) {
            // The next trial of the stage here removes it.
        }
    }

    /** What of the stage needs something that is left out, half a sentence. */
    private static Optional<String> needed(ImageContent content, Predicate<Path> leftOut) {
        Predicate<String> isLeftOut = name -> name != null && name.startsWith("/") && leftOut.test(Path.of(name));
        for (ProcessContent process : content.processes()) {
            if (isLeftOut.test(process.workFolder())) {
                return Optional.of("The process " + process.comm() + " works in " + process.workFolder());
            }
            if (isLeftOut.test(process.executable())) {
                return Optional.of("The process " + process.comm() + " runs " + process.executable());
            }
        }
        for (SocketContent socket : content.sockets()) {
            // It is bound anew, in a folder that has to be there.
            if (socket.kind() == FileKind.UNIX_SOCKET && isLeftOut.test(socket.local())) {
                return Optional.of("The stage has the socket " + socket.local());
            }
        }
        Set<Long> deleted = content.deletedFiles().stream()
                .map(ImageContent.DeletedFile::fileId)
                .collect(Collectors.toSet());
        return content.files().stream()
                .filter(file -> file.kind() == FileKind.FILE && !deleted.contains(file.id()))
                // Also what is mapped, or a root folder.
                .map(FileContent::name)
                .filter(isLeftOut)
                .findFirst()
                .map(name -> "The stage has " + name + " open");
    }

    /** Ends and removes what a trial has left; without effect when nothing is. */
    public static void clear(Path scratch) throws IOException {
        ImageTrial.clear(scratch.resolve("trial"));
        StageFolder.delete(scratch);
    }
}
