package io.jenkins.plugins.preemptible.engine.image.block;

import java.security.DigestException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/**
 * The SHA-256 of an entry, as a tree of two levels: over its blocks, and over the blocks' own hashes.
 *
 * <ol>
 *   <li>An entry is cut into blocks of 4 KiB, a page of memory; the last one may be shorter.
 *   <li>{@link #leaves} hashes blocks and depends on nothing else, so any number of threads may share one entry.
 *   <li>The entry's digest is the SHA-256 of all the leaves in their order; of an empty entry, of nothing.
 * </ol>
 *
 * One pass so serves both the entry's digest and the search for pages that did not change. Only the static parts may be
 * used by several threads.
 */
public final class BlockHash {

    /** A page of memory, and what a reference names. */
    public static final int BLOCK = 4096;

    public static final int DIGEST = 32;

    private static final byte[] ZEROS = new byte[BLOCK];
    private static final byte[] LEAF_OF_ZEROS = sha256().digest(ZEROS);

    private final MessageDigest root = sha256();

    public static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    /** How many blocks hold so many bytes. */
    public static long blocks(long bytes) {
        return (bytes + BLOCK - 1) / BLOCK;
    }

    /** Whether it is a whole block of zeros, such as most of a sparse file. */
    static boolean isZero(byte[] data, int offset, int length) {
        return length == BLOCK && Arrays.equals(data, offset, offset + length, ZEROS, 0, BLOCK);
    }

    /**
     * The hashes of the blocks of a piece of an entry.
     *
     * @param data begins at a block's beginning
     * @param length a multiple of the block size, except for the entry's last piece
     */
    public static byte[] leaves(byte[] data, int length) {
        byte[] leaves = new byte[(int) blocks(length) * DIGEST];
        MessageDigest hash = sha256();
        for (int at = 0, leaf = 0; at < length; at += BLOCK, leaf += DIGEST) {
            int size = Math.min(BLOCK, length - at);
            if (isZero(data, at, size)) {
                System.arraycopy(LEAF_OF_ZEROS, 0, leaves, leaf, DIGEST);
                continue;
            }
            hash.update(data, at, size);
            try {
                hash.digest(leaves, leaf, DIGEST);
            } catch (DigestException e) {
                throw new IllegalStateException("there is room for a digest", e);
            }
        }
        return leaves;
    }

    public void add(byte[] leaves) {
        root.update(leaves);
    }

    public byte[] digest() {
        return root.digest();
    }
}
