package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Kind;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Mapping;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Mode;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.OpenFile;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Reads what one process has open and mapped.
 *
 * <ol>
 *   <li>The link of a descriptor tells its kind; {@code fdinfo} its mount and mode; both are read once.
 *   <li>What a file is (device, number of names, size) is asked once for all descriptors of the tree that share it.
 *   <li>Of the mappings only those are kept that can tie a process to others.
 * </ol>
 *
 * Safe for several threads; one instance serves one preflight.
 */
final class FileReader {

    private static final int FORMAT = 0170000;
    // O_DIRECT of open(2), which differs between machines.
    private static final int DIRECT =
            List.of("aarch64", "arm").contains(System.getProperty("os.arch")) ? 0200000 : 040000;

    // Documentation/filesystems/proc.rst, 3.8.
    private static final Pattern WATCHED = Pattern.compile("(?m)^inotify wd:\\w+ ino:(\\w+) sdev:(\\w+) ");

    /** The major number of the slaves of pseudo terminals: devices.txt of the kernel's admin-guide. */
    private static final String TERMINALS = "136";

    private static final Pattern NAMELESS =
            Pattern.compile("^/(memfd:|dev/zero |SYSV|\\[aio\\]|anon_hugepage|drm mm object|secretmem|dmabuf)");

    private record Facts(Kind kind, String identity, String device, long links, long bytes, String detail) {
        static final Facts UNKNOWN = new Facts(Kind.OTHER, "", "", 1, 0, "");
    }

    private final Map<String, Facts> known = new ConcurrentHashMap<>();
    private final ProcView proc;

    FileReader(ProcView proc) {
        this.proc = proc;
    }

    /** The descriptors of a process; empty for a zombie or one that is gone. */
    List<OpenFile> files(long pid) {
        List<OpenFile> files = new ArrayList<>();
        Path folder = ProcFiles.of(pid).resolve("fd");
        for (long number : proc.numbers(folder)) {
            file(pid, number).ifPresent(files::add);
        }
        return files;
    }

    /** One descriptor; empty when it was closed meanwhile. */
    Optional<OpenFile> file(long pid, long number) {
        Path path = ProcFiles.of(pid).resolve("fd").resolve(Long.toString(number));
        return proc.link(path)
                .map(link -> link.startsWith("socket:")
                        ? socket(pid, path, (int) number, link)
                        : other(pid, path, (int) number, link));
    }

    private OpenFile socket(long pid, Path path, int number, String link) {
        String protocol = known.computeIfAbsent(
                        link, l -> new Facts(Kind.SOCKET, l, "", 1, 0, protocol(pid, path, number)))
                .detail();
        return new OpenFile(number, link, Kind.SOCKET, Mode.BOTH, -1, link, "", 1, 0, -1, protocol);
    }

    private String protocol(long pid, Path path, int number) {
        String protocol = proc.protocol(path);
        return protocol.startsWith("UDP") && proc.corked(pid, number) ? TreeSnapshot.CORKED : protocol;
    }

    private OpenFile other(long pid, Path path, int number, String link) {
        String info = proc.text(ProcFiles.of(pid).resolve("fdinfo").resolve(Integer.toString(number)));
        int mount = (int) ProcFiles.number(info, "mnt_id", -1);
        int flags = Integer.parseInt(ProcFiles.field(info, "flags").orElse("0"), 8);
        Mode mode = mode(flags);
        if (link.startsWith("pipe:")) {
            String detail = (flags & DIRECT) == 0 ? "" : TreeSnapshot.PACKETS;
            return new OpenFile(number, link, Kind.PIPE, mode, mount, link, "", 1, 0, -1, detail);
        }
        if (!link.startsWith("/")) {
            Kind kind = link.startsWith("anon_inode:") || link.startsWith("pidfd:") ? Kind.ANONYMOUS : Kind.OTHER;
            return new OpenFile(
                    number,
                    link,
                    kind,
                    mode,
                    mount,
                    link,
                    "",
                    1,
                    0,
                    pidfdTarget(info),
                    handleDetail(link, info, pid, number));
        }
        Optional<String> inode = ProcFiles.field(info, "ino");
        Facts facts = inode.isEmpty()
                ? facts(path, link)
                : known.computeIfAbsent(mount + " " + inode.get() + " " + link, k -> facts(path, link));
        return new OpenFile(
                number,
                link,
                facts.kind(),
                mode,
                mount,
                facts.identity(),
                facts.device(),
                facts.links(),
                facts.bytes(),
                ProcFiles.number(info, "tty-index", -1),
                terminal(pid, link, facts, ProcFiles.number(info, "tty-index", -1)));
    }

    /** The identity of a pseudo terminal, one for both of its sides; empty for any other file. */
    private String terminal(long pid, String link, Facts facts, long master) {
        String[] device = facts.device().split(":");
        if (facts.kind() != Kind.CHARACTER || device.length < 2) {
            return "";
        }
        if (device[0].equals(TERMINALS)) {
            return TreeSnapshot.TERMINAL + facts.identity().split(" ")[0] + " " + device[1];
        }
        return master < 0 ? "" : TreeSnapshot.TERMINAL + instance(pid, link) + " " + master;
    }

