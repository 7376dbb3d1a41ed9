package io.jenkins.plugins.preemptible.engine.image.block;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;

/**
 * Where the blocks of one entry of a difference come from.
 *
 * <ol>
 *   <li>Runs follow each other from the entry's first block to its last, each so many blocks long.
 *   <li>A run is either the difference's own or begins at a block of its parent, counted over all the parent's entries
 *       in their order.
 *   <li>Neighbours that continue where the last one ended are one run, so unchanged memory is a handful of numbers.
 * </ol>
 *
 * For one thread.
 */
public final class BlockRuns {

    /** Bytes of one run in an archive: two 32-bit numbers. */
    public static final int BYTES = 8;

    /** In place of a parent's block: the difference holds these blocks itself. */
    public static final int OWN = -1;

    private int[] lengths = new int[4];
    private int[] sources = new int[4];
    private int size;
    private long own;
    private long all;

    /** Appends one block. */
    public void add(int source) {
        boolean goesOn = size > 0
                && (source == OWN
                        ? sources[size - 1] == OWN
                        : sources[size - 1] != OWN && sources[size - 1] + lengths[size - 1] == source);
        if (goesOn) {
            lengths[size - 1]++;
        } else {
            append(1, source);
        }
        all++;
        own += source == OWN ? 1 : 0;
    }

    private void append(int length, int source) {
        if (size == lengths.length) {
            lengths = Arrays.copyOf(lengths, size * 2);
            sources = Arrays.copyOf(sources, size * 2);
        }
        lengths[size] = length;
        sources[size++] = source;
    }

    public int size() {
        return size;
    }

    public int length(int run) {
        return lengths[run];
    }

    public int source(int run) {
        return sources[run];
    }

    /** Blocks in all. */
    public long blocks() {
        return all;
    }

    /** Blocks that are the difference's own. */
    public long ownBlocks() {
        return own;
    }

    /** Whether its last block is the difference's own. */
    boolean endsOwn() {
        return size > 0 && sources[size - 1] == OWN;
    }

    /** Bytes that the difference itself holds of an entry of so many bytes. */
    public long ownBytes(long entryBytes) {
        long missing = all * BlockHash.BLOCK - entryBytes;
        return own * BlockHash.BLOCK - (endsOwn() ? missing : 0);
    }

    public void write(DataOutputStream out) throws IOException {
        for (int run = 0; run < size; run++) {
            out.writeInt(lengths[run]);
            out.writeInt(sources[run] + 1);
        }
    }

    /**
     * @param runs how many to read
     * @param blocks how many blocks they have to make
     * @return null when they are not what a writer would have written
     */
    public static BlockRuns read(DataInputStream in, int runs, long blocks) throws IOException {
        BlockRuns read = new BlockRuns();
        for (int run = 0; run < runs; run++) {
            int length = in.readInt();
            int source = in.readInt() - 1;
            if (length <= 0 || source < OWN || (source != OWN && source + (long) length > Integer.MAX_VALUE)) {
                return null;
            }
            read.append(length, source);
            read.all += length;
            read.own += source == OWN ? length : 0;
        }
        return read.all == blocks ? read : null;
    }
}
