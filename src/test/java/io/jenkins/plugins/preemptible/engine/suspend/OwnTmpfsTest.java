package io.jenkins.plugins.preemptible.engine.suspend;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which tmpfs are asked, and how their files count beside the processes that have mapped them. */
class OwnTmpfsTest {

    private static final String ROOT = "20 1 8:1 / / rw - ext4 /dev/sda1 rw";
    private static final String TMP = "21 20 0:50 / /tmp rw shared:1 - tmpfs preemptible rw";
    private static final String FUSE = "22 21 0:60 / /tmp/a rw - fuse.sshfs me rw";
    private static final String IN_FUSE = "23 22 0:61 / /tmp/a/b rw - tmpfs tmpfs rw";

    @Test
    void oneBelowAFileSystemInUserSpaceIsNotAsked() {
        assertEquals(List.of(TMP), OwnTmpfs.reachable(List.of(ROOT, TMP, FUSE, IN_FUSE)));
        assertEquals(List.of(), OwnTmpfs.reachable(List.of("20 1 0:60 / / rw - fuse me rw", TMP)));
        assertEquals(
                List.of(TMP), OwnTmpfs.reachable(List.of(ROOT, TMP, "24 20 0:62 / /sys/fs/fuse rw - fusectl none rw")));
    }

    /** Its path leads to the other one. */
    @Test
    void oneThatIsCoveredIsNotAsked() {
        assertEquals(List.of(), OwnTmpfs.reachable(List.of(ROOT, TMP, "24 21 0:60 / /tmp rw - fuse me rw")));
        String below = "25 20 0:63 / /tmp/x/y rw - tmpfs tmpfs rw";
        assertEquals(List.of(TMP), OwnTmpfs.reachable(List.of(ROOT, below, TMP)));
        assertEquals(
                List.of(TMP, "26 20 0:64 / /tmpx rw - tmpfs tmpfs rw"),
                OwnTmpfs.reachable(List.of(ROOT, TMP, "26 20 0:64 / /tmpx rw - tmpfs tmpfs rw")));
    }

    @Test
    void sharedPagesAreInTheMemoryOfAProcess() throws Exception {
        Path file = Files.createTempFile(Path.of("/dev/shm"), "preemptible", "");
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            long self = ProcessHandle.current().pid();
            long before = Proc.sharedBytes(self);
            var map = channel.map(FileChannel.MapMode.READ_WRITE, 0, 8 << 20);
            for (int at = 0; at < map.capacity(); at += 1024) {
                map.put(at, (byte) 1);
            }
            assertEquals(8 << 20, Proc.sharedBytes(self) - before, 1 << 20);
            // It is the host's, and counts as what the process holds.
            assertEquals(Proc.residentBytes(self), OwnTmpfs.withProcesses(List.of(self)), 32 << 20);
        } finally {
            Files.delete(file);
        }
    }
}
