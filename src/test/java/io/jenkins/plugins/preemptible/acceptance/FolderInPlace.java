package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;

import io.jenkins.plugins.preemptible.engine.host.LibC;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * Programs that see one folder at the path of another: each has a mount namespace, in which its folder is bound there.
 *
 * <p>Several such programs with one path and a folder each look as if they were on hosts of their own. Needs root and {@code
 * unshare}.
 */
public final class FolderInPlace {

    private final Path script;
    private final Path at;

    /**
     * Writes a script beside the path.
     *
     * @param at where each program sees its folder; is made
     */
    public FolderInPlace(Path at) throws IOException {
        this.at = Files.createDirectories(at);
        script = at.resolveSibling("start.sh");
        Files.writeString(
                script,
                "mount --bind \"$1\" '" + at + "' || exit 1\n"
                        + "[ \"$2\" = - ] || mount --bind \"$2\" /proc/sys/kernel/random/boot_id || exit 1\n"
                        + "shift 2\nexec \"$@\"\n");
    }

    public Path at() {
        return at;
    }

    /** What stands before a program's words so that it sees that folder. The process is the program's in the end. */
    public List<String> before(Path folder) {
        return before(folder, "-");
    }

    /** @param bootId a file with what the program takes for the id of its host's boot, or {@code -} for the true one */
    public List<String> before(Path folder, String bootId) {
        return List.of(
                "unshare",
                "--mount",
                "--propagation",
                "private",
                "/bin/sh",
                script.toString(),
                folder.toString(),
                bootId);
    }

    /** Whether a process sees that folder there: the program, what it has started, and stages of it. */
    public boolean isSeenBy(long pid, Path folder) {
        try {
            String device = device(folder);
            return Files.readAllLines(Path.of("/proc", String.valueOf(pid), "mountinfo")).stream()
                    .map(line -> line.split(" "))
                    .anyMatch(mount -> mount[4].equals(at.toString())
                            && mount[2].equals(device)
                            && folder.toString().endsWith(mount[3]));
        } catch (IOException gone) {
            return false;
        }
    }

    /** Ends all that sees that folder there, frozen or not, as a restart of its host does. Returns when nothing is left. */
    public void endAll(Path folder) {
        await("nothing runs on " + folder)
                .atMost(Duration.ofSeconds(30))
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(50))
                .until(() -> {
                    List<Long> running = ProcessHandle.allProcesses()
                            .map(ProcessHandle::pid)
                            .filter(pid -> isSeenBy(pid, folder))
                            .toList();
                    running.forEach(pid -> LibC.kill(pid, LibC.SIGKILL));
                    running.forEach(FolderInPlace::thaw);
                    return running.isEmpty();
                });
    }

    /** A frozen process does not see its signal; no other process of its group outlives it. */
    private static void thaw(long pid) {
        try {
            for (String group : Files.readAllLines(Path.of("/proc", String.valueOf(pid), "cgroup"))) {
                String[] parts = group.split(":", 3);
                if (!parts[2].contains("preemptible-")) {
                    continue;
                }
                if (parts[1].contains("freezer")) {
                    write(Path.of("/sys/fs/cgroup/freezer" + parts[2], "freezer.state"), "THAWED");
                } else if (parts[0].equals("0")) {
                    write(Path.of("/sys/fs/cgroup" + parts[2], "cgroup.freeze"), "0");
                }
            }
        } catch (IOException gone) {
            // It has just ended.
        }
    }

    private static void write(Path file, String value) throws IOException {
        if (Files.exists(file)) {
            Files.writeString(file, value);
        }
    }

    /** As mountinfo has it. */
    private static String device(Path folder) throws IOException {
        long device = (Long) Files.getAttribute(folder, "unix:dev");
        return (device >> 8 & 0xfff) + ":" + (device & 0xff | device >> 12 & 0xfff00);
    }
}
