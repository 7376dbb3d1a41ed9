package io.jenkins.plugins.preemptible.lifecycle.image;

import io.jenkins.plugins.preemptible.agent.Pieces;
import io.jenkins.plugins.preemptible.agent.PiecesInOrder;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;

/**
 * Brings an image from an agent that may send anything to the controller.
 *
 * <ol>
 *   <li>Asks for one piece after the other, each of the size that is expected next, and counts what arrives. A few are on
 *       their way while one is written.
 *   <li>A piece of another size, or anything behind the announced end, fails the transfer.
 *   <li>Before each piece the disk is asked for room, since other images arrive at the same time.
 *   <li>It is forced to disk: the frozen processes, and what their agent has sealed, are given up for it.
 *   <li>Whatever fails, nothing of the image is left. The file's place is the controller's choice alone: neither names nor
 *       links come from the agent.
 * </ol>
 */
final class ImageTransfer {

    private static final Logger LOGGER = Logger.getLogger(ImageTransfer.class.getName());
    private static final Object[] DOORS =
            Stream.generate(Object::new).limit(256).toArray();

    private ImageTransfer() {}

    /** The disk that the image is written to. */
    @FunctionalInterface
    interface Room {

        /** @throws IOException when the disk should not take so many bytes more */
        void require(long bytes) throws IOException;
    }

    /**
     * Makes the folders for an image, one in the other.
     *
     * @param inside exists afterwards, and may hold what a build has archived
     * @throws IOException when there is something else of that name, such as a link
     */
    static Path folder(Path inside, String... names) throws IOException {
        synchronized (door(inside)) {
            Files.createDirectories(inside);
            Path folder = inside;
            for (String name : names) {
                folder = folder.resolve(name);
                try {
                    Files.createDirectory(folder);
                } catch (FileAlreadyExistsException x) {
                    if (!Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
                        throw new IOException(
                                inside.relativize(folder) + " among the build's artifacts is no folder: the build has"
                                        + " archived something of that name",
                                x);
                    }
                }
            }
            return folder;
        }
    }

    // Of one build, but for the few that share one: a folder of another build may be on a disk that hangs.
    private static Object door(Path inside) {
        return DOORS[Math.floorMod(inside.toAbsolutePath().normalize().hashCode(), DOORS.length)];
    }

    /**
     * Removes the folder of a stage's images and the one around it, as long as they are empty: other stages of the build may be
     * suspended as well, and {@link #folder} is never between the two folders meanwhile.
     */
    static void removeEmpty(Path folder) throws IOException {
        Path outer = Objects.requireNonNull(folder.getParent(), "a folder is made inside another one");
        synchronized (door(Objects.requireNonNull(outer.getParent(), "that one is among a build's artifacts"))) {
            try {
                // A link of that name is something that the build has archived.
                if (Files.isDirectory(outer, LinkOption.NOFOLLOW_LINKS)) {
                    Files.deleteIfExists(folder);
                    Files.deleteIfExists(outer);
                }
            } catch (DirectoryNotEmptyException x) {
                LOGGER.log(Level.FINER, "another image is still there", x);
            }
        }
    }

    /**
     * Brings the whole image, see {@link #receive(Pieces, long, long, Path, Room)}.
     */
    static void receive(Pieces source, long announcedBytes, Path to, Room room)
            throws IOException, InterruptedException {
        receive(source, 0, announcedBytes, to, room);
    }

    /**
     * Brings the image.
     *
     * @param there how many bytes of it are in the file already
     * @param announcedBytes its size, as the agent told before
     * @param to in a folder that {@link #folder} has made; replaced when nothing of the image is there
     * @throws IOException when it is not of that size, has no room, or cannot be read or written; there is no such file
     *     then
     */
    static void receive(Pieces source, long there, long announcedBytes, Path to, Room room)
            throws IOException, InterruptedException {
        if (there == 0) {
            Files.deleteIfExists(to);
        }
        boolean whole = false;
        try (PiecesInOrder pieces = new PiecesInOrder(source, there, announcedBytes)) {
            try (FileChannel file = open(to, there)) {
                file.position(there);
                for (long at = there; at < announcedBytes; ) {
                    room.require(announcedBytes - at);
                    int expected = (int) Math.min(PiecesInOrder.PIECE, announcedBytes - at);
                    byte[] piece = pieces.next();
                    if (piece.length != expected) {
                        throw new IOException("the agent has sent " + (at + piece.length) + " bytes of an image for"
                                + " which it had announced " + announcedBytes + "; what had arrived was removed");
                    }
                    for (ByteBuffer left = ByteBuffer.wrap(piece); left.hasRemaining(); ) {
                        file.write(left);
                    }
                    at += expected;
                }
                file.force(false);
            }
            forceFolder(to);
            if (source.ask(announcedBytes, 1).get().length > 0) {
                throw new IOException("the agent's image has more than the " + announcedBytes
                        + " bytes that it had announced; what had arrived was removed");
            }
            whole = true;
        } finally {
            if (!whole) {
                Files.deleteIfExists(to);
            }
        }
    }

    // The file's name, which is in its folder.
    private static void forceFolder(Path file) throws IOException {
        Path folder = Objects.requireNonNull(file.getParent(), "a file has a folder");
        try (FileChannel names = FileChannel.open(folder, StandardOpenOption.READ)) {
            names.force(true);
        } catch (IOException x) {
            // Not every system opens folders: a controller may run on Windows.
            LOGGER.log(Level.FINE, x, () -> folder + " cannot be forced to disk");
        }
    }

    private static FileChannel open(Path to, long there) throws IOException {
        Set<OpenOption> options = new HashSet<>(Set.of(StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS));
        if (there == 0) {
            options.add(StandardOpenOption.CREATE_NEW);
        }
        return FileChannel.open(to, options);
    }
}
