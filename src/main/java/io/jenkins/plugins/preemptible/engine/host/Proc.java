package io.jenkins.plugins.preemptible.engine.host;

import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What proc(5) tells of the processes of this host.
 *
 * <ol>
 *   <li>Every answer is a snapshot; a process that vanishes while it is read is left out.
 *   <li>Trees come from one pass over all {@code stat} files, since {@code children} needs a kernel option.
 *   <li>Nothing is cached but the boot id.
 * </ol>
 *
 * Safe for any thread.
 */
public final class Proc {

    private static final Path ROOT = Path.of("/proc");

    // Where vfork(2) waits, by the kernel's own names since 2.6; the wait itself is inlined into its caller.
    private static final List<String> VFORK = List.of("kernel_clone", "_do_fork", "do_fork", "wait_for_vfork_done");

    /** The fields of {@code /proc/PID/stat} that are of use here. */
    public record Stat(long pid, String comm, char state, long ppid, long session, long startTicks) {
        /** Whether it has ended and waits for its parent to collect it. */
        public boolean zombie() {
            return state == 'Z' || state == 'X';
        }
    }

    private Proc() {}

    /** Of the kernel's task flags: the process is on its way out, and may not be a zombie yet. */
    private static final long PF_EXITING = 0x4;

    /** Whether a process is ending, has ended, or is gone. */
    public static boolean exiting(long pid) {
        // The seventh field after the name: proc_pid_stat(5), flags.
        return read(ROOT.resolve(Long.toString(pid)).resolve("stat"))
                .map(line -> line.substring(line.lastIndexOf(')') + 2).split(" "))
                .map(fields -> fields.length < 7 || (Long.parseLong(fields[6]) & PF_EXITING) != 0)
                .orElse(true);
    }

    /** Whether a process was killed: it is ending or gone, or will be as soon as it is thawed. */
    public static boolean killed(long pid) {
        // A frozen process of a control group of version 1 takes its SIGKILL when it is thawed: proc_pid_status(5).
        return exiting(pid) || pending(pid, LibC.SIGKILL);
    }

    /** Whether a signal waits for a process, or for its first thread: proc_pid_status(5), SigPnd and ShdPnd. */
    public static boolean pending(long pid, int signal) {
        return Stream.of("SigPnd", "ShdPnd")
                .flatMap(set -> statusWords(pid, set).stream())
                .anyMatch(mask -> (Long.parseUnsignedLong(mask, 16) >> (signal - 1) & 1) == 1);
    }

    /** One process's fields; empty when there is no such process. */
    public static Optional<Stat> stat(long pid) {
        return read(ROOT.resolve(Long.toString(pid)).resolve("stat")).flatMap(Proc::parseStat);
    }

    // The name stands in parentheses and may hold blanks and parentheses itself: the last one closes it.
    static Optional<Stat> parseStat(String line) {
        int open = line.indexOf('(');
        int close = line.lastIndexOf(')');
        if (open < 0 || close < open) {
            return Optional.empty();
        }
        String[] rest = line.substring(close + 2).trim().split(" ");
        if (rest.length < 20) {
            return Optional.empty();
        }
        return Optional.of(new Stat(
                Long.parseLong(line.substring(0, open).trim()),
                line.substring(open + 1, close),
                rest[0].charAt(0),
                Long.parseLong(rest[1]),
                Long.parseLong(rest[3]),
                Long.parseLong(rest[19])));
    }

    /** A process and everything below it, the process itself first; empty when it is gone. */
    public static List<Stat> tree(long root) {
        Map<Long, List<Stat>> byParent = new HashMap<>();
        Stat first = null;
        for (Stat s : all()) {
            byParent.computeIfAbsent(s.ppid(), k -> new ArrayList<>()).add(s);
            if (s.pid() == root) {
                first = s;
            }
        }
        List<Stat> tree = new ArrayList<>();
        ArrayDeque<Stat> open = new ArrayDeque<>();
        if (first != null) {
            open.add(first);
        }
        while (!open.isEmpty()) {
            Stat s = open.poll();
            tree.add(s);
            open.addAll(byParent.getOrDefault(s.pid(), List.of()));
        }
        return tree;
    }

