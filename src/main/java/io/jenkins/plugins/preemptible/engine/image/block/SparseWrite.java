package io.jenkins.plugins.preemptible.engine.image.block;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/**
 * Writes to a new file so that long stretches of zeros stay holes.
 *
 * <ol>
 *   <li>Zeros are searched block by block from the position that is written to.
 *   <li>64 KiB of them or more are left out; shorter ones are written, since a file of many small pieces is slow.
 *   <li>The file's last block is always written, which sets the file's size.
 * </ol>
 */
public final class SparseWrite {

    private static final int SHORTEST_HOLE = 16 * BlockHash.BLOCK;

    private SparseWrite() {}

    /** @param fileBytes the file's size in the end */
    public static void write(FileChannel channel, byte[] bytes, int offset, int length, long position, long fileBytes)
            throws IOException {
        // Up to here zeros may be left out; what follows is always written.
        long lastBlock = (fileBytes - 1) / BlockHash.BLOCK * BlockHash.BLOCK;
        int end = (int) Math.min(length, Math.max(0, lastBlock - position));
        int done = 0;
        while (done < length) {
            int data = done;
            int hole = zerosFrom(bytes, offset + data, end - data);
            while (data < length && hole < SHORTEST_HOLE) {
                data = Math.min(length, data + Math.max(hole, BlockHash.BLOCK));
                hole = zerosFrom(bytes, offset + data, end - data);
            }
            writeAll(channel, ByteBuffer.wrap(bytes, offset + done, data - done), position + done);
            done = data + hole;
        }
    }

    private static int zerosFrom(byte[] bytes, int offset, int length) {
        int zeros = 0;
        while (zeros < length && BlockHash.isZero(bytes, offset + zeros, Math.min(BlockHash.BLOCK, length - zeros))) {
            zeros += BlockHash.BLOCK;
        }
        return zeros;
    }

    private static void writeAll(FileChannel channel, ByteBuffer buffer, long position) throws IOException {
        long at = position;
        while (buffer.hasRemaining()) {
            at += channel.write(buffer, at);
        }
    }
}
