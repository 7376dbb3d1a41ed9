package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The control groups that a task is in, apart from the stage's own.
 *
 * <ol>
 *   <li>A restored task is in the control groups of CRIU, which are those of the process that resumes the stage.
 *   <li>{@link #putBack} moves it to the group in which it was, in each hierarchy that has this group still.
 *   <li>Hierarchies are searched among the mounts of the stage: it may have mounted one that the host has not.
 * </ol>
 *
 * Source: cgroups(7), proc_pid_cgroup(5), proc_pid_mountinfo(5).
 *
 * @param folders for each hierarchy, by its controllers as {@code /proc/PID/cgroup} has them, where it is mounted, and
 *     which of its groups that shows
 */
record TaskGroups(Map<String, Mounted> folders) {

    /** @param group the path of the group that is mounted there, {@code /} for all */
    private record Mounted(Path folder, String group) {

        Optional<Path> below(String other) {
            Path top = Path.of(group);
            Path wanted = Path.of(other).normalize();
            return wanted.startsWith(top)
                    ? Optional.of(folder.resolve(top.relativize(wanted).toString()))
                    : Optional.empty();
        }
    }

    /** The groups of a task by the controllers of their hierarchies, empty for version 2; without the stage's own group. */
    static Map<String, String> of(long pid, long task) {
        Map<String, String> groups = new LinkedHashMap<>();
        for (String line : Proc.task(pid, task, "cgroup")) {
            String[] parts = line.split(":", 3);
            if (parts.length == 3 && !FreezerKind.isOwn(parts[2])) {
                groups.put(parts[1], parts[2]);
            }
        }
        return groups;
    }

    /** The hierarchies that a process sees. */
    static TaskGroups seenBy(long pid) {
        Map<String, Mounted> folders = new LinkedHashMap<>();
        List<String> hierarchies = Proc.task(pid, pid, "cgroup").stream()
                .map(l -> l.split(":", 3)[1])
                .toList();
        for (String line : Proc.mountInfo(pid)) {
            int dash = line.indexOf(" - ");
            String[] right = line.substring(dash + 3).split(" ");
            List<String> options = List.of(right[right.length - 1].split(","));
            for (String hierarchy : hierarchies) {
                boolean fits = hierarchy.isEmpty()
                        ? right[0].equals("cgroup2")
                        : right[0].equals("cgroup") && options.containsAll(List.of(hierarchy.split(",")));
                if (fits) {
                    Path folder = Path.of("/proc/" + pid + "/root", Mounts.pointOf(line));
                    folders.putIfAbsent(hierarchy, new Mounted(folder, line.split(" ")[3]));
                }
            }
        }
        return new TaskGroups(folders);
    }

    /**
     * Moves a task to the groups in which it was.
     *
     * @return for each group that it could not be moved to, its hierarchy and path, such as {@code pids:/limits}
     */
    List<String> putBack(long pid, long task, Map<String, String> groups) {
        List<String> lost = new ArrayList<>();
        Map<String, String> now = of(pid, task);
        groups.forEach((hierarchy, group) -> {
            // Not in a hierarchy of version 2, which moves processes as a whole.
            boolean wanted = !group.equals(now.get(hierarchy)) && (pid == task || !hierarchy.isEmpty());
            if (wanted && now.containsKey(hierarchy) && !move(task, hierarchy, group)) {
                lost.add((hierarchy.isEmpty() ? "cgroup2" : hierarchy) + ":" + group);
            }
        });
        return lost;
    }

    private boolean move(long task, String hierarchy, String group) {
        Optional<Path> folder = Optional.ofNullable(folders.get(hierarchy)).flatMap(m -> m.below(group));
        if (folder.isEmpty()) {
            return false;
        }
        try {
            Files.writeString(
                    folder.get().resolve(hierarchy.isEmpty() ? "cgroup.procs" : "tasks"),
                    Long.toString(task),
                    StandardOpenOption.WRITE);
            return true;
        } catch (IOException e) {
            // The group is gone, or this user may not; a task that ended needs none.
            return !Files.exists(Path.of("/proc", Long.toString(task)));
        }
    }
}