    /** The processes of a session, its leader too if it is still there. */
    public static List<Stat> session(long leader) {
        return all().stream().filter(s -> s.session() == leader).toList();
    }

    /** Every process of this host. */
    public static List<Stat> all() {
        List<Stat> all = new ArrayList<>();
        try (var entries = Files.newDirectoryStream(ROOT, "[0-9]*")) {
            for (Path entry : entries) {
                stat(Long.parseLong(entry.getFileName().toString())).ifPresent(all::add);
            }
        } catch (IOException e) {
            throw new java.io.UncheckedIOException("/proc cannot be listed", e);
        }
        return all;
    }

    /** The process that traces any thread of this one, 0 for none. */
    public static long tracer(long pid) {
        return status(pid, "TracerPid").map(v -> Long.parseLong(v.trim())).orElse(0L);
    }

    /** Whether the system calls of a process are filtered or limited: {@code Seccomp} of proc_pid_status(5) is not 0. */
    public static boolean filtersCalls(long pid) {
        return status(pid, "Seccomp").map(v -> !v.trim().equals("0")).orElse(false);
    }

    /** The memory that a process holds in bytes, {@code VmRSS} of its status; 0 for one that is gone or a zombie. */
    public static long residentBytes(long pid) {
        return bytes(pid, "VmRSS");
    }

    /** What of {@link #residentBytes} is files in a tmpfs or other shared memory, {@code RssShmem} of its status. */
    public static long sharedBytes(long pid) {
        return bytes(pid, "RssShmem");
    }

    private static long bytes(long pid, String field) {
        return status(pid, field)
                .map(v -> Long.parseLong(v.replaceAll("\\D", "")) << 10)
                .orElse(0L);
    }

    /**
     * Whether a process waits for the child that it made by vfork(2) to begin its new program.
     *
     * <p>Always false where the kernel does not tell where processes wait.
     */
    public static boolean inVfork(long pid) {
        return read(ROOT.resolve(Long.toString(pid)).resolve("wchan"))
                .map(w -> VFORK.contains(w.trim()))
                .orElse(false);
    }

    /** The process id as the innermost PID namespace knows it, or the host's where that is not told. */
    public static int innerPid(long pid) {
        return status(pid, "NSpid")
                .map(v -> v.trim().split("\\s+"))
                .map(ids -> Integer.parseInt(ids[ids.length - 1]))
                .orElse((int) pid);
    }

    /** The mask of the processors that a task may run on, as the kernel writes it; empty when it is gone. */
    public static Optional<String> allowedProcessors(long task) {
        return status(task, "Cpus_allowed").map(String::trim);
    }

    /** The timer slack of a task in nanoseconds; empty when it is gone, or this user may not know. */
    public static Optional<Long> timerSlack(long task) {
        return read(ROOT.resolve(Long.toString(task)).resolve("timerslack_ns")).map(t -> Long.parseLong(t.trim()));
    }

    /** Sets the timer slack of a task in nanoseconds, where this user may. */
    public static void setTimerSlack(long task, long nanos) {
        try {
            Files.writeString(ROOT.resolve(Long.toString(task)).resolve("timerslack_ns"), Long.toString(nanos));
        } catch (IOException e) {
            // The task ended, or keeps its slack: its timers are a little more or less exact.
        }
    }

    private static Optional<String> status(long pid, String field) {
        return read(ROOT.resolve(Long.toString(pid)).resolve("status")).flatMap(text -> {
            // Not the first line, which is the name and the process's own to choose: the kernel escapes line feeds in
            // it.
            int at = text.indexOf("\n" + field + ":");
            int end = text.indexOf('\n', at + 1);
            return at < 0 || end < 0 ? Optional.empty() : Optional.of(text.substring(at + field.length() + 2, end));
        });
    }

