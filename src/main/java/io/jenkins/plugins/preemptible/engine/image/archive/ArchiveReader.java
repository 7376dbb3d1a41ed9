package io.jenkins.plugins.preemptible.engine.image.archive;

import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.CANCELLED;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.OTHER_VERSION;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.REPLAYED;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.TRUNCATED;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.UNSAFE_ENTRY;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageInspection;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.EntryInfo;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import io.jenkins.plugins.preemptible.engine.image.block.BlockHash;
import io.jenkins.plugins.preemptible.engine.image.block.BlockRuns;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.ToIntFunction;

/**
 * Reads one archive to its end and believes nothing that was not authenticated.
 *
 * <ol>
 *   <li>The manifest comes first and has to be consistent and the expected one; then every further byte is known
 *       beforehand, but for the contents.
 *   <li>Each content goes to the {@link Receiver} and is compared with its digest.
 *   <li>The seal has to fit the manifest, and nothing may follow it; then the streams have come to their ends.
 * </ol>
 */
final class ArchiveReader {

    private final ReadRequest request;
    private final Path archive;

    ArchiveReader(ReadRequest request) {
        this.request = request;
        this.archive = request.archive();
    }

    /** Where the contents go. */
    interface Receiver {
        /**
         * Called once, before any content.
         *
         * @param references of each entry, in their order; null where the archive holds all of one
         */
        void begin(ImageManifest manifest, List<BlockRuns> references) throws IOException;

        /** @param content what the archive holds of the entry; what is not read is skipped */
        void entry(int number, EntryInfo entry, EntryContent content) throws IOException;

        /** Whether contents are to be hashed: not where the receiver checks what becomes of them. */
        default boolean checksDigests() {
            return true;
        }
    }

    ImageInspection read(Receiver receiver) throws ImageException {
        return new ArchiveStream(request).use(true, (tar, file) -> {
            MessageDigest hash = BlockHash.sha256();
            ImageManifest manifest = manifest(tar, hash);
            String manifestSha256 = ArchiveFormat.hex(hash.digest());
            refuseUnexpected(manifest);
            List<BlockRuns> references = references(tar, manifest);
            receiver.begin(manifest, references);
            readEntries(tar, manifest, manifest.entries().size(), receiver);
            checkSeal(tar, manifest, references, manifestSha256);
            tar.end();
            return ImageInspection.of(manifest, file.size());
        });
    }

    private void readEntries(TarInput tar, ImageManifest manifest, int count, Receiver receiver) throws IOException {
        try (Workers hashing = new Workers(1, archive, null)) {
            long largest = manifest.entries().stream()
                    .limit(count)
                    .mapToLong(EntryInfo::stored)
                    .max()
                    .orElse(0);
            byte[][] buffers = new byte[hashing.depth() + 1][(int) Math.max(1, Math.min(largest, ArchiveFormat.CHUNK))];
            for (int i = 0; i < count; i++) {
                EntryInfo entry = manifest.entries().get(i);
                tar.next(entry.name(), Long.valueOf(entry.stored()));
                boolean hashed = entry.runs() == 0 && receiver.checksDigests();
                EntryContent content = new EntryContent(tar, buffers, hashed ? hashing : null);
                checkCancelled();
                receiver.entry(i, entry, content);
                content.finish(archive, entry);
            }
        }
    }

    /**
     * Reads the first entries of a file that may be cut off behind them. Each is authentic; that the rest follows is not
     * known.
     *
     * @param count how many, by the manifest
     */
    ImageManifest readBeginning(ToIntFunction<ImageManifest> count, Receiver receiver) throws ImageException {
        return new ArchiveStream(request).useBeginning((tar, file) -> {
            ImageManifest manifest = manifest(tar, BlockHash.sha256());
            refuseUnexpected(manifest);
            int entries = count.applyAsInt(manifest);
            if (entries > 0) {
                receiver.begin(manifest, references(tar, manifest));
                readEntries(tar, manifest, entries, receiver);
            }
            return manifest;
        });
    }

    ImageManifest readManifest() throws ImageException {
        return new ArchiveStream(request).use(false, (tar, file) -> {
            ImageManifest manifest = manifest(tar, BlockHash.sha256());
            refuseUnexpected(manifest);
            return manifest;
        });
    }

    /** For receivers that take long over one entry. */
    void checkCancelled() throws ImageException {
        if (request.cancelled() != null && request.cancelled().getAsBoolean()) {
            throw new ImageException(CANCELLED, archive, null, null);
        }
    }

