package io.jenkins.plugins.preemptible.engine.image.archive;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.EntrySink;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageInspection;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import io.jenkins.plugins.preemptible.engine.image.WriteRequest;
import io.jenkins.plugins.preemptible.engine.image.preserved.PreservedFiles;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Seals the files of a CRIU image into one archive, and opens it again.
 *
 * <ol>
 *   <li>An archive is a head, an encrypted stream of zstd of tar, and a tail; docs/image-format.md has every byte.
 *   <li>The tar's first entry is the manifest, with the digests of all others; then come the contents, and last a seal.
 *   <li>A full image holds everything. A difference holds what changed since the stage's last full image, and refers to
 *       that for the rest.
 * </ol>
 *
 * All calls block, and stream: memory stays below 256 MB at any image size, and no second copy of the image is made but
 * the archive. They share nothing, so any number may run at a time on different files; two on the same file must be
 * kept apart by the caller. Sources: Tink's wire format of streaming AEAD; Hoang, Reyhanitabar, Rogaway, Vizár,
 * "Online Authenticated-Encryption and its Nonce-Reuse Misuse-Resistance" (why a cut stream is noticed); RFC 8878.
 */
public final class ImageArchive {

    private ImageArchive() {}

    /**
     * What was written.
     *
     * @param imageId of the image, by which a later reader can tell it from every other
     * @param parentId of the full image that a difference refers to; null for a full image
     * @param imageBytes of all image files before compression
     * @param storedBytes of everything that the archive holds, before compression
     * @param allBytes of everything that it restores, before compression; as many as stored ones for a full image
     * @param archiveBytes size of the archive
     * @param millis it took
     * @param skipped preserved paths that were not packed: missing ones, sockets, devices, other file systems
     */
    public record Written(
            String imageId,
            String parentId,
            long imageBytes,
            long storedBytes,
            long allBytes,
            long archiveBytes,
            long millis,
            List<String> skipped) {

        public Written {
            skipped = List.copyOf(skipped);
        }

        /** Whether it refers to the last full image. */
        public boolean difference() {
            return parentId != null;
        }
    }

    /**
     * What was read.
     *
     * @param preserved to be put back by the caller, once it wants the image
     */
    public record Unpacked(ImageManifest manifest, PreservedFiles preserved) {}

    /** Seals all files of a folder into a full image; see {@link #write(WriteRequest)}. */
    public static Written write(Path imageDir, Path archive, ImageKey key, ImageManifest manifest)
            throws ImageException {
        return write(WriteRequest.of(imageDir, archive, key, manifest));
    }

    /**
     * Seals an image into a new archive, which appears under its name only when it is whole and on disk.
     *
     * <p>An archive that is there already is replaced at that moment, not before. While it is written it has the name
     * of the archive with {@code .partial} at its end; nothing of that name is left, however this ends, and one that is
     * there (after a crash) is removed. The preserved paths are not locked: a file that changes meanwhile fails it.
     *
     * @throws ImageException with the reason; everything is left as it was and so is an older archive
     */
    public static Written write(WriteRequest request) throws ImageException {
        return new ArchiveWriter(request).write();
    }

    /** Where an archive lies while it is written: from its beginning to its end, nothing of it twice. */
    public static Path partialOf(Path archive) {
        return archive.resolveSibling(archive.getFileName() + ".partial");
    }

    /** Authenticates and unpacks a whole archive; see {@link #read(ReadRequest, Path)}. */
    public static ImageManifest read(Path archive, ImageKey key, Path intoDir) throws ImageException {
        return read(ReadRequest.of(archive, key), intoDir).manifest();
    }

