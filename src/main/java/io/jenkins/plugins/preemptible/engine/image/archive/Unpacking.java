package io.jenkins.plugins.preemptible.engine.image.archive;

import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.BAD_CONTENT;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.CANCELLED;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.INPUT_OUTPUT;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.NO_SPACE;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.PARENT_MISSING;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.PARENT_UNUSABLE;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.EntryInfo;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import io.jenkins.plugins.preemptible.engine.image.block.BlockHash;
import io.jenkins.plugins.preemptible.engine.image.block.BlockRuns;
import io.jenkins.plugins.preemptible.engine.image.preserved.Sources;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.ToIntFunction;

/**
 * Writes the contents of an image to its target, those of a difference from two archives.
 *
 * <ol>
 *   <li>What the archive holds itself goes to its places while the archive is read.
 *   <li>Of a difference, the parent is then read once from end to end, and each block that is referred to goes to its
 *       places.
 *   <li>Each file that was put together so is read again and compared with its digest.
 * </ol>
 *
 * For one thread.
 */
final class Unpacking implements ArchiveReader.Receiver {

    private final ReadRequest request;
    private final UnpackTarget target;
    private final ToIntFunction<ImageManifest> count;
    private ImageManifest manifest;
    private List<BlockRuns> references;

    Unpacking(ReadRequest request, UnpackTarget target) {
        this(request, target, image -> image.entries().size());
    }

    /** @param count how many entries are read */
    Unpacking(ReadRequest request, UnpackTarget target, ToIntFunction<ImageManifest> count) {
        this.request = request;
        this.target = target;
        this.count = count;
    }

    /** Returns the manifest when all of the image lies in the target. */
    ImageManifest run() throws ImageException {
        ArchiveReader reader = new ArchiveReader(request);
        reader.read(this);
        if (manifest.isDifference()) {
            readParent();
            try (Workers workers = new Workers(
                    Math.min(4, Runtime.getRuntime().availableProcessors()), request.archive(), request.cancelled())) {
                for (int i = 0; i < references.size(); i++) {
                    if (references.get(i) != null) {
                        check(manifest.entries().get(i), workers);
                    }
                }
            }
        }
        return manifest;
    }

    @Override
    public void begin(ImageManifest sealed, List<BlockRuns> runs) throws IOException {
        manifest = sealed;
        references = runs;
        target.expect(sealed.entries().stream()
                .limit(count.applyAsInt(sealed))
                .mapToLong(EntryInfo::bytes)
                .sum());
    }

    @Override
    public void entry(int number, EntryInfo entry, EntryContent content) throws IOException {
        try (FileChannel channel = target.create(entry.name())) {
            OwnPlaces places = references.get(number) == null ? null : new OwnPlaces(references.get(number));
            long position = 0;
            int length;
            while ((length = content.nextPiece()) > 0) {
                checkCancelled();
                if (places == null) {
                    target.write(channel, entry.name(), content.piece(), 0, length, position, entry.bytes());
                    position += length;
                } else {
                    writeOwn(channel, entry, places, content.piece(), length);
                }
            }
        }
    }

    private void writeOwn(FileChannel channel, EntryInfo entry, OwnPlaces places, byte[] piece, int length)
            throws ImageException {
        for (int at = 0; at < length; ) {
            long position = places.position();
            int size = (int) Math.min(length - at, places.left());
            target.write(channel, entry.name(), piece, at, size, position, entry.bytes());
            places.advance(size);
            at += size;
        }
    }

    /** Goes through the places of a difference's own blocks. */
    private static final class OwnPlaces {
        private final BlockRuns runs;
        private int run;
        private long begin;
        private long done;

        OwnPlaces(BlockRuns runs) {
            this.runs = runs;
            seek();
        }

        private void seek() {
            while (run < runs.size() && runs.source(run) != BlockRuns.OWN) {
                begin += bytes();
                run++;
            }
        }

        private long bytes() {
            return (long) runs.length(run) * BlockHash.BLOCK;
        }

        long position() {
            return begin + done;
        }

        long left() {
            return bytes() - done;
        }

        void advance(int size) {
            done += size;
            if (done == bytes()) {
                begin += done;
                done = 0;
                run++;
                seek();
            }
        }
    }

    private void readParent() throws ImageException {
        Path parent = request.parent() != null
                ? request.parent()
                : request.archive()
                        .toAbsolutePath()
                        .resolveSibling(manifest.parent().file());
        if (!Files.exists(parent)) {
            throw new ImageException(PARENT_MISSING, request.archive(), parent.toString(), null);
        }
        ReadRequest full = ReadRequest.of(parent, request.key()).unless(request.cancelled());
        try (ParentBlocks blocks = new ParentBlocks(request.archive(), manifest, references, target)) {
            new ArchiveReader(full).read(blocks);
        } catch (ImageException e) {
            // The target's disk and the caller's wish are not the parent's fault.
            if (List.of(NO_SPACE, CANCELLED, INPUT_OUTPUT, PARENT_UNUSABLE).contains(e.reason())) {
                throw e;
            }
            throw new ImageException(PARENT_UNUSABLE, request.archive(), e.finding(), e);
        } catch (IOException e) {
            throw ImageException.writeFailed(request.archive(), e);
        }
    }

    private void check(EntryInfo entry, Workers workers) throws ImageException {
        BlockHash hash = new BlockHash();
        Path shown = target.path(entry.name());
        try (FileChannel channel = target.open(entry.name())) {
            Workers.Line<byte[]> line = workers.inOrder(hash::add);
            for (long at = 0; at < entry.bytes(); at += ArchiveFormat.CHUNK) {
                long position = at;
                int length = (int) Math.min(ArchiveFormat.CHUNK, entry.bytes() - at);
                line.give(() -> {
                    byte[] piece = new byte[length];
                    Sources.read(channel, piece, length, position, shown);
                    return BlockHash.leaves(piece, length);
                });
            }
            line.finish();
        } catch (ImageException e) {
            throw e;
        } catch (IOException e) {
            throw new ImageException(INPUT_OUTPUT, shown, ImageException.words(e), e);
        }
        if (!ArchiveFormat.hex(hash.digest()).equals(entry.sha256())) {
            throw new ImageException(
                    BAD_CONTENT, request.archive(), "'" + entry.name() + "' as put together with its parent", null);
        }
    }

    private void checkCancelled() throws ImageException {
        if (request.cancelled() != null && request.cancelled().getAsBoolean()) {
            throw new ImageException(CANCELLED, request.archive(), null, null);
        }
    }
}
