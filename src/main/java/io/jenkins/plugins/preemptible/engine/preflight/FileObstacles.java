package io.jenkins.plugins.preemptible.engine.preflight;

import static io.jenkins.plugins.preemptible.engine.preflight.Obstacles.obstacle;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Holder;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Kind;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Mapping;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Member;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.OpenFile;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Finds obstacles among descriptors and mappings, sockets left out.
 *
 * <ol>
 *   <li>Handles of the kernel's subsystems go by their names in {@code /proc/PID/fd}; devices by their numbers.
 *   <li>A file must lie on a mount of the stage's; a pipe, a FIFO, a terminal and shared memory must have no holder
 *       outside.
 *   <li>CRIU itself would dump pipes, FIFOs and shared memory that lead outside, and restore them cut off.
 * </ol>
 *
 * Pure.
 */
final class FileObstacles {

    /** What stands behind anon_inode: in a link, with or without brackets; CRIU 4.2.1 dumps the others. */
    private static final Map<String, FailureReason> HANDLES = Map.ofEntries(
            Map.entry("io_uring", FailureReason.IO_URING),
            Map.entry("userfaultfd", FailureReason.USERFAULTFD),
            Map.entry("perf_event", FailureReason.PERF_EVENT),
            Map.entry("fanotify", FailureReason.FANOTIFY),
            Map.entry("secretmem", FailureReason.SECRET_MEMORY),
            Map.entry("seccomp notify", FailureReason.SECCOMP_NOTIFY),
            Map.entry("landlock-ruleset", FailureReason.LANDLOCK),
            Map.entry("fscontext", FailureReason.MOUNT_HANDLE));

    private static final Set<String> CARRIED =
            Set.of("eventfd", "eventpoll", "inotify", "signalfd", "timerfd", "pidfd");

    // The kernel's admin-guide/devices.txt: memory; consoles, after which serial lines follow; pseudo terminals.
    private static final int MEMORY_DEVICES = 1;
    private static final int CONSOLES = 4;
    private static final int FIRST_SERIAL_LINE = 64;
    private static final Set<Integer> TERMINALS = Set.of(CONSOLES, 5, 136, 137, 138, 139, 140, 141, 142, 143);

    private FileObstacles() {}

    static void find(TreeSnapshot tree, List<Obstacle> obstacles) {
        // CRIU carries over a pidfd of a descendant inside the stage, and one of a process that has ended.
        Set<Long> inside = tree.processes().stream().map(Member::pid).collect(Collectors.toSet());
        Set<String> masters = new HashSet<>();
        Set<String> nameless = new HashSet<>();
        for (Member member : tree.processes()) {
            member.files().stream().filter(OutsideReader::master).forEach(f -> masters.add(f.detail()));
            member.files().stream().filter(OpenFile::deleted).forEach(f -> nameless.add(f.identity()));
            member.mappings().stream().filter(Mapping::deleted).forEach(m -> nameless.add(m.identity()));
        }
        for (Member member : tree.processes()) {
            for (OpenFile file : member.files()) {
                reason(file, tree, inside, masters)
                        .ifPresent(r -> obstacles.add(obstacle(r, member, what(file, tree.holders()))));
            }
            member.files().stream()
                    .filter(f -> f.detail().startsWith(TreeSnapshot.EVENTS))
                    .forEach(f -> obstacles.add(obstacle(FailureReason.UNREAD_INOTIFY, member, what(f, Map.of()))));
            member.files().stream()
                    .filter(f -> watches(f, nameless))
                    .forEach(f -> obstacles.add(obstacle(FailureReason.DELETED_WATCH, member, what(f, Map.of()))));
            for (Mapping mapping : member.mappings()) {
                reason(mapping, tree.holders())
                        .ifPresent(r -> obstacles.add(obstacle(
                                r,
                                member,
                                "mapped " + mapping.path() + by(tree.holders().get(mapping.identity())))));
            }
        }
    }

    private static Optional<FailureReason> reason(
            OpenFile file, TreeSnapshot tree, Set<Long> inside, Set<String> masters) {
        boolean held = tree.holders().containsKey(file.identity());
        if (file.detail().equals(OpenFile.COVERED)) {
            return Optional.of(FailureReason.COVERED_FILE);
        }
        return switch (file.kind()) {
            case PIPE ->
                when(held, FailureReason.PIPE_OUTSIDE)
                        .or(() -> when(file.detail().equals(TreeSnapshot.PACKETS), FailureReason.UNSUPPORTED));
            case ANONYMOUS -> handle(file, inside);
            case SOCKET -> Optional.empty();
            case OTHER -> named(file.link());
            case FIFO -> held ? Optional.of(FailureReason.FIFO_OUTSIDE) : onMount(file, tree);
            case BLOCK -> Optional.of(FailureReason.DEVICE);
            case CHARACTER ->
                device(file.device(), file.link())
                        .or(() -> terminal(file, tree, masters))
                        .or(() -> unmounted(file, tree))
                        .or(() -> onMount(file, tree));
            case REGULAR, FOLDER ->
                named(file.link())
                        .or(() -> OutsideReader.memoryFile(file.link())
                                ? when(held, FailureReason.SHARED_MEMORY_OUTSIDE)
                                : onMount(file, tree))
                        .or(() -> when(stillLinked(file), FailureReason.LINKED_ELSEWHERE));
        };
    }

    private static Optional<FailureReason> when(boolean condition, FailureReason reason) {
        return condition ? Optional.of(reason) : Optional.empty();
    }

    /** Whether a file was deleted by the name under which it was opened and has another. */
    static boolean stillLinked(OpenFile file) {
        return file.kind() == Kind.REGULAR
                && file.deleted()
                && file.links() > 0
                && !OutsideReader.memoryFile(file.link());
    }

