package io.jenkins.plugins.preemptible.engine.contained;

import io.jenkins.plugins.preemptible.engine.freeze.MemoryGroup;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The processes of a container, as this host shows them.
 *
 * <p>Found by the names of their control groups, which hold the container's id with Docker and Podman, with and without
 * systemd, seen from any control group. Needs no rights.
 *
 * @param id all 64 digits
 */
public record ContainerProcesses(String id) {

    // …/ID, …/docker-ID.scope, …/libpod-ID, …/libpod-ID.scope/container
    private Pattern group() {
        return Pattern.compile("([/-]" + id + "(\\.scope)?)(/.*)?$");
    }

    /** Of all that this host shows, in no order. */
    public List<Proc.Stat> all() {
        Pattern group = group();
        return Proc.all().stream()
                .filter(process -> !process.zombie())
                .filter(process -> Proc.lines(Path.of("/proc", Long.toString(process.pid()), "cgroup")).stream()
                        .anyMatch(line -> group.matcher(line).find()))
                .toList();
    }

    /**
     * Processes that share the process ids of the container, or live in a namespace below, and are none of its own: those of another
     * container, or of another one of a pod. Whatever stops the container's does not stop them.
     *
     * @param first the container's first process
     */
    public List<Proc.Stat> strangers(long first) throws IOException {
        Path namespace = namespace(first);
        int depth = depth(first);
        Set<Long> own = all().stream().map(Proc.Stat::pid).collect(Collectors.toSet());
        Map<Long, Proc.Stat> every = new HashMap<>();
        Proc.all().forEach(process -> every.put(process.pid(), process));
        return every.values().stream()
                .filter(process -> !process.zombie() && !own.contains(process.pid()))
                .filter(process -> isIn(namespace, process.pid())
                        || depth(process.pid()) > depth && comesFrom(namespace, process, every))
                .toList();
    }

    // The first process of a namespace below was started from this one, or has been given to its first process.
    private static boolean comesFrom(Path namespace, Proc.Stat process, Map<Long, Proc.Stat> every) {
        Proc.Stat parent = every.get(process.ppid());
        for (int up = 0; parent != null && up < every.size(); up++) {
            if (isIn(namespace, parent.pid())) {
                return true;
            }
            parent = every.get(parent.ppid());
        }
        return false;
    }

    private static boolean isIn(Path namespace, long pid) {
        try {
            return namespace(pid).equals(namespace);
        } catch (IOException e) {
            // It has ended.
            return false;
        }
    }

    private static Path namespace(long pid) throws IOException {
        return Files.readSymbolicLink(Path.of("/proc", Long.toString(pid), "ns", "pid"));
    }

    private static int depth(long pid) {
        return Proc.statusWords(pid, "NSpid").size();
    }

    public boolean has(long pid) {
        return all().stream().anyMatch(process -> process.pid() == pid);
    }

    /**
     * Memory that the container holds in bytes: that of its processes, shared pages counted for each, or that of its control
     * group, whichever is larger. Only the latter has files in its tmpfs, such as /dev/shm.
     */
    public long residentBytes() {
        List<Proc.Stat> all = all();
        long processes = all.stream()
                .mapToLong(process -> Proc.residentBytes(process.pid()))
                .sum();
        return Math.max(processes, all.stream().findFirst().map(this::ofGroup).orElse(0L));
    }

    private long ofGroup(Proc.Stat process) {
        return MemoryGroup.bytes(Proc.task(process.pid(), process.pid(), "cgroup").stream()
                .filter(line -> group().matcher(line).find())
                .map(line -> group().matcher(line).replaceFirst("$1"))
                .toList());
    }
}
