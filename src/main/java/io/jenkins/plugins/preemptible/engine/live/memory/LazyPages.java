package io.jenkins.plugins.preemptible.engine.live.memory;

import com.google.protobuf.UnknownFieldSet;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Pagemap;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.PagemapHead;
import io.jenkins.plugins.preemptible.engine.content.format.ImageFile;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;

/**
 * Puts memory that CRIU left out into its image.
 *
 * <ol>
 *   <li>A pagemap names runs of pages; those marked as lazy only are not in the pages file, which has the others in their
 *       order.
 *   <li>A new pages file gets all of them, the missing ones from the memory of a process; then the pagemap says that all are
 *       present, as in an image that was dumped with its memory.
 * </ol>
 *
 * Source: CRIU 4.2.1, {@code criu/pagemap.c} and {@code criu/page-xfer.c}; proc_pid_mem(5).
 */
public final class LazyPages {

    private static final long PAGE = 4096;
    private static final int PIECE = 1 << 20;

    private LazyPages() {}

    /**
     * Completes the pages of one process.
     *
     * @param images CRIU's files
     * @param process its id within the stage, by which CRIU names its files; without effect when it has no pagemap
     * @param from id on this host of a process that holds its memory
     * @param toll is told how much is written next
     * @return bytes that were read from there
     * @throws NoCopyException when that memory is not there
     */
    public static long fill(Path images, int process, long from, LongConsumer toll) throws IOException {
        Path file = images.resolve("pagemap-" + process + ".img");
        if (!Files.exists(file)) {
            return 0;
        }
        ImageFile pagemap = ImageFile.parse(file.getFileName().toString(), Files.readAllBytes(file));
        List<UnknownFieldSet> entries = pagemap.entries();
        if (entries.stream().skip(1).noneMatch(LazyPages::isLeftOut)) {
            return 0;
        }
        Path pages = images.resolve("pages-" + ImageFile.number(entries.get(0), PagemapHead.PAGES_ID) + ".img");
        Path whole = temporary(images);
        Path map = temporary(images);
        try {
            long read = copy(entries, pages, from, whole, toll);
            List<UnknownFieldSet> present = new ArrayList<>(List.of(entries.get(0)));
            entries.stream().skip(1).map(LazyPages::present).forEach(present::add);
            Files.write(map, pagemap.withEntries(present).bytes());
            Files.move(whole, pages, StandardCopyOption.ATOMIC_MOVE);
            Files.move(map, file, StandardCopyOption.ATOMIC_MOVE);
            return read;
        } finally {
            Files.deleteIfExists(whole);
            Files.deleteIfExists(map);
        }
    }

    private static Path temporary(Path images) throws IOException {
        return Files.createTempFile(
                images,
                "memory",
                null,
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    }

    private static boolean isLeftOut(UnknownFieldSet entry) {
        long flags = ImageFile.number(entry, Pagemap.FLAGS);
        return (flags & Pagemap.LAZY) != 0 && (flags & Pagemap.PRESENT) == 0;
    }

    private static UnknownFieldSet present(UnknownFieldSet entry) {
        return isLeftOut(entry)
                ? entry.toBuilder()
                        .addField(
                                Pagemap.FLAGS,
                                ImageFile.field(ImageFile.number(entry, Pagemap.FLAGS) | Pagemap.PRESENT))
                        .build()
                : entry;
    }

    private static long copy(List<UnknownFieldSet> entries, Path pages, long from, Path whole, LongConsumer toll)
            throws IOException {
        long read = 0;
        ByteBuffer piece = ByteBuffer.allocateDirect(PIECE);
        try (FileChannel dumped = FileChannel.open(pages, StandardOpenOption.READ);
                FileChannel memory = memory(from);
                FileChannel to = FileChannel.open(whole, StandardOpenOption.WRITE)) {
            for (UnknownFieldSet entry : entries.subList(1, entries.size())) {
                long count = ImageFile.number(entry, entry.hasField(Pagemap.PAGES) ? Pagemap.PAGES : Pagemap.PAGES_32);
                if (isLeftOut(entry) || (ImageFile.number(entry, Pagemap.FLAGS) & Pagemap.PRESENT) != 0) {
                    toll.accept(count * PAGE);
                }
                if (isLeftOut(entry)) {
                    read += memory(memory, ImageFile.number(entry, Pagemap.ADDRESS), count * PAGE, piece, to);
                } else if ((ImageFile.number(entry, Pagemap.FLAGS) & Pagemap.PRESENT) != 0) {
                    for (long left = count * PAGE; left > 0; left -= piece.position()) {
                        piece.clear().limit((int) Math.min(PIECE, left));
                        if (dumped.read(piece) < 0) {
                            throw new EOFException(pages + " is shorter than its pagemap says");
                        }
                        write(piece, to);
                    }
                }
            }
        }
        return read;
    }

    private static FileChannel memory(long process) throws IOException {
        try {
            return FileChannel.open(Path.of("/proc/" + process + "/mem"), StandardOpenOption.READ);
        } catch (IOException e) {
            throw new NoCopyException("the memory of a copy cannot be opened", e);
        }
    }

    private static long memory(FileChannel memory, long address, long bytes, ByteBuffer piece, FileChannel to)
            throws IOException {
        for (long done = 0; done < bytes; done += piece.position()) {
            piece.clear().limit((int) Math.min(PIECE, bytes - done));
            int got;
            try {
                got = memory.read(piece, address + done);
            } catch (ClosedChannelException e) {
                // By an interrupt, which says nothing of the memory.
                throw e;
            } catch (IOException e) {
                throw NoCopyException.lasting("a part of its memory is not passed on to children", e);
            }
            if (got <= 0) {
                throw new NoCopyException("a copy of its memory has ended", null);
            }
            write(piece, to);
        }
        return bytes;
    }

    /** Writes what is in the buffer, whose position is the same afterwards. */
    private static void write(ByteBuffer piece, FileChannel to) throws IOException {
        ByteBuffer filled = piece.duplicate().flip();
        while (filled.hasRemaining()) {
            to.write(filled);
        }
    }
}
