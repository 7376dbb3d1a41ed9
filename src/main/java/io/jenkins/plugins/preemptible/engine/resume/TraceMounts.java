package io.jenkins.plugins.preemptible.engine.resume;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The kernel's tracing files (tracefs) in a restored stage.
 *
 * <p>CRIU 4.2.1 leaves such a mount out of the image with any option. Such a mount is made again when the host has it
 * and the stage had it. The stage runs already, so the files may be missing for some milliseconds.
 */
public final class TraceMounts {

    private static final long LIMIT_SECONDS = 10;

    private TraceMounts() {}

    /**
     * Mounts what is missing.
     *
     * @param init the restored init
     * @param hostMounts the mount points that the stage had from the host
     * @return mount points that could not be given back
     */
    public static List<String> giveBack(long init, List<String> hostMounts) {
        List<String> traces = Proc.self("mountinfo").stream()
                .filter(l -> l.contains(" - tracefs "))
                .map(Mounts::pointOf)
                .filter(hostMounts::contains)
                .toList();
        if (traces.isEmpty()) {
            return traces;
        }
        Set<String> there = Proc.mountInfo(init).stream().map(Mounts::pointOf).collect(Collectors.toSet());
        return traces.stream()
                .filter(p -> !there.contains(p) && !there.isEmpty())
                .filter(p -> !HostTool.run(
                                LIMIT_SECONDS,
                                List.of(
                                        "nsenter",
                                        "--target",
                                        Long.toString(init),
                                        "--mount",
                                        "--",
                                        "mount",
                                        "-t",
                                        "tracefs",
                                        "nodev",
                                        p))
                        .ok())
                .toList();
    }
}
