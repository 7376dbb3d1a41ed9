package io.jenkins.plugins.preemptible.agent;

import hudson.remoting.VirtualChannel;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.zip.CRC32C;
import jenkins.MasterToSlaveFileCallable;

/**
 * Reads of a stage's sealed image what is there while it is still being made, or is tried.
 *
 * <ol>
 *   <li>The image is written from its beginning to its end, so what is there stays, unless the dump fails and another one is
 *       begun: {@link Sum} tells in the end whether what was read is the beginning of what was made.
 *   <li>The answer is a whole piece, or nothing.
 *   <li>A link is not followed.
 * </ol>
 */
final class GrowingImage extends MasterToSlaveFileCallable<byte[]> {

    private static final long serialVersionUID = 1L;

    private final long offset;
    private final int length;

    /** @param length at least 1 */
    GrowingImage(long offset, int length) {
        this.offset = offset;
        this.length = length;
    }

    private static SeekableByteChannel open(Path file) throws IOException {
        return Files.newByteChannel(file, Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS));
    }

    private static SeekableByteChannel openGrowing(Path image) throws IOException {
        try {
            return open(ImageArchive.partialOf(image));
        } catch (NoSuchFileException x) {
            // Its trial takes longer than its sealing where it is small.
            return open(image);
        }
    }

    /** @return none where fewer bytes are there */
    @Override
    public byte[] invoke(File exchange, VirtualChannel channel) throws IOException {
        try (SeekableByteChannel file = openGrowing(exchange.toPath().resolve(AgentStage.IMAGE_FILE))) {
            ByteBuffer piece = ByteBuffer.allocate(file.size() - offset < length ? 0 : length);
            file.position(offset);
            int read = 0;
            while (read >= 0 && piece.hasRemaining()) {
                read = file.read(piece);
            }
            return piece.hasRemaining() ? new byte[0] : piece.array();
        } catch (NoSuchFileException x) {
            return new byte[0];
        }
    }

    /** The CRC-32C of the first bytes of an image that is made. */
    static final class Sum extends MasterToSlaveFileCallable<Long> {

        private static final long serialVersionUID = 1L;
        private static final int PIECE = 1 << 20;

        private final long bytes;

        Sum(long bytes) {
            this.bytes = bytes;
        }

        /** @return of fewer where it has no more */
        @Override
        public Long invoke(File exchange, VirtualChannel channel) throws IOException {
            CRC32C sum = new CRC32C();
            ByteBuffer piece = ByteBuffer.allocate(PIECE);
            try (SeekableByteChannel file = open(exchange.toPath().resolve(AgentStage.IMAGE_FILE))) {
                long left = bytes;
                int read = 0;
                while (left > 0 && read >= 0) {
                    piece.clear().limit((int) Math.min(PIECE, left));
                    read = file.read(piece);
                    sum.update(piece.flip());
                    left -= Math.max(0, read);
                }
            }
            return sum.getValue();
        }
    }
}
