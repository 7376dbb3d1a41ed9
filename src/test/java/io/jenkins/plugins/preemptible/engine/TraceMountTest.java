package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The kernel's tracing files, which CRIU leaves out of an image, are there after a resume as well. */
@Tag("host")
class TraceMountTest {

    private static TreeSet<String> mounts(StageBench bench, StageId id) {
        TreeSet<String> points = new TreeSet<>();
        Proc.mountInfo(bench.engine.status(id).initPid()).forEach(l -> points.add(Mounts.pointOf(l)));
        return points;
    }

    @Test
    void aResumedStageHasTheMountsThatItHad() throws Exception {
        Path traces = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-traces-");
        HostTool.Answer mounted = HostTool.run(10, List.of("mount", "-t", "tracefs", "nodev", traces.toString()));
        try {
            assumeTrue(mounted.ok(), () -> "this kernel has no tracefs: " + mounted.text());
            try (StageBench bench = StageBench.open()) {
                StageId id = bench.script("while :; do sleep 0.1; done").id();
                TreeSet<String> before = mounts(bench, id);
                assertTrue(before.contains(traces.toString()), before::toString);
                bench.engine.suspend(id, bench.archive(id), bench.key);
                assertEquals(
                        List.of(),
                        bench.engine.resume(bench.archive(id), bench.key).warnings());
                assertTrue(
                        mounts(bench, id).contains(traces.toString()),
                        () -> mounts(bench, id).toString());
                bench.engine.suspend(id, bench.archive(id), bench.key);
                bench.engine.resume(bench.archive(id), bench.key);
                assertTrue(mounts(bench, id).contains(traces.toString()), "after the second time");
            }
        } finally {
            HostTool.run(10, List.of("umount", traces.toString()));
            Files.delete(traces);
        }
    }
}
