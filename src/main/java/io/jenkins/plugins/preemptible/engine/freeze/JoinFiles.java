package io.jenkins.plugins.preemptible.engine.freeze;

import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The control groups that a process has to join to have the limits and the devices of another one.
 *
 * <p>In each hierarchy the group of the other process; in that of the freezer, the stage's own group below it. Source:
 * cgroups(7), proc_pid_cgroup(5).
 */
public final class JoinFiles {

    private JoinFiles() {}

    /**
     * The {@code cgroup.procs} files, the stage's own first.
     *
     * @param process the other process
     * @param own the stage's group, which lies below one of that process
     * @throws IOException when a hierarchy in which that process has a group of its own is not to be reached, or it has ended
     */
    public static List<Path> of(HostProcess process, Freezer own) throws IOException {
        Path stages = own.joinFile().orElseThrow(() -> new IOException("the stage has no control group"));
        List<Path> files = new ArrayList<>(List.of(stages));
        for (String line : FreezerKind.groupsOf(process.pid())) {
            String[] parts = line.split(":", 3);
            Optional<Path> group = FreezerKind.folder(parts[1], Proc.self("mountinfo"), List.of(line));
            if (group.filter(Files::isDirectory).isEmpty()) {
                if (parts[2].equals("/")) {
                    continue;
                }
                throw new IOException("the control group " + line + " of the container is not to be reached");
            }
            if (!stages.getParent().startsWith(group.get()) || parts[2].equals("/")) {
                files.add(group.get().resolve("cgroup.procs"));
            }
        }
        if (!process.alive()) {
            // Another one may have had its number when its groups were read.
            throw new IOException("the container has just ended");
        }
        return List.copyOf(files);
    }
}
