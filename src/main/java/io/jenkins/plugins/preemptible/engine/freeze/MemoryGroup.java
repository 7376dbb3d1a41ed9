package io.jenkins.plugins.preemptible.engine.freeze;

import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The memory that a control group holds, as its kernel counts it: also files in tmpfs and memfds that no process has mapped.
 *
 * <p>Without the part of the file cache that is not in use, which goes as soon as anybody needs memory. Source: cgroups(7), the kernel's
 * {@code memory.txt} and {@code cgroup-v2.rst}.
 */
public final class MemoryGroup {

    private MemoryGroup() {}

    /**
     * @param cgroup lines of {@code /proc/PID/cgroup} with the group that is meant
     * @return 0 where the group is not to be reached
     */
    public static long bytes(List<String> cgroup) {
        List<String> mountInfo = Proc.self("mountinfo");
        return Math.max(
                FreezerKind.folder("memory", mountInfo, cgroup)
                        .map(MemoryGroup::first)
                        .orElse(0L),
                FreezerKind.folder("", mountInfo, cgroup)
                        .map(MemoryGroup::second)
                        .orElse(0L));
    }

    /** Of version 1. */
    static long first(Path group) {
        return held(group, "memory.usage_in_bytes", "total_inactive_file");
    }

    /** Of version 2. */
    static long second(Path group) {
        return held(group, "memory.current", "inactive_file");
    }

    private static long held(Path group, String usage, String cache) {
        Optional<Long> used =
                Proc.lines(group.resolve(usage)).stream().findFirst().map(Long::parseLong);
        long inactive = Proc.lines(group.resolve("memory.stat")).stream()
                .filter(line -> line.startsWith(cache + " "))
                .mapToLong(line -> Long.parseLong(line.substring(cache.length() + 1)))
                .sum();
        return Math.max(0, used.orElse(0L) - inactive);
    }
}
