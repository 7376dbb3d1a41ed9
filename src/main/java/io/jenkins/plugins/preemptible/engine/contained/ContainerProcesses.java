package io.jenkins.plugins.preemptible.engine.contained;

import io.jenkins.plugins.preemptible.engine.freeze.MemoryGroup;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

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
