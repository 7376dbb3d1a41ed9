package io.jenkins.plugins.preemptible.engine.privileged;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.jenkins.plugins.preemptible.engine.Checkpoint;
import io.jenkins.plugins.preemptible.engine.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.image.ImageArchive;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;

/**
 * The images of one user's stages on their way out of root's hands and back.
 *
 * <ol>
 *   <li>What goes out is sealed with a key that only root can read, one for each user: the user can neither read nor
 *       change it, and no image of another user or host opens with it.
 *   <li>The note beside it says how large it is; nothing longer is read back.
 *   <li>What comes back lies in root's own folder before it is looked at.
 * </ol>
 *
 * @param folder of root's alone
 */
record HostSeal(Path folder) {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int BUFFER = 1 << 16;

    static HostSeal in(Path home) throws IOException {
        Path folder = home.resolve("sealed");
        Files.createDirectories(
                folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        return new HostSeal(folder);
    }

    ImageKey key() throws ImageException {
        return ImageKey.ofFile(folder.resolve("host.key"));
    }

    /** Where the sealed image of a stage is between its dump and the end of its suspension. */
    Path image(StageId id) {
        return folder.resolve(id.value() + ".preempt");
    }

    private Path note(StageId id) {
        return folder.resolve(id.value() + ".json");
    }

    void note(Checkpoint sealed) throws IOException {
        Files.write(note(sealed.id()), JSON.writeValueAsBytes(sealed));
    }

    /** What was sealed last; empty when nothing was. */
    Optional<Checkpoint> noted(StageId id) throws IOException {
        Path note = note(id);
        return Files.exists(note) ? Optional.of(JSON.readValue(note.toFile(), Checkpoint.class)) : Optional.empty();
    }

    /** The image is out: its size stays known. */
    void dropImage(StageId id) throws IOException {
        Files.deleteIfExists(image(id));
    }

    void drop(StageId id) throws IOException {
        dropImage(id);
        Files.deleteIfExists(note(id));
    }

    /**
     * Takes in what is said to be a stage's image.
     *
     * @return a file that the caller removes
     * @throws ResumeFailedException when it is not sealed by this host for this user, or is not of this stage
     */
    Path takeIn(StageId id, InputStream in) throws IOException {
        long expected = noted(id)
                .orElseThrow(() -> new ResumeFailedException(FailureReason.IMAGE_MISSING, "no image of " + id + " was made here"))
                .archiveBytes();
        Path file = Files.createTempFile(folder, "in", ".preempt");
        boolean taken = false;
        try {
            long bytes = copy(in, file, expected);
            if (bytes != expected) {
                throw new ResumeFailedException(
                        FailureReason.IMAGE_UNUSABLE,
                        "it has " + (bytes > expected ? "more than " : "") + bytes + " bytes, " + expected + " were sealed");
            }
            if (!ImageArchive.manifestOf(file, key()).stageId().equals(id.value())) {
                throw new ResumeFailedException(FailureReason.IMAGE_UNUSABLE, "it is that of another stage");
            }
            taken = true;
            return file;
        } catch (ImageException e) {
            throw new ResumeFailedException(FailureReason.IMAGE_UNUSABLE, e.finding(), java.util.List.of(), e);
        } finally {
            if (!taken) {
                Files.deleteIfExists(file);
            }
        }
    }

    // One byte more than expected is read at most: enough to see that it is too long.
    private static long copy(InputStream in, Path file, long expected) throws IOException {
        long bytes = 0;
        byte[] buffer = new byte[BUFFER];
        try (OutputStream out = Files.newOutputStream(file)) {
            while (bytes <= expected) {
                int read = in.read(buffer, 0, (int) Math.min(buffer.length, expected + 1 - bytes));
                if (read < 0) {
                    break;
                }
                out.write(buffer, 0, read);
                bytes += read;
            }
        }
        return bytes;
    }

    /** Removes what a call that was killed left behind. */
    void sweep() throws IOException {
        try (var files = Files.newDirectoryStream(folder, "in*.preempt")) {
            for (Path file : files) {
                if (System.currentTimeMillis() - Files.getLastModifiedTime(file).toMillis() > 3_600_000) {
                    StageFolder.delete(file);
                }
            }
        }
    }
}
