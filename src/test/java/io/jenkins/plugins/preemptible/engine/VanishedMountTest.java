package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Mounts of the host that were there when the stage began, and are not when it is resumed. */
@Tag("host")
class VanishedMountTest {

    private static final Duration SOON = Duration.ofSeconds(20);
    private static final int LINES = 150;

    @TempDir
    Path temp;

    @Test
    void theMountIsGone() throws Exception {
        twice(false);
    }

    @Test
    void itsFolderAndTheOneAboveAreGoneToo() throws Exception {
        twice(true);
    }

    private void twice(boolean foldersToo) throws Exception {
        Path above = Files.createDirectory(temp.resolve("above"));
        Path mountPoint = Files.createDirectory(above.resolve("mount point"));
        assumeTrue(
                HostTool.run(10, List.of("mount", "-t", "tmpfs", "none", mountPoint.toString()))
                                .code()
                        == 0,
                "this machine does not let this user mount a tmpfs");
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script("i=0; while [ $i -lt " + LINES + " ]; do i=$((i+1)); echo $i; sleep 0.02; done")
                    .id();
            for (int cycle = 1; cycle <= 2; cycle++) {
                long lines = StageBench.lines(bench.engine.status(id).output());
                StageBench.until(
                        "more output",
                        SOON,
                        () -> StageBench.lines(bench.engine.status(id).output()) > lines + 3);
                bench.engine.suspend(id, bench.archive(id), bench.key);
                if (cycle == 1) {
                    assertEquals(
                            0,
                            HostTool.run(10, List.of("umount", mountPoint.toString()))
                                    .code());
                    if (foldersToo) {
                        Files.delete(mountPoint);
                        Files.delete(above);
                    }
                }
                bench.engine.resume(bench.archive(id), bench.key);
                assertEquals(foldersToo, Files.notExists(above), "what stood in for the folders");
            }
            assertEquals(0, bench.engine.await(id));
            assertEquals(
                    IntStream.rangeClosed(1, LINES).mapToObj(Integer::toString).toList(), bench.output(id));
        } finally {
            HostTool.run(10, List.of("umount", mountPoint.toString()));
        }
        assertFalse(Files.readString(Path.of("/proc/self/mountinfo")).contains(temp.toString()));
    }
}
