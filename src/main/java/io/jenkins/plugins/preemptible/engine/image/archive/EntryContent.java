package io.jenkins.plugins.preemptible.engine.image.archive;

import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.BAD_CONTENT;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.block.BlockHash;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;

/**
 * The content of one entry, hashed while it is read.
 *
 * <ol>
 *   <li>It is taken from the tar in pieces of 1 MiB, which {@link #nextPiece} gives without copying. A thread beside it hashes
 *       the last few while the next one is read; a small entry is hashed at once, which takes less than to wake that thread.
 *   <li>As a stream it gives the same bytes to a reader that wants less.
 *   <li>{@link #finish} reads what is left and compares the digest with the manifest's.
 * </ol>
 */
final class EntryContent extends InputStream {

    private final TarInput tar;
    private final BlockHash hash;
    private final Workers.Line<byte[]> hashing;
    private final byte[][] buffers;
    private byte[] piece;
    private int taken;
    private int length;
    private int at;
    private IOException failure;

    /**
     * @param buffers of 1 MiB, or as large as the largest entry; this entry's until it is finished: more than {@code workers}
     *     have in hand at a time
     * @param workers that hash; null where nothing is hashed
     */
    EntryContent(TarInput tar, byte[][] buffers, Workers workers) {
        this.tar = tar;
        this.buffers = buffers;
        this.piece = buffers[0];
        this.hash = workers == null ? null : new BlockHash();
        this.hashing = workers == null ? null : workers.inOrder(hash::add);
    }

    /** Takes the next piece; 0 at the end. */
    int nextPiece() throws IOException {
        try {
            at = 0;
            piece = buffers[taken++ % buffers.length];
            length = tar.read(piece);
        } catch (IOException e) {
            failure = e;
            throw e;
        }
        if (hash != null && length > 0) {
            byte[] hashed = piece;
            int bytes = length;
            if (taken == 1 && length <= Workers.SMALL_BYTES) {
                hash.add(BlockHash.leaves(hashed, bytes));
            } else {
                hashing.give(() -> BlockHash.leaves(hashed, bytes));
            }
        }
        return length;
    }

    /** The bytes of the piece that was taken last. */
    byte[] piece() {
        return piece;
    }

    @Override
    public int read() throws IOException {
        return at < length || nextPiece() > 0 ? piece[at++] & 0xff : -1;
    }

    @Override
    public int read(byte[] bytes, int offset, int wanted) throws IOException {
        if (wanted == 0) {
            return 0;
        }
        if (at == length && nextPiece() == 0) {
            return -1;
        }
        int size = Math.min(wanted, length - at);
        System.arraycopy(piece, at, bytes, offset, size);
        at += size;
        return size;
    }

    /** A failure of the archive, which a reader's own must not hide; null when there was none. */
    IOException failure() {
        return failure;
    }

    void finish(Path archive, ImageManifest.EntryInfo entry) throws IOException {
        while (nextPiece() > 0) {}
        if (hashing != null) {
            hashing.finish();
        }
        if (hash != null && !ArchiveFormat.hex(hash.digest()).equals(entry.sha256())) {
            throw new ImageException(BAD_CONTENT, archive, "'" + entry.name() + "'", null);
        }
    }
}
