package io.jenkins.plugins.preemptible.engine.image.block;

import com.google.crypto.tink.StreamingAead;
import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.Optional;

/**
 * The hashes of all blocks of a stage's last full image, by which a later dump finds what did not change.
 *
 * <ol>
 *   <li>It is a private file beside the stage, written along with a full image and sealed with the same key: without
 *       the key it can neither be forged nor show what the memory held.
 *   <li>Of each block it keeps the first 128 bits of its SHA-256, in the order of the image's blocks.
 *   <li>Read back, a table of block numbers finds a block by its hash, the one after the last found first.
 * </ol>
 *
 * It is trusted for nothing but size: each entry that is put together from references is checked against the whole
 * SHA-256 in the manifest. Memory: 24 bytes a block while a difference is written, 96 MB at most. For one thread.
 */
public final class BlockIndex {

    /** 16 GiB of memory and files; an image with more is written in full each time. */
    static final int MOST_BLOCKS = 1 << 22;

    static final int KEPT = 16;

    private static final byte[] MAGIC = "PREEMIDX\0\1".getBytes(StandardCharsets.ISO_8859_1);
    private static final int NONE = -1;

    private final String imageId;
    private final Path archive;
    private final long[] hashes;
    private final int blocks;
    private final int[] table;
    private int expected;

    private BlockIndex(String imageId, Path archive, long[] hashes, int blocks) {
        this.imageId = imageId;
        this.archive = archive;
        this.hashes = hashes;
        this.blocks = blocks;
        this.table = new int[Math.max(2, Integer.highestOneBit(Math.max(1, blocks)) * 4)];
        Arrays.fill(table, NONE);
        for (int block = 0; block < blocks; block++) {
            int slot = slot(hashes[2 * block], hashes[2 * block + 1]);
            if (table[slot] == NONE) {
                table[slot] = block;
            }
        }
    }

    /** The image whose blocks these are. */
    public String imageId() {
        return imageId;
    }

    /** Where that image was written to. */
    public Path archive() {
        return archive;
    }

    /** Whether an index of so many blocks may be held in memory. */
    public static boolean fits(long blocks) {
        return blocks <= MOST_BLOCKS;
    }

    // Where this hash is, or the free place where it would go.
    private int slot(long high, long low) {
        int slot = (int) (high ^ high >>> 32) & table.length - 1;
        while (table[slot] != NONE && !is(table[slot], high, low)) {
            slot = slot + 1 & table.length - 1;
        }
        return slot;
    }

    private boolean is(int block, long high, long low) {
        return hashes[2 * block] == high && hashes[2 * block + 1] == low;
    }

    /** The image's block of this content, or {@link BlockRuns#OWN} when it has none. */
    public int find(byte[] leaves, int offset) {
        ByteBuffer leaf = ByteBuffer.wrap(leaves, offset, KEPT);
        long high = leaf.getLong();
        long low = leaf.getLong();
        int found = expected < blocks && is(expected, high, low) ? expected : table[slot(high, low)];
        expected = found == NONE ? expected + 1 : found + 1;
        return found == NONE ? BlockRuns.OWN : found;
    }

    /** Reads an index; empty when there is none, when it is not whole, or when it was sealed with another key. */
    public static Optional<BlockIndex> read(Path file, ImageKey key) {
        if (!Files.isRegularFile(file)) {
            return Optional.empty();
        }
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(
                key.cipher().newDecryptingStream(Files.newInputStream(file), MAGIC), 1 << 20))) {
            String imageId = ArchiveFormat.hex(in.readNBytes(ArchiveFormat.ID_BYTES));
            Path archive = Path.of(in.readUTF());
            long[] hashes = new long[1 << 12];
            int blocks = 0;
            byte[] piece;
            while ((piece = in.readNBytes(KEPT << 12)).length > 0) {
                int more = piece.length / KEPT;
                if (piece.length % KEPT != 0 || !fits((long) blocks + more)) {
                    return Optional.empty();
                }
                if (hashes.length < 2 * (blocks + more)) {
                    hashes = Arrays.copyOf(hashes, Math.max(2 * (blocks + more), hashes.length + hashes.length / 2));
                }
                ByteBuffer.wrap(piece).asLongBuffer().get(hashes, 2 * blocks, 2 * more);
                blocks += more;
            }
            return Optional.of(new BlockIndex(imageId, archive, hashes, blocks));
        } catch (IOException | GeneralSecurityException | RuntimeException e) {
            return Optional.empty();
        }
    }

    /** A new index on its way to the disk; nothing of it is left unless it is {@link #keep kept}. */
    public static final class Writer implements Closeable {
        private final Path file;
        private final Path partial;
        private final DataOutputStream out;
        private long blocks;
        private boolean kept;

        public Writer(Path file, ImageKey key, String imageId, Path archive)
                throws IOException, GeneralSecurityException {
            this.file = file.toAbsolutePath();
            this.partial = this.file.resolveSibling(this.file.getFileName() + ".partial");
            Files.deleteIfExists(partial);
            StreamingAead cipher = key.cipher();
            this.out = new DataOutputStream(new BufferedOutputStream(
                    cipher.newEncryptingStream(ArchiveFormat.newPrivateFile(partial), MAGIC), 1 << 20));
            out.write(ArchiveFormat.bytes(imageId));
            out.writeUTF(archive.toString());
        }

        public void add(byte[] leaves) throws IOException {
            for (int leaf = 0; leaf < leaves.length; leaf += BlockHash.DIGEST) {
                out.write(leaves, leaf, KEPT);
                blocks++;
            }
        }

        /** Puts it in place of an older one; an index that could not be read again is left out. */
        public void keep() throws IOException {
            out.close();
            if (fits(blocks)) {
                Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE);
                kept = true;
            }
        }

        @Override
        public void close() throws IOException {
            try {
                out.close();
            } finally {
                if (!kept) {
                    Files.deleteIfExists(partial);
                }
            }
        }
    }
}
