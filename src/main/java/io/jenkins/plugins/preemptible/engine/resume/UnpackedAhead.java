package io.jenkins.plugins.preemptible.engine.resume;

import io.jenkins.plugins.preemptible.engine.home.OldImages;
import io.jenkins.plugins.preemptible.engine.home.Stages;
import io.jenkins.plugins.preemptible.engine.image.Arrival;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import io.jenkins.plugins.preemptible.engine.stage.FileStamp;
import io.jenkins.plugins.preemptible.engine.suspend.SuspendAttempt;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Images that were unpacked while their archives arrived, for a resume soon after.
 *
 * <ol>
 *   <li>Known to this process alone, which has authenticated them as a whole: folders that it did not make are never taken.
 *   <li>A folder serves one attempt to resume: with the key of its image, and if nothing has touched the archive since.
 *   <li>{@link #drop} removes one that is not going to be resumed, also one that this process has made with other classes: an
 *       agent that connects again loads its classes anew, so a note beside the archive names the folder. Those of a process
 *       that died go as other unpacked images do.
 * </ol>
 *
 * Safe for any thread.
 */
public final class UnpackedAhead {

    private static final Logger LOG = Logger.getLogger(UnpackedAhead.class.getName());
    private static final Map<Path, UnpackedAhead> READY = new ConcurrentHashMap<>();

    private final FileStamp archive;
    /** Of its key. */
    private final byte[] keyDigest;

    private final Path folder;
    private final ImageArchive.Unpacked image;
    private final long millis;

    private UnpackedAhead(FileStamp archive, ImageKey key, Path folder, ImageArchive.Unpacked image, long millis) {
        this.archive = archive;
        this.keyDigest = key.digest();
        this.folder = folder;
        this.image = image;
        this.millis = millis;
    }

    /**
     * Unpacks an archive while it is being written, and keeps that.
     *
     * @param cancelled asked all along
     * @throws IOException when it does not arrive, or cannot be unpacked; nothing is kept then
     */
    public static void unpack(Stages stages, Path archive, ImageKey key, Arrival arrival, BooleanSupplier cancelled)
            throws IOException {
        drop(stages, archive);
        arrival.begin(archive, cancelled);
        long begun = System.nanoTime();
        ReadRequest request = ReadRequest.of(archive, key).arriving(arrival).unless(cancelled);
        Path folder = stages.incoming().folder(ImageArchive.manifestOf(request).allBytes());
        boolean kept = false;
        try {
            Files.writeString(note(archive), folder.toString());
            ImageArchive.Unpacked image = ImageArchive.read(request, folder);
            UnpackedAhead before = READY.put(
                    archive.toAbsolutePath(),
                    new UnpackedAhead(
                            FileStamp.of(archive),
                            key,
                            folder,
                            image,
                            SuspendAttempt.millis(begun, System.nanoTime())));
            kept = true;
            if (before != null) {
                before.delete();
            }
        } finally {
            if (!kept) {
                OldImages.deleteQuietly(folder);
                forget(archive);
            }
        }
    }

    /** What was unpacked of that archive, if nothing has touched it since and that key opens it; the caller's from now on. */
    static Optional<UnpackedAhead> take(Path archive, ImageKey key) {
        UnpackedAhead ready = READY.remove(archive.toAbsolutePath());
        if (ready == null) {
            return Optional.empty();
        }
        forget(archive);
        boolean untouched = ready.archive.equals(FileStamp.of(archive)) && Files.exists(archive);
        if (untouched && MessageDigest.isEqual(ready.keyDigest, key.digest())) {
            return Optional.of(ready);
        }
        ready.delete();
        return Optional.empty();
    }

    /** Removes what was unpacked of that archive; without effect where there is nothing. */
    public static void drop(Stages stages, Path archive) throws IOException {
        UnpackedAhead ready = READY.remove(archive.toAbsolutePath());
        Path note = note(archive);
        if (ready != null) {
            ready.delete();
        } else if (Files.isRegularFile(note, LinkOption.NOFOLLOW_LINKS)) {
            stages.incoming().remove(Files.readString(note));
        }
        forget(archive);
    }

    // A note that stays names a folder that is gone, which does no harm. A resume must not fail for it, nor leave an
    // image.
    private static void forget(Path archive) {
        try {
            Files.deleteIfExists(note(archive));
        } catch (IOException x) {
            LOG.log(Level.FINE, x, () -> "the note beside " + archive + " cannot be deleted");
        }
    }

    private static Path note(Path archive) {
        return archive.resolveSibling(archive.getFileName() + ".unpacked");
    }

    Path folder() {
        return folder;
    }

    ImageArchive.Unpacked image() {
        return image;
    }

    /** How long the unpacking took, most of it beside the arrival. */
    long millis() {
        return millis;
    }

    private void delete() {
        OldImages.deleteQuietly(folder);
    }
}
