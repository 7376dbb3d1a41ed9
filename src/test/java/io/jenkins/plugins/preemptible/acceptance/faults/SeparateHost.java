package io.jenkins.plugins.preemptible.acceptance.faults;

import static org.awaitility.Awaitility.await;

import io.jenkins.plugins.preemptible.acceptance.FolderInPlace;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * As if a host of its own: a file system, a mount namespace in which it stands at the path of all agents' root folders, and an id
 * of its boot.
 */
final class SeparateHost {

    /** Pipeline's default of five minutes is longer than a round. */
    private static final String HEARTBEAT =
            "-Dorg.jenkinsci.plugins.durabletask.BourneShellScript.HEARTBEAT_CHECK_INTERVAL=";

    private final FolderInPlace place;
    private final Path bootId;
    final AgentHost host;

    /** @param heartbeatSeconds after which Pipeline looks whether a step's process lives */
    SeparateHost(Path folder, FolderInPlace place, int heartbeatSeconds) throws IOException {
        this.place = place;
        // A checkpoint leaves a gigabyte free.
        FullDisk disk = new FullDisk(folder, "1600m");
        Files.createDirectory(AgentHost.folder(disk));
        bootId = folder.resolveSibling(folder.getFileName() + ".boot");
        boot();
        List<String> before = new ArrayList<>(place.before(AgentHost.folder(disk), bootId.toString()));
        before.addAll(List.of("env", "JAVA_TOOL_OPTIONS=" + HEARTBEAT + heartbeatSeconds));
        host = new AgentHost(disk, place.at(), before);
    }

    private void boot() throws IOException {
        Files.writeString(bootId, UUID.randomUUID() + "\n");
    }

    /** Ends all that runs there, frozen or not, with its control groups. What starts afterwards sees another boot. */
    void reboot() {
        await("nothing runs on " + host.folder())
                .atMost(Duration.ofSeconds(30))
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(50))
                .until(() -> {
                    List<Long> running = running();
                    running.forEach(pid -> LibC.kill(pid, LibC.SIGKILL));
                    running.forEach(SeparateHost::thaw);
                    return running.isEmpty();
                });
        try {
            boot();
        } catch (IOException x) {
            throw new AssertionError(x);
        }
    }

    private List<Long> running() {
        return ProcessHandle.allProcesses()
                .map(ProcessHandle::pid)
                .filter(pid -> place.isSeenBy(pid, host.folder()))
                .toList();
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
}
