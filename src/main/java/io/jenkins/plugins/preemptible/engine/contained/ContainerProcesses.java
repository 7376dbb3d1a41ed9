package io.jenkins.plugins.preemptible.engine.contained;

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

    /** Of all that this host shows, in no order. */
    public List<Proc.Stat> all() {
        // …/ID, …/docker-ID.scope, …/libpod-ID, …/libpod-ID.scope/container
        Pattern group = Pattern.compile("[/-]" + id + "(\\.scope)?(/.*)?$");
        return Proc.all().stream()
                .filter(process -> !process.zombie())
                .filter(process -> Proc.lines(Path.of("/proc", Long.toString(process.pid()), "cgroup")).stream()
                        .anyMatch(line -> group.matcher(line).find()))
                .toList();
    }

    public boolean has(long pid) {
        return all().stream().anyMatch(process -> process.pid() == pid);
    }

    /** Memory that they hold in bytes, shared pages counted for each. */
    public long residentBytes() {
        return all().stream()
                .mapToLong(process -> Proc.residentBytes(process.pid()))
                .sum();
    }
}
