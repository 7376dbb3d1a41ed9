package io.jenkins.plugins.preemptible.engine.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The lock of a stage, as the kernel sees it. */
class StageFolderTest {

    @TempDir
    Path home;

    @Test
    void askingForAHeldLockDoesNotReleaseIt() throws Exception {
        StageFolder folder = new StageFolder(home.resolve("stages/one"));
        folder.create();
        try (StageFolder.Held held = folder.lock().orElseThrow()) {
            assertEquals(1, kernelLocks(folder));
            assertTrue(folder.lock().isEmpty());
            assertTrue(new StageFolder(folder.path()).lock().isEmpty());
            assertEquals(1, kernelLocks(folder), "another process would get it now");
        }
        assertEquals(0, kernelLocks(folder));
        folder.lock().orElseThrow().close();
    }

    // Lines such as "1: POSIX  ADVISORY  WRITE 1234 fd:00:5678 0 EOF", see proc(5).
    private static long kernelLocks(StageFolder folder) throws IOException {
        Object inode = Files.getAttribute(folder.path().resolve("lock"), "unix:ino");
        String own = " " + ProcessHandle.current().pid() + " ";
        try (var lines = Files.lines(Path.of("/proc/locks"))) {
            return lines.filter(l -> l.contains(own) && l.contains(":" + inode + " ")).count();
        }
    }
}
