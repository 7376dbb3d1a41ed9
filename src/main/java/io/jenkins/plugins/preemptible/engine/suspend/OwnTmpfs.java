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
import java.util.Map;
import java.util.Set;

/**
 * The memory of files in those tmpfs that processes have in mount namespaces of their own.
 *
 * <p>It is none of any process, stays with the namespace, and can be as large as the host's memory. One that this process sees as well
 * is not counted: it is the host's.
 */
final class OwnTmpfs {

    private static final int DEVICE = 2;

    private OwnTmpfs() {}

    /** @param pids processes that stand still; of each namespace one is asked */
    static long bytes(Collection<Long> pids) {
        Set<String> hosts = new HashSet<>();
        Proc.self("mountinfo").forEach(line -> hosts.add(line.split(" ")[DEVICE]));
        Set<Object> namespaces = new HashSet<>();
        Map<String, Long> held = new HashMap<>();
        for (long pid : pids) {
            if (namespaces.add(namespace(pid))) {
                Proc.mountInfo(pid).stream()
                        .filter(line -> line.contains(" - tmpfs ") && !hosts.contains(line.split(" ")[DEVICE]))
                        .forEach(line ->
                                held.merge(line.split(" ")[DEVICE], used(pid, Mounts.pointOf(line)), Math::max));
            }
        }
        return held.values().stream().mapToLong(Long::longValue).sum();
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
