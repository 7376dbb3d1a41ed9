package io.jenkins.plugins.preemptible.lifecycle.image;

import io.jenkins.plugins.preemptible.agent.Awaited;
import io.jenkins.plugins.preemptible.agent.PiecesInOrder;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import java.util.Set;
import java.util.function.LongPredicate;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.zip.CRC32C;

/**
 * The beginning of an image, brought from the agent while the rest is still being made.
 *
 * <ol>
 *   <li>{@link #step} takes what is there, as long as the image is being made and nothing fails. A few pieces are on their way
 *       while one is written.
 *   <li>Then {@link #bytes} tells how much of the image need not be brought again: nothing, where the agent has made another
 *       one meanwhile, or anything has failed.
 *   <li>What was brought is removed, and its folder when that is empty, unless it became part of the image.
 * </ol>
 *
 * For one thread.
 */
public final class ImageAhead implements AutoCloseable {

    private static final Logger LOGGER = Logger.getLogger(ImageAhead.class.getName());
    private static final long LOOK_MILLIS = 20;

    /** What {@link #step} answers when no further step is of use. */
    public static final long NO_MORE = -1;

    /** How many pieces are asked for at a time, once one was there. */
    private static final int AHEAD = 8;

    private final StageAgent agent;
    private final Path file;
    private final ImageTransfer.Room room;
    private final LongPredicate mayHave;
    private final CRC32C sum = new CRC32C();
    private final Deque<Awaited<byte[]>> coming = new ArrayDeque<>();
    private long asked;
    private boolean found;
    private long bytes;
    private boolean failed;
    private boolean used;

    /**
     * Of an image that is about to be made.
     *
     * @param file in a folder that {@link ImageTransfer#folder} has made; replaced when it is there
     * @param mayHave whether an image of so many bytes, or more, is stored
     */
    ImageAhead(StageAgent agent, Path file, ImageTransfer.Room room, LongPredicate mayHave) {
        this.agent = agent;
        this.file = file;
        this.room = room;
        this.mayHave = mayHave;
    }

    /**
     * Takes what is there.
     *
     * @return after how many milliseconds there may be more; {@link #NO_MORE} when anything has failed: the image is brought
     *     when it is made
     */
    public long step() throws InterruptedException {
        boolean taken = !failed && take();
        if (failed) {
            return NO_MORE;
        }
        return taken ? 0 : LOOK_MILLIS;
    }

    /** How much of the disk it takes. */
    public long heldBytes() {
        return bytes;
    }

    private boolean take() throws InterruptedException {
        try {
            for (; coming.size() < (found ? AHEAD : 1); asked += PiecesInOrder.PIECE) {
                coming.add(agent.askGrowing(asked, PiecesInOrder.PIECE));
            }
            byte[] piece = coming.remove().get();
            found = piece.length > 0;
            if (!found) {
                // Of those behind it one may be there by now.
                giveUpComing();
                return false;
            }
            room.require(piece.length);
            if (!mayHave.test(bytes + piece.length)) {
                throw new IOException("it is too large to be stored");
            }
            write(piece);
            sum.update(piece);
            bytes += piece.length;
            return true;
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> file + " is brought when the image is made");
            failed = true;
            giveUpComing();
            return false;
        }
    }

    private void giveUpComing() {
        coming.forEach(Awaited::giveUp);
        coming.clear();
        asked = bytes;
    }

    private void write(byte[] piece) throws IOException {
        if (bytes == 0) {
            Files.deleteIfExists(file);
        }
        try (FileChannel channel = FileChannel.open(
                file,
                bytes == 0
                        ? Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW, LinkOption.NOFOLLOW_LINKS)
                        : Set.of(StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS))) {
            long at = bytes;
            for (ByteBuffer left = ByteBuffer.wrap(piece); left.hasRemaining(); ) {
                at += channel.write(left, at);
            }
        }
    }

    /**
     * How many bytes of the image are there, now that it is made; the rest is to be added to the file.
     *
     * @param imageBytes its size, as the agent told
     * @throws IOException when the agent is away
     */
    long bytes(long imageBytes) throws IOException, InterruptedException {
        giveUpComing();
        boolean same = !failed && bytes > 0 && bytes <= imageBytes && agent.sum(bytes) == sum.getValue();
        used = true;
        return same ? bytes : 0;
    }

    @Override
    public void close() {
        giveUpComing();
        if (!used) {
            try {
                Files.deleteIfExists(file);
                ImageTransfer.removeEmpty(Objects.requireNonNull(file.getParent(), "a file has a folder"));
            } catch (IOException x) {
                LOGGER.log(Level.WARNING, x, () -> file + " is left, sealed with a key that nobody has any more");
            }
        }
    }
}
