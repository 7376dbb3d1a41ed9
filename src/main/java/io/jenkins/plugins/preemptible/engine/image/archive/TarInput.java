package io.jenkins.plugins.preemptible.engine.image.archive;

import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.TRUNCATED;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.UNSAFE_ENTRY;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;

/**
 * The tar within an archive, of which exactly one form is accepted.
 *
 * <ol>
 *   <li>The caller says which entry comes next; its header has to be, byte for byte, the one that a writer makes of
 *       that name and size.
 *   <li>So there are no links, folders, devices, sparse files, pax or GNU headers, and no choice for an attacker who
 *       crafts one.
 *   <li>After the last entry there may be nothing but zeros, and those not longer than tar's padding.
 * </ol>
 *
 * A general tar reader would understand all those before it could be asked to refuse them. For one thread.
 */
final class TarInput {

    private static final int LARGEST_END = 20 * ArchiveFormat.TAR_BLOCK + 2 * ArchiveFormat.TAR_BLOCK;

    private final InputStream in;
    private final Path archive;
    private long left;
    private int padding;

    TarInput(InputStream in, Path archive) {
        this.in = in;
        this.archive = archive;
    }

    /**
     * Goes to an entry of which only the name is known.
     *
     * @param most its largest size in bytes
     * @return its size
     */
    long next(String name, long most) throws IOException {
        byte[] header = header(name);
        long size = -1;
        try {
            size = new TarArchiveEntry(header).getSize();
        } catch (IllegalArgumentException e) {
            // told below
        }
        if (size > most) {
            throw new ImageException(UNSAFE_ENTRY, archive, "'" + name + "' has " + size + " bytes", null);
        }
        begin(name, size, header);
        return size;
    }

    /** Goes to an entry of a known size. */
    void next(String name, Long size) throws IOException {
        begin(name, size, header(name));
    }

    private byte[] header(String name) throws IOException {
        byte[] rest = in.readNBytes(padding);
        if (rest.length < padding) {
            throw cut(name);
        }
        if (!isZero(rest)) {
            throw new ImageException(UNSAFE_ENTRY, archive, "something follows the entry before '" + name + "'", null);
        }
        padding = 0;
        byte[] header = in.readNBytes(ArchiveFormat.TAR_BLOCK);
        if (header.length < ArchiveFormat.TAR_BLOCK || isZero(header)) {
            throw cut(name);
        }
        return header;
    }

    private void begin(String name, long size, byte[] header) throws IOException {
        if (size < 0 || !Arrays.equals(header, ArchiveFormat.tarHeader(name, size))) {
            throw new ImageException(UNSAFE_ENTRY, archive, "'" + name + "' is not where it belongs", null);
        }
        left = size;
        padding = (int) (-size & ArchiveFormat.TAR_BLOCK - 1);
    }

    private ImageException cut(String name) {
        return new ImageException(TRUNCATED, archive, "'" + name + "' is missing", null);
    }

    private static boolean isZero(byte[] bytes) {
        for (byte each : bytes) {
            if (each != 0) {
                return false;
            }
        }
        return true;
    }

    /** Bytes of the current entry that were not read yet. */
    long left() {
        return left;
    }

    /** Reads as much of the current entry as there is, up to the buffer's length; 0 at its end. */
    int read(byte[] buffer) throws IOException {
        int wanted = (int) Math.min(buffer.length, left);
        int read = in.readNBytes(buffer, 0, wanted);
        if (read < wanted) {
            throw new ImageException(TRUNCATED, archive, "an entry is not whole", null);
        }
        left -= read;
        return read;
    }

    /** Reads to the end of the stream, which is where a cut is noticed. */
    void end() throws IOException {
        byte[] rest = in.readNBytes(padding + LARGEST_END + 1);
        if (rest.length < padding + 2 * ArchiveFormat.TAR_BLOCK
                || rest.length > padding + LARGEST_END
                || !isZero(rest)) {
            throw new ImageException(UNSAFE_ENTRY, archive, "something follows its seal", null);
        }
    }
}
