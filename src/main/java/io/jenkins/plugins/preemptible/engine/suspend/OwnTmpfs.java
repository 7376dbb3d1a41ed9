package io.jenkins.plugins.preemptible.engine.suspend;

import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The memory of files in those tmpfs that processes have in mount namespaces of their own.
 *
 * <p>It is none of any process, stays with the namespace, and can be as large as the host's memory. One that this process sees as well
 * is not counted: it is the host's. Nor is one that is reached only through a file system in user space: the program that would
 * have to answer may stand still with the stage.
 */
final class OwnTmpfs {

    private static final int PARENT = 1;
    private static final int DEVICE = 2;

    private OwnTmpfs() {}

    /**
     * Also the memory of the processes themselves. What they have mapped of such files counts once; of their other shared memory and of
     * these files the larger one counts, since the kernel does not tell them apart.
     *
     * @param pids processes that stand still
     */
    static long withProcesses(Collection<Long> pids) {
        long shared = pids.parallelStream().mapToLong(Proc::sharedBytes).sum();
        long all = pids.parallelStream().mapToLong(Proc::residentBytes).sum();
        return all - shared + Math.max(shared, bytes(pids));
    }

    /** @param pids processes that stand still; of each namespace one is asked */
    static long bytes(Collection<Long> pids) {
        Set<String> hosts = new HashSet<>();
        Proc.self("mountinfo").forEach(line -> hosts.add(line.split(" ")[DEVICE]));
        Set<Object> namespaces = new HashSet<>();
        Map<String, Long> held = new HashMap<>();
        for (long pid : pids) {
            if (namespaces.add(namespace(pid))) {
                reachable(Proc.mountInfo(pid)).stream()
                        .filter(line -> !hosts.contains(line.split(" ")[DEVICE]))
                        .forEach(line ->
                                held.merge(line.split(" ")[DEVICE], used(pid, Mounts.pointOf(line)), Math::max));
            }
        }
        return held.values().stream().mapToLong(Long::longValue).sum();
    }

    /** The lines of those tmpfs whose paths lead to them, through nothing that a program has to answer for. */
    static List<String> reachable(List<String> mountInfo) {
        Map<String, String> byId = new HashMap<>();
        mountInfo.forEach(line -> byId.put(line.split(" ")[0], line));
        return mountInfo.stream()
                .filter(line -> type(line).equals("tmpfs"))
                .filter(line -> {
                    Set<String> way = way(line, byId);
                    return way.stream().noneMatch(above -> type(above).matches("fuse|fuse\\..*|fuseblk"))
                            && mountInfo.stream().noneMatch(other -> !way.contains(other) && covers(other, line));
                })
                .toList();
    }

    /** A mount and those in which it lies. */
    private static Set<String> way(String line, Map<String, String> byId) {
        Set<String> way = new HashSet<>();
        for (String at = line; at != null && way.add(at); at = byId.get(at.split(" ")[PARENT])) {}
        return way;
    }

    // It was mounted later than the other one, at the same place or above it.
    private static boolean covers(String upper, String lower) {
        String point = Mounts.pointOf(upper);
        return (Mounts.pointOf(lower) + "/").startsWith(point.equals("/") ? point : point + "/");
    }

    private static String type(String line) {
        int end = line.indexOf(" - ");
        return end < 0 ? "" : line.substring(end + " - ".length()).split(" ")[0];
    }

    private static Object namespace(long pid) {
        try {
            return Files.readSymbolicLink(Path.of("/proc", Long.toString(pid), "ns", "mnt"));
        } catch (IOException e) {
            return pid;
        }
    }

    /** By statfs(2): Java's file stores are those of its own namespace. */
    private static long used(long pid, String place) {
        File mount = new File("/proc/" + pid + "/root" + place);
        return Math.max(0, mount.getTotalSpace() - mount.getFreeSpace());
    }
}
