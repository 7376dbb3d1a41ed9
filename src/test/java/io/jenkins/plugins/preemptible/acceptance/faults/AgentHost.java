package io.jenkins.plugins.preemptible.acceptance.faults;

import java.nio.file.Path;
import java.util.List;

/**
 * Where an agent's process runs.
 *
 * @param disk holds all that the agent keeps, in the folder {@code agent}
 * @param root the agent's root folder, by the path that the agent knows
 * @param before the words before those of its process
 */
record AgentHost(FullDisk disk, Path root, List<String> before) {

    /** This one. */
    static AgentHost here(FullDisk disk) {
        return new AgentHost(disk, folder(disk), List.of());
    }

    /** The root folder, by the path that this process knows. */
    Path folder() {
        return folder(disk);
    }

    static Path folder(FullDisk disk) {
        return disk.folder().resolve("agent");
    }
}
