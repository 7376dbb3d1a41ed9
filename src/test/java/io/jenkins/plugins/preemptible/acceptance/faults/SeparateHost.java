package io.jenkins.plugins.preemptible.acceptance.faults;

import io.jenkins.plugins.preemptible.acceptance.FolderInPlace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
        place.endAll(host.folder());
        try {
            boot();
        } catch (IOException x) {
            throw new AssertionError(x);
        }
    }
}