    /** The words of one field of {@code /proc/PID/status}, such as {@code Uid}; empty when the process is gone. */
    public static List<String> statusWords(long pid, String field) {
        return status(pid, field)
                .map(String::trim)
                .filter(v -> !v.isEmpty())
                .map(v -> List.of(v.split("\\s+")))
                .orElse(List.of());
    }

    /** The argument vector; empty for a zombie, a kernel thread or a vanished process. */
    public static List<String> arguments(long pid) {
        return read(ROOT.resolve(Long.toString(pid)).resolve("cmdline"))
                .filter(t -> !t.isEmpty())
                .map(t -> List.of(t.split("\0")))
                .orElse(List.of());
    }

    /** The arguments joined by blanks; empty for a zombie, a kernel thread or a vanished process. */
    public static String commandLine(long pid) {
        return read(ROOT.resolve(Long.toString(pid)).resolve("cmdline"))
                .map(t -> t.replace('\0', ' ').trim())
                .orElse("");
    }

    /** The lines of {@code /proc/PID/mountinfo}; empty when the process is gone. */
    public static List<String> mountInfo(long pid) {
        return lines(ROOT.resolve(Long.toString(pid)).resolve("mountinfo"));
    }

    /** The lines of a file of {@code /proc/PID/task/TID}, such as {@code cgroup}; empty when the task is gone. */
    public static List<String> task(long pid, long task, String file) {
        return lines(ROOT.resolve(Long.toString(pid))
                .resolve("task")
                .resolve(Long.toString(task))
                .resolve(file));
    }

    /** The lines of {@code /proc/self/mountinfo} and {@code /proc/self/cgroup} and the like. */
    public static List<String> self(String file) {
        return lines(ROOT.resolve("self").resolve(file));
    }

    /** The lines of a file of the kernel's or a copy of one, empty ones left out; none when it cannot be read. */
    // Not String.lines: the kernel leaves a carriage return in the path of a mount as it is.
    public static List<String> lines(Path file) {
        return read(file).stream()
                .flatMap(text -> Stream.of(text.split("\n")))
                .filter(l -> !l.isEmpty())
                .toList();
    }

    /** The kernel's release, such as {@code 6.18.0}. */
    public static String kernelRelease() {
        return read(ROOT.resolve("sys/kernel/osrelease")).map(String::trim).orElse("unknown");
    }

    /** The kernel's name of the machine's architecture, such as {@code x86_64}, where Java says {@code amd64}. */
    public static String machine() {
        // The file came with Linux 6.1.
        return read(ROOT.resolve("sys/kernel/arch"))
                .map(String::trim)
                .orElseGet(() -> HostTool.run(5, List.of("uname", "-m")).firstLine());
    }

    /** A random id that is new with every boot. */
    public static String bootId() {
        return Boot.ID;
    }

    private static final class Boot {
        static final String ID = read(ROOT.resolve("sys/kernel/random/boot_id"))
                .map(String::trim)
                .orElse("unknown");
    }

    /** All of a file of the kernel's, whose size is told by nothing but its end. */
    public static String text(Path file, Charset charset) throws IOException {
        // Not by a channel: for a thread that was interrupted every process would be gone. Beyond 8 KiB Java copies
        // twice.
        byte[] bytes = new byte[8192];
        int length = 0;
        try (FileInputStream in = new FileInputStream(file.toFile())) {
            int read;
            while ((read = in.read(bytes, length, Math.min(8192, bytes.length - length))) > 0) {
                length += read;
                if (length == bytes.length) {
                    bytes = Arrays.copyOf(bytes, 2 * length);
                }
            }
        }
        return new String(bytes, 0, length, charset);
    }

    private static Optional<String> read(Path file) {
        try {
            return Optional.of(text(file, StandardCharsets.UTF_8));
        } catch (IOException e) {
            // A process that ended meanwhile: proc(5) answers ENOENT or ESRCH.
            return Optional.empty();
        }
    }
}
