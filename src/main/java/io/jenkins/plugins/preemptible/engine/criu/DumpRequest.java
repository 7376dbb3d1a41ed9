package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.stage.CriuOptions;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.util.List;

/**
 * What criu dumps.
 *
 * @param init the tree's first process
 * @param folder into which images and logs go
 * @param freezer that holds the tree
 * @param hostMounts the mount points that the image shall refer to, not contain
 */
public record DumpRequest(
        HostProcess init, StageFolder folder, Freezer freezer, List<String> hostMounts, CriuOptions options) {

    public DumpRequest {
        hostMounts = List.copyOf(hostMounts);
    }
}