    /**
     * Authenticates and unpacks a whole archive, with its parent when it is a difference.
     *
     * <p>What it unpacked may be given to CRIU only after it returned: until then the end of the archive was not seen.
     * Preserved files lie in the folder {@code preserved} below, to be put back where they belong by
     * {@link PreservedFiles#putBack}.
     *
     * @param intoDir a folder that is empty or does not exist yet; its files are readable by their owner only
     * @throws ImageException with the reason; the folder is empty or gone again, the archive is left as it was
     */
    public static Unpacked read(ReadRequest request, Path intoDir) throws ImageException {
        try (UnpackTarget target = UnpackTarget.in(intoDir)) {
            ImageManifest manifest = new Unpacking(request, target).run();
            target.keep();
            return new Unpacked(manifest, new PreservedFiles(manifest, intoDir));
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
     * <p>What the sink was given may be believed only after this returned: until then the end was not seen. The parent
     * of a difference is not read.
     *
     * @throws ImageException with the reason; INPUT_OUTPUT when the sink itself failed
     */
    public static ImageInspection inspect(Path archive, ImageKey key, EntrySink sink) throws ImageException {
        return new ArchiveReader(ReadRequest.of(archive, key)).read(new SinkReceiver(archive, sink));
    }

    /**
     * The digests of all blocks of some entries, those of a difference with its parent's help, without writing
     * anything.
     *
     * <p>Both archives are authenticated as a whole.
     *
     * @param names of image files; those that the image does not have are left out of the answer
     * @return for each, two longs for each 4096 bytes: the first 128 bits of their SHA-256
     * @throws ImageException with the reason; PARENT_MISSING when the full image is not beside a difference
     */
    public static Map<String, long[]> blockDigests(ReadRequest request, Set<String> names) throws ImageException {
        return new BlockDigests(request, names).read();
    }

    /**
     * Unpacks the image files that lie before those with the content of memory and files, from an archive that may be cut
     * off behind them.
     *
     * <p>Each is authentic, and the manifest tells what follows; whether it does is not known.
     *
     * @param intoDir as of {@link #read(ReadRequest, Path)}
     * @return empty when the archive does not have them in front, or is a difference; the folder is empty or gone again
     * @throws ImageException with the reason; likewise. When the file is cut off too early that may be any reason
     */
    public static Optional<ImageManifest> readBeginning(ReadRequest request, Path intoDir) throws ImageException {
        try (UnpackTarget target = UnpackTarget.in(intoDir)) {
            ImageManifest manifest = new ArchiveReader(request)
                    .readBeginning(ImageArchive::inFront, new Unpacking(request, target, ImageArchive::inFront));
            if (inFront(manifest) == 0) {
                return Optional.empty();
            }
            target.keep();
            return Optional.of(manifest);
        }
    }

    /** How many entries lie before all content; 0 when others come behind, which is a difference or of an earlier version. */
    private static int inFront(ImageManifest manifest) {
        List<Boolean> content = manifest.entries().stream()
                .map(e -> ArchiveFormat.isContent(e.name()) || e.name().startsWith(ArchiveFormat.PRESERVED))
                .toList();
        int first = content.indexOf(true);
        boolean inOrder = first >= 0 && !content.subList(first, content.size()).contains(false);
        return inOrder && !manifest.isDifference() ? first : 0;
    }

    /**
     * Reads what an archive says of itself, from its beginning only: whether the rest is whole is not known.
     *
     * @throws ImageException with the reason
     */
    public static ImageManifest manifestOf(Path archive, ImageKey key) throws ImageException {
        return manifestOf(ReadRequest.of(archive, key));
    }

    /** The same, for an archive that the caller expects or that still arrives. */
    public static ImageManifest manifestOf(ReadRequest request) throws ImageException {
        return new ArchiveReader(request).readManifest();
    }

    /**
     * The same of a file that may be cut off behind it.
     *
     * @throws ImageException with the reason; when the file is cut off too early that may be any reason
     */
    public static ImageManifest manifestOfBeginning(Path archive, ImageKey key) throws ImageException {
        return new ArchiveReader(ReadRequest.of(archive, key)).readBeginning(manifest -> 0, null);
    }
}
