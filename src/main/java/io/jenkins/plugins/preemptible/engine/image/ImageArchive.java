package io.jenkins.plugins.preemptible.engine.image;

import java.io.IOException;
import java.nio.file.Path;

/**
 * Seals the files of a CRIU image into one archive, and opens it again.
 *
 * <ol>
 *   <li>An archive is a head of 10 bytes (magic {@code PREEMPT\n}, format version as a big-endian 16 bit number), a
 *       Tink stream (AES256_GCM_HKDF_1MB, the head as associated data) of zstd of tar, and a tail of 16 bytes (the
 *       file's length as a big-endian 64 bit number, magic {@code PREEMEND}).
 *   <li>The tar's first entry is {@code manifest.json}, then come the image files by name, and last
 *       {@code seal.json} with their number and size.
 *   <li>Head and stream are authenticated; the tail only tells a file that was cut off from one that was changed.
 * </ol>
 *
 * All calls block, and stream: memory stays below 32 MB at any image size, and no second copy of the image is made but
 * the archive. They share nothing, so any number may run at a time on different files; two on the same file must be kept
 * apart by the caller. Sources: Tink's wire format of streaming AEAD; Hoang, Reyhanitabar, Rogaway, Vizár,
 * "Online Authenticated-Encryption and its Nonce-Reuse Misuse-Resistance" (why a cut stream is noticed); POSIX pax.
 */
public final class ImageArchive {

    /** The format that this version writes, and the only one that it reads. */
    public static final int FORMAT_VERSION = 1;

    private ImageArchive() {}

    /**
     * What was written.
     *
     * @param imageBytes of all image files before compression
     * @param archiveBytes size of the archive
     * @param millis it took
     */
    public record Written(long imageBytes, long archiveBytes, long millis) {}

    /**
     * Seals all files of a folder into a new archive, which appears under its name only when it is whole and on disk.
     *
     * <p>An archive that is there already is replaced at that moment, not before. While it is written it has the name
     * of the archive with {@code .partial} at its end; nothing of that name is left, however this ends, and one that is
     * there (after a crash) is removed.
     *
     * @param imageDir a flat folder of regular files, as {@code criu dump -D} leaves it; must not change meanwhile
     * @param archive in a folder that exists; made readable by its owner only
     * @param manifest its format version and image bytes are filled in here
     * @throws ImageException with the reason; the folder is left as it was and so is an older archive
     */
    public static Written write(Path imageDir, Path archive, ImageKey key, ImageManifest manifest)
            throws ImageException {
        return new ArchiveWriter(imageDir, archive, key, manifest).write();
    }

    /**
     * Authenticates and unpacks a whole archive.
     *
     * <p>What it unpacked may be given to CRIU only after it returned: until then the end of the archive was not seen.
     *
     * @param intoDir a folder that is empty or does not exist yet; its files are readable by their owner only
     * @throws ImageException with the reason; the folder is empty or gone again, the archive is left as it was
     */
    public static ImageManifest read(Path archive, ImageKey key, Path intoDir) throws ImageException {
        try (UnpackTarget target = UnpackTarget.in(intoDir)) {
            ImageManifest manifest = new ArchiveReader(archive, key, target).read().manifest();
            target.keep();
            return manifest;
        }
    }

    /**
     * Authenticates a whole archive and tells what is in it, without writing anything.
     *
     * @throws ImageException with the reason
     */
    public static ImageInspection inspect(Path archive, ImageKey key) throws ImageException {
        return inspect(archive, key, EntrySink.NONE);
    }

    /**
     * Authenticates a whole archive and lets the caller see its files while it is read, without writing anything.
     *
     * <p>What the sink was given may be believed only after this returned: until then the end was not seen.
     *
     * @throws ImageException with the reason; INPUT_OUTPUT when the sink itself failed
     */
    public static ImageInspection inspect(Path archive, ImageKey key, EntrySink sink) throws ImageException {
        return new ArchiveReader(archive, key, ArchiveReader.Target.NONE, sink).read();
    }

    /**
     * Reads what an archive says of itself, from its first megabyte only: whether the rest is whole is not known.
     *
     * @throws ImageException with the reason
     */
    public static ImageManifest manifestOf(Path archive, ImageKey key) throws ImageException {
        return new ArchiveReader(archive, key, ArchiveReader.Target.NONE).readManifest();
    }

    /** An I/O error in words: the kind of error alone says nothing to people where it has a message. */
    static String words(IOException e) {
        String message = e instanceof java.nio.file.FileSystemException f ? f.getReason() : e.getMessage();
        return message == null || message.isBlank() ? e.getClass().getSimpleName() : message;
    }

    /** The failure of a write to a file system, which above all may be full. */
    static ImageException writeFailed(Path where, IOException e) {
        if (e instanceof ImageException image) {
            return image;
        }
        String words = words(e);
        boolean full = words.contains("No space left") || words.contains("quota exceeded") || noRoomAt(where);
        return new ImageException(
                full ? ImageException.Reason.NO_SPACE : ImageException.Reason.INPUT_OUTPUT, where, words, e);
    }

    // The system's message is in the user's language, so the words alone do not decide.
    private static boolean noRoomAt(Path where) {
        try {
            Path folder = where.toAbsolutePath().getParent();
            return java.nio.file.Files.getFileStore(folder).getUsableSpace() == 0;
        } catch (IOException e) {
            return false;
        }
    }
}