    private ImageManifest manifest(TarInput tar, MessageDigest hash) throws IOException {
        tar.next(ArchiveFormat.MANIFEST, ArchiveFormat.LARGEST_JSON);
        ImageManifest manifest = json(new DigestInputStream(new Rest(tar), hash), ImageManifest.class);
        if (manifest.formatVersion() != ImageManifest.FORMAT_VERSION) {
            throw new ImageException(OTHER_VERSION, archive, "its manifest has " + manifest.formatVersion(), null);
        }
        Optional<String> objection = ManifestCheck.objection(manifest);
        if (objection.isPresent()) {
            throw new ImageException(UNSAFE_ENTRY, archive, objection.get(), null);
        }
        return manifest;
    }

    private void refuseUnexpected(ImageManifest manifest) throws ImageException {
        if (request.stageId() != null && !request.stageId().equals(manifest.stageId())) {
            throw new ImageException(
                    REPLAYED, archive, "it is of stage " + manifest.stageId() + ", not " + request.stageId(), null);
        }
        if (request.suspension() != 0 && request.suspension() != manifest.suspension()) {
            throw new ImageException(
                    REPLAYED,
                    archive,
                    "it is of suspension " + manifest.suspension() + ", not " + request.suspension(),
                    null);
        }
        if (request.imageId() != null && !request.imageId().equals(manifest.imageId())) {
            throw new ImageException(REPLAYED, archive, "it is image " + manifest.imageId(), null);
        }
    }

    private List<BlockRuns> references(TarInput tar, ImageManifest manifest) throws IOException {
        List<BlockRuns> references = new ArrayList<>();
        if (!manifest.isDifference()) {
            manifest.entries().forEach(e -> references.add(null));
            return references;
        }
        tar.next(ArchiveFormat.REFERENCES, Long.valueOf(referenceBytes(manifest)));
        DataInputStream in = new DataInputStream(new Rest(tar));
        for (EntryInfo entry : manifest.entries()) {
            BlockRuns runs =
                    entry.runs() == 0 ? null : BlockRuns.read(in, entry.runs(), BlockHash.blocks(entry.bytes()));
            if (entry.runs() > 0 && (runs == null || runs.ownBytes(entry.bytes()) != entry.stored())) {
                throw new ImageException(UNSAFE_ENTRY, archive, "its references to '" + entry.name() + "'", null);
            }
            references.add(runs);
        }
        return references;
    }

    private static long referenceBytes(ImageManifest manifest) {
        return manifest.entries().stream().mapToLong(EntryInfo::runs).sum() * BlockRuns.BYTES;
    }

    private void checkSeal(TarInput tar, ImageManifest manifest, List<BlockRuns> references, String manifestSha256)
            throws IOException {
        tar.next(ArchiveFormat.SEAL, ArchiveFormat.CHUNK);
        ArchiveFormat.Seal seal = json(new Rest(tar), ArchiveFormat.Seal.class);
        int entries = references.size() + (manifest.isDifference() ? 1 : 0);
        long bytes = manifest.storedBytes() + (manifest.isDifference() ? referenceBytes(manifest) : 0);
        if (seal.entries() != entries
                || seal.bytes() != bytes
                || !manifest.imageId().equals(seal.imageId())
                || !manifestSha256.equals(seal.manifestSha256())) {
            throw new ImageException(
                    TRUNCATED, archive, "its seal counts " + seal.entries() + " entries, found are " + entries, null);
        }
    }

    /** What is left of the tar's current entry. */
    private static final class Rest extends InputStream {
        private final TarInput tar;
        private final byte[] buffer = new byte[1 << 16];
        private int length;
        private int at;

        Rest(TarInput tar) {
            this.tar = tar;
        }

        private boolean fill() throws IOException {
            if (at == length) {
                length = tar.read(buffer);
                at = 0;
            }
            return length > 0;
        }

        @Override
        public int read() throws IOException {
            return fill() ? buffer[at++] & 0xff : -1;
        }

        @Override
        public int read(byte[] bytes, int offset, int wanted) throws IOException {
            if (wanted == 0 || !fill()) {
                return wanted == 0 ? 0 : -1;
            }
            int size = Math.min(wanted, length - at);
            System.arraycopy(buffer, at, bytes, offset, size);
            at += size;
            return size;
        }
    }

    private <T> T json(InputStream in, Class<T> type) throws IOException {
        T value = ArchiveFormat.json().readValue(in, type);
        if (value == null || in.read() >= 0) {
            throw new ImageException(UNSAFE_ENTRY, archive, "its " + type.getSimpleName() + " is no JSON object", null);
        }
        return value;
    }
}
