package io.jenkins.plugins.preemptible.engine.live;

import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The files that processes map as writable, shared memory.
 *
 * <ol>
 *   <li>The first write to a page of such a file gives it a new time, further ones to the same page do not. So a copy of it
 *       may be older than its time says, from when it is mapped on.
 *   <li>All that were found stay: a file that is not mapped any more may have been written to since it was copied.
 *   <li>One that is mapped after {@link #add} has a time since then.
 * </ol>
 *
 * For one thread at a time. Source: proc_pid_maps(5).
 */
final class SharedWrites {

    private static final int PERMISSIONS = 1;
    private static final int INODE = 4;
    private static final int FIELDS = 6;

    private final Set<Long> inodes = new HashSet<>();

    /** Adds what these processes map now; those that have ended meanwhile map nothing. */
    void add(List<Proc.Stat> tree) throws IOException {
        for (Proc.Stat process : tree) {
            maps(process).lines().forEach(line -> {
                String[] fields = line.split(" +", FIELDS);
                if (fields.length > INODE
                        && fields[PERMISSIONS].startsWith("w", 1)
                        && fields[PERMISSIONS].endsWith("s")) {
                    inodes.add(Long.valueOf(fields[INODE]));
                }
            });
        }
        inodes.remove(0L);
    }

    private static String maps(Proc.Stat process) throws IOException {
        if (process.zombie()) {
            return "";
        }
        try {
            // File names may be in any character set.
            return new String(
                    Files.readAllBytes(Path.of("/proc/" + process.pid() + "/maps")), StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            if (HostProcess.of(process.pid()).isEmpty()) {
                return "";
            }
            throw e;
        }
    }

    /** Their inodes, on whatever file system. */
    Set<Long> inodes() {
        return Set.copyOf(inodes);
    }
}
