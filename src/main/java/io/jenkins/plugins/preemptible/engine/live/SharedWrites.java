package io.jenkins.plugins.preemptible.engine.live;

import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The files that processes map as writable, shared memory: they change without a new time. Source: proc_pid_maps(5).
 */
final class SharedWrites {

    private static final int PERMISSIONS = 1;
    private static final int INODE = 4;
    private static final int FIELDS = 6;

    private SharedWrites() {}

    /** Their inodes, on whatever file system. */
    static Set<Long> inodes(List<Proc.Stat> tree) throws IOException {
        Set<Long> inodes = new HashSet<>();
        for (Proc.Stat process : tree) {
            Path maps = Path.of("/proc/" + process.pid() + "/maps");
            // File names may be in any character set.
            String text = process.zombie() ? "" : new String(Files.readAllBytes(maps), StandardCharsets.ISO_8859_1);
            text.lines().forEach(line -> {
                String[] fields = line.split(" +", FIELDS);
                if (fields.length > INODE
                        && fields[PERMISSIONS].startsWith("w", 1)
                        && fields[PERMISSIONS].endsWith("s")) {
                    inodes.add(Long.valueOf(fields[INODE]));
                }
            });
        }
        inodes.remove(0L);
        return inodes;
    }
}
