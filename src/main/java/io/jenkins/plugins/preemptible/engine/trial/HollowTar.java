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
import java.util.HashMap;
import java.util.Map;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarConstants;

/**
 * A tmpfs as CRIU packs it, with the sizes of its files and without their content.
 *
 * <ol>
 *   <li>A large file becomes a sparse one that has nothing but a hole; tar makes it by ftruncate(2).
 *   <li>Small files and programs stay as they are: CRIU reads the build ids of programs.
 *   <li>What is neither in GNU tar's own format nor in that of POSIX is left alone: then there is no hollow one.
 * </ol>
 *
 * Source: the GNU tar manual, "Basic Tar Format", {@code struct sparse_header}; "PAX Format, Version 1.0", how a sparse
 * file is stored in the format of POSIX.
 */
final class HollowTar {

    private static final int BLOCK = TarConstants.DEFAULT_RCDSIZE;
    private static final byte[] GNU_MAGIC = "ustar  \0".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] POSIX_MAGIC = "ustar\00000".getBytes(StandardCharsets.US_ASCII);
    private static final int SIZE = 124;
    private static final int CHECKSUM = 148;
    private static final int TYPE = 156;
    private static final int MAGIC = 257;
    private static final int PREFIX = 345;
    private static final int HOLES = 386;
    private static final int EXTENDED = 482;
    private static final int REAL_SIZE = 483;
    private static final int EXTENSION_GOES_ON = 504;
    private static final int NUMBER = 12;
    /** What eleven octal digits can say. */
    private static final long LARGEST = (1L << 33) - 1;

    private static final int EXECUTABLE = 0111;
    /** Of what GNU tar writes before one file; an attribute of a file has 64 KB at most. */
    private static final long MOST_RECORDS = 16 << 20;

    private HollowTar() {}

    /**
     * Writes the hollow tar.
     *
     * @return false when the tar has an unknown format; then nothing is written
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
        Map<String, String> records = Map.of();
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
            boolean posix = hasMagic(header, POSIX_MAGIC);
            if (!posix && !hasMagic(header, GNU_MAGIC)) {
                return false;
            }
            TarArchiveEntry entry = new TarArchiveEntry(header);
            if (header[TYPE] == TarConstants.LF_PAX_EXTENDED_HEADER_LC) {
                if (entry.getSize() > MOST_RECORDS) {
                    return false;
                }
                byte[] text = in.readNBytes((int) padded(entry.getSize()));
                records = records(text, (int) entry.getSize());
                out.write(header);
                out.write(text);
            } else if (posix) {
                posix(in, out, header, entry, records);
                records = Map.of();
            } else if (!gnu(in, out, header, entry)) {
                return false;
            }
        }
    }

    private static boolean gnu(InputStream in, OutputStream out, byte[] header, TarArchiveEntry entry)
            throws IOException {
        boolean sparse = header[TYPE] == TarConstants.LF_GNUTYPE_SPARSE;
        long stored = entry.getSize();
        long size = sparse ? entry.getRealSize() : stored;
        boolean hollow = (sparse || header[TYPE] == TarConstants.LF_NORMAL) && hollow(entry, stored, size);
        boolean more = sparse && header[EXTENDED] != 0;
        out.write(hollow ? hole(header, size) : header);
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
        content(in, out, stored, hollow);
        return true;
    }

    private static void posix(
            InputStream in, OutputStream out, byte[] header, TarArchiveEntry entry, Map<String, String> records)
            throws IOException {
        long stored = records.containsKey("size") ? Long.parseLong(records.get("size")) : entry.getSize();
        boolean sparse = "1".equals(records.get("GNU.sparse.major"));
        long size = sparse ? Long.parseLong(records.get("GNU.sparse.realsize")) : stored;
        // With a record of its own the header's size would not count.
        boolean hollow = header[TYPE] == TarConstants.LF_NORMAL
                && hollow(entry, stored, size)
                && !records.containsKey("size")
                && (sparse || records.keySet().stream().noneMatch(r -> r.startsWith("GNU.sparse.")))
                && header[PREFIX] == 0;
        if (hollow && sparse) {
            // Its map comes before its data: one piece, of no length, where the file ends.
            byte[] next = header.clone();
            number(next, SIZE, BLOCK);
            checksum(next);
            out.write(next);
            out.write(Arrays.copyOf(("1\n" + size + "\n0\n").getBytes(StandardCharsets.US_ASCII), BLOCK));
        } else if (hollow) {
            // GNU tar takes the format from each header, and the records before it count in either.
            byte[] next = header.clone();
            System.arraycopy(GNU_MAGIC, 0, next, MAGIC, GNU_MAGIC.length);
            out.write(hole(next, size));
        } else {
            out.write(header);
        }
        content(in, out, stored, hollow);
    }

    private static boolean hollow(TarArchiveEntry entry, long stored, long size) {
        return stored > StrippedImage.SMALL && size <= LARGEST && (entry.getMode() & EXECUTABLE) == 0;
    }

    private static boolean hasMagic(byte[] header, byte[] magic) {
        return Arrays.equals(header, MAGIC, MAGIC + magic.length, magic, 0, magic.length);
    }

    /** Lines of "length key=value", where the length counts itself and the newline. */
    private static Map<String, String> records(byte[] text, int length) {
        Map<String, String> records = new HashMap<>();
        for (int at = 0; at < length; ) {
            int blank = at;
            while (blank < length && text[blank] != ' ') {
                blank++;
            }
            int end = at + Integer.parseInt(new String(text, at, blank - at, StandardCharsets.US_ASCII));
            if (end <= blank || end > length) {
                throw new IllegalArgumentException("no record of a pax header");
            }
            String line = new String(text, blank + 1, end - blank - 2, StandardCharsets.ISO_8859_1);
            int equals = line.indexOf('=');
            if (equals > 0) {
                records.put(line.substring(0, equals), line.substring(equals + 1));
            }
            at = end;
        }
        return records;
    }

    private static long padded(long bytes) {
        return bytes + (-bytes & BLOCK - 1);
    }

    private static void content(InputStream in, OutputStream out, long stored, boolean hollow) throws IOException {
        if (hollow) {
            in.skipNBytes(padded(stored));
        } else {
            transfer(in, out, padded(stored));
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

    private static byte[] hole(byte[] header, long size) {
        byte[] next = header.clone();
        next[TYPE] = TarConstants.LF_GNUTYPE_SPARSE;
        number(next, SIZE, 0);
        Arrays.fill(next, HOLES, EXTENDED + 1, (byte) 0);
        // One piece of data, of no length, where the file ends.
        number(next, HOLES, size);
        number(next, HOLES + NUMBER, 0);
        number(next, REAL_SIZE, size);
        checksum(next);
        return next;
    }

    private static void checksum(byte[] next) {
        Arrays.fill(next, CHECKSUM, CHECKSUM + 8, (byte) ' ');
        long sum = 0;
        for (byte each : next) {
            sum += each & 0xff;
        }
        text(next, CHECKSUM, String.format("%06o\0 ", sum));
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
