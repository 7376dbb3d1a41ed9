package io.jenkins.plugins.preemptible.engine.suspend;

import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.host.HostProbe;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import java.time.Instant;
import java.util.List;

/** The manifest of an image that is about to be dumped, from the stage's record and its frozen processes. */
public final class DumpManifest {

    private DumpManifest() {}

    /**
     * @param tree the frozen processes, which are read from proc(5)
     */
    public static ImageManifest of(StageJson record, Criu criu, List<Proc.Stat> tree) {
        List<ImageManifest.ProcessInfo> processes = tree.stream()
                .map(s -> new ImageManifest.ProcessInfo(
                        Proc.innerPid(s.pid()),
                        s.pid() == record.init().pid() ? 0 : Proc.innerPid(s.ppid()),
                        s.comm(),
                        Proc.commandLine(s.pid())))
                .toList();
        return new ImageManifest(
                        ImageManifest.FORMAT_VERSION,
                        record.id(),
                        record.name(),
                        Instant.now().toString(),
                        criu.version(),
                        Proc.kernelRelease(),
                        Proc.machine(),
                        tree.size(),
                        0,
                        processes)
                .with(
                        record.suspensions() + 1,
                        HostProbe.fingerprint(
                                criu.version(),
                                tree.stream().map(Proc.Stat::pid).toList()));
    }
}
