package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.host.InsideReader;
import io.jenkins.plugins.preemptible.engine.host.InsideReader.Question;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * What the kernel tells of processes, below {@code /proc}: this process reads it, and asks an {@link InsideReader} for
 * what it may not read.
 *
 * <ol>
 *   <li>A file is read whole at once, so that it is of one moment as far as the kernel makes it so.
 *   <li>What vanished, or must not be read, is empty, never an exception.
 *   <li>Bytes are taken as ISO 8859-1: names in them are compared and shown, never opened.
 * </ol>
 *
 * Safe for any threads.
 */
final class ProcView {

    private static final String ROOT = "/proc/";
    // statfs(2)
    private static final long MQUEUE = 0x19800202L;
    private static final int BLOCK = 512;

    private final InsideReader inside;

    ProcView(InsideReader inside) {
        this.inside = inside;
    }

    /** What a file is; device numbers as {@code major:minor}. */
    record Status(int mode, long links, long size, long allocated, long inode, String device, String special) {}

    String text(Path file) {
        try {
            return Proc.text(file, StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            return ask(Question.TEXT, file).orElse("");
        }
    }

    Stream<String> lines(Path file) {
        // Not String.lines: the kernel leaves a carriage return in a name as it is.
        return Stream.of(text(file).split("\n")).filter(l -> !l.isEmpty());
    }

    Optional<String> link(Path file) {
        try {
            return Optional.of(Files.readSymbolicLink(file).toString());
        } catch (IOException e) {
            return ask(Question.LINK, file);
        } catch (java.nio.file.InvalidPathException e) {
            return Optional.empty();
        }
    }

    /** What a link leads to where another folder is the root; in the bytes of its name, which need not be UTF-8. */
    Optional<Path> target(Path link, Path root) {
        try {
            Path target = Files.readSymbolicLink(link);
            return target.isAbsolute()
                    ? Optional.of(root.resolve(target.getRoot().relativize(target)))
                    : Optional.empty();
        } catch (IOException | java.nio.file.InvalidPathException e) {
            return Optional.empty();
        }
    }

    /** The numbers that name the entries of a folder, such as process ids or descriptors. */
    List<Long> numbers(Path folder) {
        String[] names = new File(folder.toString()).list();
        Stream<String> all =
                names == null ? ask(Question.NUMBERS, folder).orElse("").lines() : Stream.of(names);
        return all.filter(n -> Character.isDigit(n.charAt(0)))
                .map(Long::valueOf)
                .toList();
    }

    /** What is behind a path, links followed. */
    Optional<Status> status(Path file) {
        try {
            Map<String, Object> seen = Files.readAttributes(file, "unix:mode,rdev,nlink,size,dev,ino");
            long size = ((Number) seen.get("size")).longValue();
            return Optional.of(new Status(
                    (Integer) seen.get("mode"),
                    ((Number) seen.get("nlink")).longValue(),
                    size,
                    SystemCalls.allocated(file.toString(), size),
                    (Long) seen.get("ino"),
                    device((Long) seen.get("dev")),
                    device((Long) seen.get("rdev"))));
        } catch (IOException e) {
            return ask(Question.STATUS, file)
                    .flatMap(words(7))
                    .map(w -> new Status(
                            Integer.parseInt(w[0]),
                            Long.parseLong(w[1]),
                            Long.parseLong(w[2]),
                            Long.parseLong(w[3]) * BLOCK,
                            Long.parseUnsignedLong(w[4]),
                            w[5],
                            w[6]));
        }
    }

    /** Whether a path certainly leads to another file than this one, or to none; links are followed. */
    boolean isElsewhere(Path file, String identity) {
        try {
            Map<String, Object> seen = Files.readAttributes(file, "unix:dev,ino");
            return !identity.equals(identity(device((Long) seen.get("dev")), (Long) seen.get("ino")));
        } catch (NoSuchFileException e) {
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** What two paths of one file have in common. */
    static String identity(String device, long inode) {
        return device + " " + inode;
    }

    private static String device(long number) {
        long major = (number >>> 8 & 0xfff) | (number >>> 32 & ~0xfffL);
        long minor = (number & 0xff) | (number >>> 12 & ~0xffL);
        return major + ":" + minor;
    }

    /** The protocol of the socket behind a descriptor's link, such as {@code MPTCP}; empty when it is not told. */
    String protocol(Path descriptor) {
        String own = SystemCalls.protocol(descriptor.toString());
        return own.isEmpty()
                ? ask(Question.PROTOCOL, descriptor)
                        .orElse("")
                        .replace("\0", "")
                        .trim()
                : own;
    }

    /** Whether a process's UDP socket collects a datagram; false where this process may not ask. */
    boolean corked(long pid, long descriptor) {
        return SystemCalls.corked(pid, descriptor);
    }

    /** How many bytes wait to be read from a process's descriptor; 0 where this process may not ask. */
    int unread(long pid, long descriptor) {
        return SystemCalls.unread(pid, descriptor);
    }

    /** Whether a descriptor is a POSIX message queue. */
    boolean messageQueue(Path descriptor) {
        return SystemCalls.fileSystem(descriptor.toString())
                        .orElseGet(() -> fileSystem(descriptor.toString(), 0).orElse(0L))
                == MQUEUE;
    }

    /** Bytes that the files of the file system at this path take. */
    long used(String folder) {
        File file = new File(folder);
        long total = file.getTotalSpace();
        return Math.max(
                0,
                total > 0 ? total - file.getFreeSpace() : fileSystem(folder, 1).orElse(0L));
    }

    private Optional<Long> fileSystem(String path, int word) {
        return ask(Question.FILE_SYSTEM, path).flatMap(words(2)).map(w -> Long.parseUnsignedLong(w[word]));
    }

    /** Whether two processes share root, working folder and umask (CLONE_FS); false where the kernel does not tell. */
    boolean shareFolder(long pid, long other) {
        return SystemCalls.shareFolder(pid, other)
                || ask(Question.SHARES_FOLDER, pid + " " + other).equals(Optional.of("1"));
    }

    private Optional<String> ask(Question question, Path path) {
        return ask(question, path.toString());
    }

    private Optional<String> ask(Question question, String path) {
        return inside.ask(question, path.startsWith(ROOT) ? path.substring(ROOT.length()) : path)
                .map(bytes -> new String(bytes, StandardCharsets.ISO_8859_1));
    }

    private static Function<String, Optional<String[]>> words(int count) {
        return text -> Optional.of(text.split(" ")).filter(w -> w.length == count);
    }
}
