package io.jenkins.plugins.preemptible.engine.host;

import io.jenkins.plugins.preemptible.engine.image.HostFingerprint;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Collection;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Reads the properties of this host that an image depends on.
 *
 * <ol>
 *   <li>Processor and kernel are read from /proc, the C library's version is asked of getconf(1), once a JVM.
 *   <li>Files that a tree maps are taken from its {@code maps}, seen through {@code /proc/PID/root}, since a stage has
 *       mounts of its own.
 *   <li>A file's build id is in its ELF note; it is read once for each version of a file.
 *   <li>A mapped file that cannot be read has the empty id, so that no other host counts as having the same one. A name
 *       that is no UTF-8 is opened by the kernel's own link; it stands with its other bytes in octal, as {@code \377}.
 * </ol>
 *
 * Anything else that cannot be read is left out: a fingerprint never stops a dump. Safe for any thread. Sources: proc(5), elf(5), getent(1).
 */
public final class HostProbe {

    private static final int MOST_FILES = 4096;
    private static final int LONGEST_USERS_SECONDS = 2;
    private static final int MOST_USERS = 100;
    /** Of getent(1). */
    private static final int NO_SUCH_USER = 2;

    private static final int MOST_HEADER_BYTES = 64 * 1024;
    /** Address range, permissions, offset, device, inode, path. */
    private static final int MAPS_FIELDS = 6;

    private static final int RANGE = 0;
    private static final int INODE = 4;
    private static final int PATH = 5;
    /** Of one byte. */
    private static final int OCTAL_CHARS = 4;

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
            addMapped(pid, buildIds);
        }
        return fingerprint(criuVersion, buildIds, users(idsOf(pids)));
    }

    /** This host's, with those of these files that exist. */
    public static HostFingerprint fingerprint(String criuVersion, Collection<String> files) {
        Map<String, String> buildIds = new TreeMap<>();
        for (String file : files) {
            path(file).flatMap(HostProbe::buildId).ifPresent(id -> buildIds.put(file, id));
        }
        return fingerprint(criuVersion, buildIds, Map.of());
    }

    private static HostFingerprint fingerprint(
            String criuVersion, Map<String, String> buildIds, Map<String, String> users) {
        return new HostFingerprint(
                Fixed.MODEL,
                Fixed.FEATURES,
                Proc.kernelRelease(),
                Proc.machine(),
                criuVersion,
                Fixed.LIBC,
                buildIds,
                users);
    }

    /** The real, effective, saved and file system's user ids of processes. */
    private static Set<String> idsOf(List<Long> pids) {
        Set<String> ids = new TreeSet<>();
        pids.forEach(pid -> ids.addAll(Proc.statusWords(pid, "Uid")));
        ids.remove("0");
        return ids;
    }

    /**
     * The names that this host has for user ids, wherever it knows them from.
     *
     * @return the empty name for an id that has none; an id whose name cannot be found out is left out
     */
    public static Map<String, String> users(Collection<String> ids) {
        Map<String, String> names = new TreeMap<>();
        // The stage may stand still meanwhile.
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_USERS_SECONDS);
        for (String id : ids) {
            if (names.size() == MOST_USERS || System.nanoTime() - end > 0 || !id.matches("\\d{1,10}")) {
                continue;
            }
            HostTool.Answer answer = HostTool.run(2, List.of("getent", "passwd", id));
            if (answer.ok()) {
                names.put(id, answer.firstLine().split(":", 2)[0]);
            } else if (answer.code() == NO_SUCH_USER) {
                names.put(id, "");
            } else {
                // No such program, or a directory that does not answer: not for each of them.
                break;
            }
        }
        return names;
    }

    private static void addMapped(long pid, Map<String, String> buildIds) {
        Path process = Path.of("/proc", Long.toString(pid));
        String maps;
        try {
            // Names are bytes of any character set.
            maps = Proc.text(process.resolve("maps"), StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            if (HostProcess.of(pid).isPresent()) {
                buildIds.put(process + "/maps", "");
            }
            return;
        }
        Set<String> seen = new HashSet<>();
        for (String line : maps.split("\n")) {
            String[] fields = line.split(" +", MAPS_FIELDS);
            if (fields.length == MAPS_FIELDS
                    && fields[PATH].startsWith("/")
                    && !fields[PATH].endsWith(" (deleted)")
                    && !fields[INODE].equals("0")
                    && seen.add(fields[PATH])) {
                String name = shown(fields[PATH]);
                if (buildIds.size() < MOST_FILES && !buildIds.containsKey(name)) {
                    idOfMapped(process, name, fields[RANGE]).ifPresent(id -> buildIds.put(name, id));
                }
            }
        }
    }

    /** The empty id when the file can be read neither by its name nor by the kernel's link to what is mapped. */
    private static Optional<String> idOfMapped(Path process, String name, String range) {
        try {
            Optional<Path> named = path(process + "/root" + name);
            if (named.isPresent()) {
                return readOnce(named.get());
            }
        } catch (IOException e) {
            // That is not its name, or it may not be read.
        }
        try {
            return readOnce(process.resolve("map_files").resolve(range));
        } catch (IOException e) {
            return Optional.of("");
        }
    }

    /** A name of which each character is a byte, as text: bytes that are no UTF-8 in octal. */
    private static String shown(String bytes) {
        ByteBuffer left = ByteBuffer.wrap(bytes.getBytes(StandardCharsets.ISO_8859_1));
        CharBuffer text = CharBuffer.allocate(left.remaining() * OCTAL_CHARS);
        CharsetDecoder utf8 = StandardCharsets.UTF_8.newDecoder();
        while (utf8.decode(left, text, true).isError()) {
            text.put(String.format("\\%03o", left.get()));
            utf8.reset();
        }
        return text.flip().toString();
    }

    // In a locale without letters beyond ASCII, Java has no path with one.
    private static Optional<Path> path(String text) {
        try {
            return Optional.of(Path.of(text)).filter(Path::isAbsolute);
        } catch (InvalidPathException e) {
            return Optional.empty();
        }
    }

    /** The id in hexadecimal; empty when the file is no ELF file, has none, or cannot be read. */
    static Optional<String> buildId(Path file) {
        try {
            return readOnce(file);
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private static Optional<String> readOnce(Path file) throws IOException {
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
            try {
                known = readBuildId(file);
            } catch (RuntimeException e) {
                // Its headers lead out of it: it is no ELF file.
                known = Optional.empty();
            }
            KNOWN.put(version, known);
        }
        return known;
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
