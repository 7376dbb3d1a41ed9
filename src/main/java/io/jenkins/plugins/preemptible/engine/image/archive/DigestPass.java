package io.jenkins.plugins.preemptible.engine.image.archive;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.EntryInfo;
import io.jenkins.plugins.preemptible.engine.image.block.BlockHash;
import io.jenkins.plugins.preemptible.engine.image.block.BlockIndex;
import io.jenkins.plugins.preemptible.engine.image.block.BlockRuns;
import io.jenkins.plugins.preemptible.engine.image.preserved.Sources;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The first of two passes over what is packed: its digests, and what of it the last full image holds already.
 *
 * <ol>
 *   <li>Workers read and hash pieces of 1 MiB; the calling thread does so with small files, and takes the hashes in order.
 *   <li>Each block's hash is searched in the last full image's index, and goes into a new index.
 *   <li>Afterwards everything is known that the manifest has to say, before a byte of the archive is written.
 * </ol>
 *
 * For one thread.
 */
final class DigestPass {

    /** What describes the processes is kept whole, so that a difference can be inspected by itself. */
    private static final int SMALL = 1 << 20;

    private final Sources sources;
    private final Workers workers;
    private final BlockIndex parent;
    private final BlockIndex.Writer index;
    private final List<byte[]> digests = new ArrayList<>();
    private final List<BlockRuns> runs = new ArrayList<>();

    /**
     * @param parent the last full image's blocks; null when there is none
     * @param index takes the hashes of this image's; null when they are not wanted
     */
    DigestPass(Sources sources, Workers workers, BlockIndex parent, BlockIndex.Writer index) {
        this.sources = sources;
        this.workers = workers;
        this.parent = parent;
        this.index = index;
    }

    /** What one worker found. */
    private record Piece(Current of, byte[] leaves) {}

    /** A file that is being hashed; its last piece closes it. */
    private static final class Current {
        private final FileChannel channel;
        private final BlockHash hash = new BlockHash();
        private final BlockRuns runs = new BlockRuns();
        private int left;

        Current(FileChannel channel, int pieces) {
            this.channel = channel;
            this.left = pieces;
        }
    }

    void run() throws IOException {
        List<Current> open = new ArrayList<>();
        Workers.Line<Piece> line = workers.inOrder(this::take);
        byte[] small = new byte[Workers.SMALL_BYTES];
        ThreadLocal<byte[]> buffers = ThreadLocal.withInitial(() -> new byte[ArchiveFormat.CHUNK]);
        try {
            for (Sources.Source source : sources.all()) {
                long bytes = source.bytes();
                Path shown = sources.shown(source);
                Current current = new Current(
                        sources.open(source), Math.toIntExact((bytes + ArchiveFormat.CHUNK - 1) / ArchiveFormat.CHUNK));
                open.add(current);
                open.removeIf(c -> !c.channel.isOpen());
                if (bytes <= Workers.SMALL_BYTES) {
                    Sources.read(current.channel, small, (int) bytes, 0, shown);
                    line.put(new Piece(current, BlockHash.leaves(small, (int) bytes)));
                    continue;
                }
                for (long at = 0; at < bytes; at += ArchiveFormat.CHUNK) {
                    long position = at;
                    int length = (int) Math.min(ArchiveFormat.CHUNK, bytes - at);
                    line.give(() -> {
                        byte[] buffer = buffers.get();
                        Sources.read(current.channel, buffer, length, position, shown);
                        return new Piece(current, BlockHash.leaves(buffer, length));
                    });
                }
            }
            line.finish();
        } finally {
            for (Current each : open) {
                each.channel.close();
            }
        }
    }

    private void take(Piece piece) throws IOException {
        Current current = piece.of;
        current.hash.add(piece.leaves);
        if (index != null) {
            index.add(piece.leaves);
        }
        if (parent != null) {
            for (int leaf = 0; leaf < piece.leaves.length; leaf += BlockHash.DIGEST) {
                current.runs.add(parent.find(piece.leaves, leaf));
            }
        }
        current.left--;
        if (current.left <= 0) {
            current.channel.close();
            digests.add(current.hash.digest());
            runs.add(current.runs);
        }
    }

    /** Bytes that a difference would have to hold itself. */
    long ownBytes() {
        long own = 0;
        for (int i = 0; i < runs.size(); i++) {
            long bytes = sources.all().get(i).bytes();
            BlockRuns references = references(i);
            own += references == null ? bytes : references.ownBytes(bytes);
        }
        return own;
    }

    /** The references of one entry, or null when the archive holds all of it. */
    BlockRuns references(int entry) {
        BlockRuns found = runs.get(entry);
        Sources.Source source = sources.all().get(entry);
        if (source.preserved() < 0 && source.bytes() <= SMALL && !source.name().startsWith("pages-")) {
            return null;
        }
        return found.ownBlocks() == found.blocks() ? null : found;
    }

    /**
     * What the manifest says of the contents.
     *
     * @param difference whether references are used
     */
    List<EntryInfo> entries(boolean difference) {
        List<EntryInfo> entries = new ArrayList<>();
        for (int i = 0; i < digests.size(); i++) {
            Sources.Source source = sources.all().get(i);
            BlockRuns references = difference ? references(i) : null;
            entries.add(new EntryInfo(
                    source.name(),
                    source.bytes(),
                    ArchiveFormat.hex(digests.get(i)),
                    references == null ? 0 : references.size(),
                    references == null ? source.bytes() : references.ownBytes(source.bytes())));
        }
        return entries;
    }
}
