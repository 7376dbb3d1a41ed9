package io.jenkins.plugins.preemptible.agent;

import hudson.FilePath;
import hudson.remoting.VirtualChannel;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Set;
import jenkins.MasterToSlaveFileCallable;

/**
 * Reads a piece of a stage's sealed image from its exchange folder.
 *
 * <ol>
 *   <li>The controller asks for one piece after the other, so that it counts what arrives and notices when nothing does.
 *   <li>The answer has the bytes asked for, fewer at the end of the file, none behind it.
 *   <li>A link is not followed.
 * </ol>
 */
final class ReadImage extends MasterToSlaveFileCallable<byte[]> {

    private static final long serialVersionUID = 1L;

    private final long offset;
    private final int most;

    ReadImage(long offset, int most) {
        this.offset = offset;
        this.most = most;
    }

    /**
     * Asks for a piece of the image in that folder.
     *
     * @param most bytes, at least 1
     * @return the bytes asked for; fewer at the end, none behind it
     */
    static Awaited<byte[]> ask(FilePath folder, long offset, int most) throws IOException, InterruptedException {
        return Limited.ask(folder, byte[].class, new ReadImage(offset, most)).then(piece -> {
            if (Limited.required(piece).length > most) {
                throw Limited.notUnderstood();
            }
            return piece;
        });
    }

    @Override
    public byte[] invoke(File exchange, VirtualChannel channel) throws IOException {
        Path image = exchange.toPath().resolve(AgentStage.IMAGE_FILE);
        try (SeekableByteChannel file =
                Files.newByteChannel(image, Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS))) {
            ByteBuffer piece = ByteBuffer.allocate(most);
            file.position(offset);
            int read = 0;
            while (read >= 0 && piece.hasRemaining()) {
                read = file.read(piece);
            }
            return piece.hasRemaining() ? Arrays.copyOf(piece.array(), piece.position()) : piece.array();
        }
    }
}
