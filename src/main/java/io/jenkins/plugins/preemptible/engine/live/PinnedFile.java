package io.jenkins.plugins.preemptible.engine.live;

import io.jenkins.plugins.preemptible.engine.image.preserved.OpenFolder;
import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;
import jnr.ffi.LibraryLoader;
import jnr.ffi.Runtime;

/**
 * A file that was taken hold of without following a link, and stays the same file when another takes its name.
 *
 * <ol>
 *   <li>{@link #itself} is a path by which Java's methods reach it, as those of {@link OpenFolder}; taking hold of a FIFO or
 *       a device opens neither.
 *   <li>{@link #parts} are the parts of a plain file that have data; the holes between them take no room.
 * </ol>
 *
 * For one thread. Sources: open(2), lseek(2).
 */
final class PinnedFile implements Closeable {

    private static final int O_RDONLY = 0;
    private static final int O_WRONLY = 1;
    private static final int O_CREAT = 0100;
    private static final int O_EXCL = 0200;
    private static final int O_NOFOLLOW = 0400000;
    private static final int O_CLOEXEC = 02000000;
    private static final int O_PATH = 010000000;
    private static final int SEEK_DATA = 3;
    private static final int SEEK_HOLE = 4;
    /** No such device or address: no data behind there. */
    private static final int ENXIO = 6;
    /** Holes of smaller files are not looked for. */
    private static final long LARGE = 64L << 10;

    private static final long PIECE = 4L << 20;

    /** The functions as the C library names them. */
    public interface Functions {
        int open(String path, int flags, int mode);

        int close(int descriptor);

        long lseek(int descriptor, long offset, int whence);
    }

    private static final class Bound {
        static final Functions C = LibraryLoader.create(Functions.class).load("c");
    }

    /** From one byte to another, without that. */
    record Part(long from, long to) {}

    private final int descriptor;

    private PinnedFile(int descriptor) {
        this.descriptor = descriptor;
    }

    /** @throws NoSuchFileException when there is none of this name */
    static PinnedFile of(OpenFolder folder, String name) throws IOException {
        return open(folder.at(name), O_PATH | O_NOFOLLOW);
    }

    /** Makes a new, empty file, which only its owner may read. */
    static PinnedFile make(OpenFolder folder, String name) throws IOException {
        return open(folder.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
    }

    private static PinnedFile open(Path path, int flags) throws IOException {
        int descriptor = Bound.C.open(path.toString(), flags | O_CLOEXEC, 0600);
        if (descriptor < 0) {
            if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
                throw new NoSuchFileException(path.toString());
            }
            throw new FileSystemException(path.toString(), null, "cannot be opened, or made");
        }
        return new PinnedFile(descriptor);
    }

    /** A link of /proc's, which has to be followed. */
    Path itself() {
        return Path.of("/proc/self/fd/" + descriptor);
    }

    /** @param size up to which it is looked at; what it grows by meanwhile is not */
    List<Part> parts(long size) throws IOException {
        if (size < LARGE) {
            return size == 0 ? List.of() : List.of(new Part(0, size));
        }
        List<Part> parts = new ArrayList<>();
        try (PinnedFile open = open(itself(), O_RDONLY)) {
            for (long at = 0; at < size; ) {
                long from = Bound.C.lseek(open.descriptor, at, SEEK_DATA);
                if (from < 0 && Runtime.getRuntime(Bound.C).getLastError() == ENXIO || from >= size) {
                    break;
                }
                long to = from < 0 ? -1 : Bound.C.lseek(open.descriptor, from, SEEK_HOLE);
                // A file system that cannot tell has no holes.
                parts.add(new Part(from < 0 ? at : from, to < 0 || to > size ? size : to));
                at = parts.get(parts.size() - 1).to();
            }
        }
        return parts;
    }

    /**
     * Copies these parts of the file into an empty one, which then is as large as it was.
     *
     * @param toll is told how much is written next
     */
    void copyTo(PinnedFile copy, List<Part> parts, long size, LongConsumer toll) throws IOException {
        try (FileChannel in = FileChannel.open(itself(), StandardOpenOption.READ);
                RandomAccessFile file = new RandomAccessFile(copy.itself().toFile(), "rw")) {
            FileChannel out = file.getChannel();
            for (Part part : parts) {
                for (long at = part.from(); at < part.to(); ) {
                    long piece = Math.min(PIECE, part.to() - at);
                    toll.accept(piece);
                    long written = in.transferTo(at, piece, out.position(at));
                    if (written <= 0) {
                        // It was cut off meanwhile, which its times tell.
                        break;
                    }
                    at += written;
                }
            }
            if (out.size() != size) {
                file.setLength(size);
            }
        }
    }

    @Override
    public void close() {
        Bound.C.close(descriptor);
    }
}