    // The kernel takes the devpts that is mounted beside the node that was opened (devpts_mntget()).
    private String instance(long pid, String link) {
        String beside = link.substring(0, Math.max(0, link.lastIndexOf('/')));
        String folder = beside.endsWith("/pts") ? beside : beside + "/pts";
        try {
            return proc.status(Path.of(ProcFiles.of(pid).resolve("root") + folder))
                    .map(ProcView.Status::device)
                    .orElse("unknown");
        } catch (InvalidPathException e) {
            return "unknown";
        }
    }

    // Of a process that has ended -1 is told: CRIU makes another one that ended.
    private static long pidfdTarget(String info) {
        return ProcFiles.number(info, "Pid", -1);
    }

    private String handleDetail(String link, String info, long pid, int number) {
        String detail = handleDetail(link, info);
        // Who shares the descriptor reads the same queue.
        return detail.startsWith(TreeSnapshot.WATCHES) && proc.unread(pid, number) > 0
                ? TreeSnapshot.EVENTS + detail
                : detail;
    }

    static String handleDetail(String link, String info) {
        if (link.contains("eventfd")) {
            return ProcFiles.number(info, "eventfd-semaphore", 0) == 0 ? "" : TreeSnapshot.SEMAPHORE;
        }
        if (!link.contains("inotify")) {
            return "";
        }
        return WATCHED.matcher(info)
                .results()
                .map(m -> kernelNumbers(Long.parseLong(m.group(2), 16)) + " " + Long.parseUnsignedLong(m.group(1), 16))
                .collect(Collectors.joining("\n", TreeSnapshot.WATCHES, ""));
    }

    // The kernel's own form of a device number, MKDEV, which is not that of stat(2).
    private static String kernelNumbers(long device) {
        return (device >>> 20) + ":" + (device & 0xfffff);
    }

    private static Mode mode(int flags) {
        return switch (flags & 3) {
            case 0 -> Mode.READ;
            case 1 -> Mode.WRITE;
            default -> Mode.BOTH;
        };
    }

    private Facts facts(Path path, String link) {
        return proc.status(path).map(s -> facts(s, link)).orElse(Facts.UNKNOWN);
    }

    private static Facts facts(ProcView.Status status, String link) {
        Kind kind =
                switch (status.mode() & FORMAT) {
                    case 0100000 -> Kind.REGULAR;
                    case 0040000 -> Kind.FOLDER;
                    case 0020000 -> Kind.CHARACTER;
                    case 0060000 -> Kind.BLOCK;
                    case 0010000 -> Kind.FIFO;
                    default -> Kind.OTHER;
                };
        boolean device = kind == Kind.CHARACTER || kind == Kind.BLOCK;
        boolean ghost = kind == Kind.REGULAR && link.endsWith(" (deleted)");
        return new Facts(
                kind,
                ProcView.identity(status.device(), status.inode()),
                device ? status.special() : "",
                status.links(),
                ghost ? status.allocated() : status.size(),
                "");
    }

    /** The mappings of a process that are shared, deleted, or of a device. */
    List<Mapping> mappings(long pid) {
        String maps = proc.text(ProcFiles.of(pid).resolve("maps"));
        List<Mapping> kept = new ArrayList<>();
        for (int start = 0; start < maps.length(); ) {
            int end = maps.indexOf('\n', start);
            end = end < 0 ? maps.length() : end;
            int slash = maps.indexOf('/', start);
            if (slash >= 0 && slash < end) {
                String line = maps.substring(start, end);
                mapping(line, slash - start).map(m -> withLinks(pid, line, m)).ifPresent(kept::add);
            }
            start = end + 1;
        }
        return kept;
    }

    // A file in memory has no name, even if its link count is above 0.
    private Mapping withLinks(long pid, String line, Mapping mapping) {
        if (!mapping.deleted() || NAMELESS.matcher(mapping.path()).find()) {
            return mapping;
        }
        Path file = ProcFiles.of(pid).resolve("map_files").resolve(line.substring(0, line.indexOf(' ')));
        // Otherwise it was unmapped meanwhile, or this user may not see it.
        return proc.status(file)
                .map(f -> new Mapping(mapping.path(), mapping.shared(), mapping.identity(), mapping.bytes(), f.links()))
                .orElse(mapping);
    }

    // address perms offset dev inode path
    static Optional<Mapping> mapping(String line, int slash) {
        // Nearly every line is of a library, and a tree of a thousand processes has tens of thousands.
        boolean shared = line.startsWith("s", line.indexOf(' ') + 4);
        if (!shared && !line.endsWith(" (deleted)") && !line.startsWith("/dev/", slash)) {
            return Optional.empty();
        }
        String path = line.substring(slash);
        String[] head = line.substring(0, slash).trim().split(" +");
        if (head.length < 5) {
            return Optional.empty();
        }
        String[] range = head[0].split("-");
        String[] device = head[3].split(":");
        String identity = Long.parseLong(device[0], 16) + ":" + Long.parseLong(device[1], 16) + " " + head[4];
        long bytes = Long.parseUnsignedLong(range[1], 16) - Long.parseUnsignedLong(range[0], 16);
        return Optional.of(new Mapping(path, shared, identity, bytes));
    }
}