    private static boolean watches(OpenFile file, Set<String> nameless) {
        return !nameless.isEmpty()
                && (file.detail().startsWith(TreeSnapshot.WATCHES)
                        || file.detail().startsWith(TreeSnapshot.EVENTS))
                && file.detail().lines().skip(1).anyMatch(nameless::contains);
    }

    private static Optional<FailureReason> handle(OpenFile file, Set<Long> inside) {
        String name = file.link()
                .replaceFirst("^anon_inode:", "")
                .replaceFirst("^(pidfd):.*", "$1")
                .replaceAll("[\\[\\]]", "");
        if (name.equals("pidfd")) {
            return when(file.target() > 0 && !inside.contains(file.target()), FailureReason.PIDFD_OUTSIDE);
        }
        if (CARRIED.contains(name)) {
            return when(file.detail().equals(TreeSnapshot.SEMAPHORE), FailureReason.EVENTFD_SEMAPHORE);
        }
        if (name.startsWith("bpf") || name.equals("btf")) {
            return Optional.of(FailureReason.BPF);
        }
        if (name.startsWith("kvm")) {
            return Optional.of(FailureReason.KVM_DEVICE);
        }
        return Optional.of(HANDLES.getOrDefault(name, FailureReason.UNSUPPORTED));
    }

    private static Optional<FailureReason> named(String link) {
        if (link.startsWith("/secretmem")) {
            return Optional.of(FailureReason.SECRET_MEMORY);
        }
        return when(link.startsWith("/dmabuf:") || link.startsWith("dmabuf:"), FailureReason.DMA_BUFFER);
    }

    private static Optional<FailureReason> device(String numbers, String path) {
        if (path.startsWith("/dev/nvidia") || path.startsWith("/dev/dri/") || path.startsWith("/dev/kfd")) {
            return Optional.of(FailureReason.GPU_DEVICE);
        }
        return switch (numbers) {
            case "10:232" -> Optional.of(FailureReason.KVM_DEVICE);
            case "10:229" -> Optional.of(FailureReason.FUSE_DEVICE);
            case "10:200" -> Optional.of(FailureReason.TUN_DEVICE);
            default -> {
                String[] number = (numbers.isEmpty() ? MEMORY_DEVICES + ":0" : numbers).split(":");
                int major = Integer.parseInt(number[0]);
                boolean serial = major == CONSOLES && Integer.parseInt(number[1]) >= FIRST_SERIAL_LINE;
                yield when(serial || (major != MEMORY_DEVICES && !TERMINALS.contains(major)), FailureReason.DEVICE);
            }
        };
    }

    private static Optional<FailureReason> terminal(OpenFile file, TreeSnapshot tree, Set<String> masters) {
        return when(
                OutsideReader.slave(file)
                        && !masters.contains(file.detail())
                        && tree.holders().containsKey(file.detail()),
                FailureReason.TERMINAL_OUTSIDE);
    }

    /**
     * A terminal of the stage's own whose devpts was unmounted: the kernel tells its path from there on. CRIU 4.2.1
     * restores terminals so where one is bound to another place ({@code static/pty-console} of its tests).
     */
    private static Optional<FailureReason> unmounted(OpenFile file, TreeSnapshot tree) {
        return when(
                (OutsideReader.master(file) || OutsideReader.slave(file))
                        && !file.link().startsWith("/dev/")
                        && onMount(file, tree).isPresent(),
                FailureReason.COVERED_FILE);
    }

    private static Optional<FailureReason> onMount(OpenFile file, TreeSnapshot tree) {
        if (file.mount() < 0 || tree.mounts().isEmpty() || tree.mounts().contains(file.mount())) {
            return Optional.empty();
        }
        return Optional.of(
                file.detail().equals(OpenFile.QUEUE) ? FailureReason.MESSAGE_QUEUE : FailureReason.OUTSIDE_FILE);
    }

    private static Optional<FailureReason> reason(Mapping mapping, Map<String, List<Holder>> holders) {
        Optional<FailureReason> named = named(mapping.path());
        if (named.isPresent()) {
            return named;
        }
        if (OutsideReader.sharedMemory(mapping) && holders.containsKey(mapping.identity())) {
            return Optional.of(FailureReason.SHARED_MEMORY_OUTSIDE);
        }
        if (mapping.links() > 0) {
            return Optional.of(FailureReason.LINKED_ELSEWHERE);
        }
        if (OutsideReader.memoryFile(mapping.path())) {
            return Optional.empty();
        }
        if (!mapping.path().startsWith("/dev/")
                || mapping.path().startsWith("/dev/shm/")
                || mapping.path().startsWith("/dev/hugepages/")
                || mapping.path().startsWith("/dev/zero")) {
            return Optional.empty();
        }
        boolean gpu = device("", mapping.path()).isPresent();
        return Optional.of(gpu ? FailureReason.GPU_DEVICE : FailureReason.DEVICE);
    }

    private static String what(OpenFile file, Map<String, List<Holder>> holders) {
        List<Holder> by = holders.get(OutsideReader.slave(file) ? file.detail() : file.identity());
        String target = file.kind() == Kind.ANONYMOUS && file.target() > 0 ? " of process " + file.target() : "";
        String packets = file.detail().equals(TreeSnapshot.PACKETS) ? " in packet mode" : "";
        return "descriptor " + file.number() + ": " + file.link() + target + packets + by(by);
    }

    private static String by(List<Holder> holders) {
        return holders == null || holders.isEmpty()
                ? ""
                : ", also held by process " + holders.get(0).pid() + " "
                        + holders.get(0).command();
    }
}
