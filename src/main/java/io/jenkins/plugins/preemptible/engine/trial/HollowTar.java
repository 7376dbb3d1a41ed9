package io.jenkins.plugins.preemptible.engine.trial;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarConstants;

/**
 * A tmpfs as CRIU packs it, with the sizes of its files and without their content.
 *
 * <ol>
 *   <li>A large file becomes a sparse one that has nothing but a hole; tar makes it by ftruncate(2).
 *   <li>Small files and programs stay as they are: CRIU reads the build ids of programs.
 *   <li>What GNU tar did not write in its own format is left alone: then there is no hollow one.
 * </ol>
 *
 * Source: the GNU tar manual, "Basic Tar Format", {@code struct sparse_header}.
 */
final class HollowTar {

    private static final int BLOCK = TarConstants.DEFAULT_RCDSIZE;
    private static final byte[] GNU_MAGIC = "ustar  \0".getBytes(StandardCharsets.US_ASCII);
    private static final int SIZE = 124;
    private static final int CHECKSUM = 148;
    private static final int TYPE = 156;
    private static final int MAGIC = 257;
    private static final int HOLES = 386;
    private static final int EXTENDED = 482;
    private static final int REAL_SIZE = 483;
    private static final int EXTENSION_GOES_ON = 504;
    private static final int NUMBER = 12;
    /** What eleven octal digits can say. */
    private static final long LARGEST = (1L << 33) - 1;
    private static final int EXECUTABLE = 0111;

    private HollowTar() {}

    /**
     * Writes the hollow one.
     *
     * @return false when there is none; then nothing is written
     */
    static boolean make(Path tar, Path hollow) throws IOException {
        boolean whole = false;
        try (InputStream in = new BufferedInputStream(Files.newInputStream(tar), 1 << 16);
                OutputStream out = new BufferedOutputStream(Files.newOutputStream(hollow), 1 << 16)) {
            whole = copy(in, out);
        } catch (IllegalArgumentException e) {
            // No number where one belongs: no tar that is known here, but one of gzip, say.
        }
        if (!whole) {
            Files.delete(hollow);
        }
        return whole;
    }

    private static boolean copy(InputStream in, OutputStream out) throws IOException {
        while (true) {
            byte[] header = in.readNBytes(BLOCK);
            if (header.length < BLOCK) {
                return false;
            }
            if (isZero(header)) {
                out.write(header);
                out.write(header);
                return true;
            }
            if (!Arrays.equals(header, MAGIC, MAGIC + GNU_MAGIC.length, GNU_MAGIC, 0, GNU_MAGIC.length)) {
                return false;
            }
            TarArchiveEntry entry = new TarArchiveEntry(header);
            boolean sparse = header[TYPE] == TarConstants.LF_GNUTYPE_SPARSE;
            long stored = entry.getSize();
            long size = sparse ? entry.getRealSize() : stored;
            boolean hollow = (sparse || header[TYPE] == TarConstants.LF_NORMAL)
                    && stored > StrippedImage.SMALL
                    && size <= LARGEST
                    && (entry.getMode() & EXECUTABLE) == 0;
            boolean more = sparse && header[EXTENDED] != 0;
            out.write(hollow ? hollow(header, size) : header);
            while (more) {
                byte[] extension = in.readNBytes(BLOCK);
                if (extension.length < BLOCK) {
                    return false;
                }
                more = extension[EXTENSION_GOES_ON] != 0;
                if (!hollow) {
                    out.write(extension);
                }
            }
            long padded = stored + (-stored & BLOCK - 1);
            if (hollow) {
                in.skipNBytes(padded);
            } else {
                transfer(in, out, padded);
            }
        }
    }

    private static void transfer(InputStream in, OutputStream out, long bytes) throws IOException {
        byte[] buffer = new byte[1 << 16];
        for (long left = bytes; left > 0; ) {
            int read = in.readNBytes(buffer, 0, (int) Math.min(buffer.length, left));
            if (read == 0) {
                throw new java.io.EOFException("the tar ends within an entry");
            }
            out.write(buffer, 0, read);
            left -= read;
        }
    }

    private static byte[] hollow(byte[] header, long size) {
        byte[] next = header.clone();
        next[TYPE] = TarConstants.LF_GNUTYPE_SPARSE;
        number(next, SIZE, 0);
        Arrays.fill(next, HOLES, EXTENDED + 1, (byte) 0);
        // One piece of data, of no length, where the file ends.
        number(next, HOLES, size);
        number(next, HOLES + NUMBER, 0);
        number(next, REAL_SIZE, size);
        Arrays.fill(next, CHECKSUM, CHECKSUM + 8, (byte) ' ');
        long sum = 0;
        for (byte each : next) {
            sum += each & 0xff;
        }
        text(next, CHECKSUM, String.format("%06o\0 ", sum));
        return next;
    }

    private static void number(byte[] header, int at, long value) {
        text(header, at, String.format("%011o\0", value));
    }

    private static void text(byte[] header, int at, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(bytes, 0, header, at, bytes.length);
    }

    private static boolean isZero(byte[] block) {
        for (byte each : block) {
            if (each != 0) {
                return false;
            }
        }
        return true;
    }
}
