package io.jenkins.plugins.preemptible.engine.host;

import io.jenkins.plugins.preemptible.engine.image.HostFingerprint;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Reads the properties of this host that an image depends on.
 *
 * <ol>
 *   <li>Processor and kernel are read from /proc, the C library's version is asked of getconf(1), once a JVM.
 *   <li>Files that a tree maps are taken from its {@code maps}, seen through {@code /proc/PID/root}, since a stage has
 *       mounts of its own.
 *   <li>A file's build id is in its ELF note; it is read once for each version of a file.
 * </ol>
 *
 * What cannot be read is left out: a fingerprint never stops a dump. Safe for any thread. Sources: proc(5), elf(5).
 */
public final class HostProbe {

    private static final int MOST_FILES = 4096;
    private static final int MOST_HEADER_BYTES = 64 * 1024;
    private static final int PT_NOTE = 4;
    private static final int NT_GNU_BUILD_ID = 3;
    private static final ByteBuffer GNU = ByteBuffer.wrap(new byte[] {'G', 'N', 'U', 0});

    private static final Map<List<Object>, Optional<String>> KNOWN = new ConcurrentHashMap<>();

    private HostProbe() {}

    private static final class Fixed {
        static final String MODEL = cpu("model name").orElse("");
        static final List<String> FEATURES = cpu("flags")
                .or(() -> cpu("Features"))
                .map(flags -> List.of(flags.trim().split("\\s+")))
                .orElse(List.of());
        static final String LIBC = libC();

        private static Optional<String> cpu(String field) {
            try (var lines = Files.lines(Path.of("/proc/cpuinfo"))) {
                return lines.filter(l -> l.startsWith(field)
                                && l.substring(field.length()).trim().startsWith(":"))
                        .map(l -> l.substring(l.indexOf(':') + 1).trim())
                        .findFirst();
            } catch (IOException | java.io.UncheckedIOException e) {
                return Optional.empty();
            }
        }

        // Only the GNU library has this variable; another one stays unnamed.
        private static String libC() {
            HostTool.Answer answer = HostTool.run(5, List.of("getconf", "GNU_LIBC_VERSION"));
            return answer.ok() ? answer.firstLine() : "";
        }
    }

    /** This host's, with the files that are mapped by these processes. */
    public static HostFingerprint fingerprint(String criuVersion, List<Long> pids) {
        Map<String, String> buildIds = new TreeMap<>();
        for (long pid : pids) {
            Path root = Path.of("/proc", Long.toString(pid), "root");
            for (String file : mapped(pid)) {
                if (buildIds.size() < MOST_FILES && !buildIds.containsKey(file)) {
                    buildId(root.resolve(file.substring(1))).ifPresent(id -> buildIds.put(file, id));
                }
            }
        }
        return fingerprint(criuVersion, buildIds);
    }

    /** This host's, with those of these files that exist. */
    public static HostFingerprint fingerprint(String criuVersion, Collection<String> files) {
        Map<String, String> buildIds = new TreeMap<>();
        for (String file : files) {
            buildId(Path.of(file)).ifPresent(id -> buildIds.put(file, id));
        }
        return fingerprint(criuVersion, buildIds);
    }

    private static HostFingerprint fingerprint(String criuVersion, Map<String, String> buildIds) {
        return new HostFingerprint(
                Fixed.MODEL, Fixed.FEATURES, Proc.kernelRelease(), Proc.machine(), criuVersion, Fixed.LIBC, buildIds);
    }

    private static List<String> mapped(long pid) {
        try (var lines = Files.lines(Path.of("/proc", Long.toString(pid), "maps"))) {
            return lines.map(l -> l.indexOf('/') < 0 ? "" : l.substring(l.indexOf('/')))
                    .filter(l -> !l.isEmpty() && !l.endsWith(" (deleted)") && isPath(l))
                    .distinct()
                    .toList();
        } catch (IOException | java.io.UncheckedIOException e) {
            return List.of();
        }
    }

    // In a locale without letters beyond ASCII, Java has no path with one.
    private static boolean isPath(String text) {
        try {
            return Path.of(text).isAbsolute();
        } catch (InvalidPathException e) {
            return false;
        }
    }

    /** The id in hexadecimal; empty when the file is no ELF file, has none, or cannot be read. */
    static Optional<String> buildId(Path file) {
        try {
            BasicFileAttributes seen = Files.readAttributes(file, BasicFileAttributes.class);
            if (!seen.isRegularFile()) {
                return Optional.empty();
            }
            if (KNOWN.size() > MOST_FILES) {
                KNOWN.clear();
            }
            List<Object> version = List.of(seen.fileKey(), seen.size(), seen.lastModifiedTime());
            Optional<String> known = KNOWN.get(version);
            if (known == null) {
                known = readBuildId(file);
                KNOWN.put(version, known);
            }
            return known;
        } catch (IOException | RuntimeException e) {
            return Optional.empty();
        }
    }

    private static Optional<String> readBuildId(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file)) {
            ByteBuffer head = read(channel, 0, 64);
            if (head.remaining() < 64 || head.getInt(0) != 0x7f454c46) {
                return Optional.empty();
            }
            boolean wide = head.get(4) == 2;
            head.order(head.get(5) == 1 ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN);
            long table = wide ? head.getLong(32) : Integer.toUnsignedLong(head.getInt(28));
            int size = Short.toUnsignedInt(head.getShort(wide ? 54 : 42));
            int count = Short.toUnsignedInt(head.getShort(wide ? 56 : 44));
            if (size < (wide ? 56 : 32)) {
                return Optional.empty();
            }
            ByteBuffer headers = read(channel, table, (int) Math.min(MOST_HEADER_BYTES, (long) size * count));
            headers.order(head.order());
            for (int at = 0; at + size <= headers.remaining(); at += size) {
                if (headers.getInt(at) == PT_NOTE) {
                    long offset = wide ? headers.getLong(at + 8) : Integer.toUnsignedLong(headers.getInt(at + 4));
                    long bytes = wide ? headers.getLong(at + 32) : Integer.toUnsignedLong(headers.getInt(at + 16));
                    Optional<String> id = fromNotes(read(channel, offset, (int) Math.min(MOST_HEADER_BYTES, bytes))
                            .order(head.order()));
                    if (id.isPresent()) {
                        return id;
                    }
                }
            }
            return Optional.empty();
        }
    }

    // Each note: sizes of name and content, a type, then both, padded to multiples of four.
    private static Optional<String> fromNotes(ByteBuffer notes) {
        while (notes.remaining() >= 12) {
            int nameBytes = notes.getInt();
            int bytes = notes.getInt();
            int type = notes.getInt();
            long whole = padded(nameBytes) + padded(bytes);
            if (nameBytes < 0 || bytes < 0 || whole > notes.remaining()) {
                return Optional.empty();
            }
            ByteBuffer name = notes.slice(notes.position(), nameBytes);
            if (type == NT_GNU_BUILD_ID && name.equals(GNU)) {
                byte[] id = new byte[bytes];
                notes.get((int) (notes.position() + padded(nameBytes)), id);
                return Optional.of(HexFormat.of().formatHex(id));
            }
            notes.position(notes.position() + (int) whole);
        }
        return Optional.empty();
    }

    private static long padded(int bytes) {
        return bytes + 3L & ~3L;
    }

    private static ByteBuffer read(FileChannel channel, long position, int bytes) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(Math.max(0, bytes));
        while (buffer.hasRemaining() && channel.read(buffer, position + buffer.position()) >= 0) {}
        return buffer.flip();
    }
}
