package io.jenkins.plugins.preemptible.engine.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The lock of a stage, as the kernel sees it, and its record, as others change it. */
class StageFolderTest {

    private static final int CHANGES = 100;
    private static final int FILES = 1000;

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

    /** Another process, which counts in the record of the stage in the folder that is its argument. */
    public static void main(String[] args) throws IOException {
        count(new StageFolder(Path.of(args[0])));
    }

    private static void count(StageFolder folder) throws IOException {
        for (int i = 0; i < CHANGES; i++) {
            folder.change(r -> r.withSuspensions(r.suspensions() + 1));
        }
    }

    @Test
    void noChangeOfAnotherProcessIsLost() throws Exception {
        StageFolder folder = new StageFolder(home.resolve("stages/one"));
        folder.create();
        StageSpec spec = new StageSpec(StageId.create("one"), "one", home, List.of("true"), null);
        folder.write(StageJson.starting(
                spec, "signals:", "2026-01-01T00:00:00Z", folder.path().toString(), null));
        Process other = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        StageFolderTest.class.getName(),
                        folder.path().toString())
                .inheritIO()
                .start();
        int own = 0;
        // As long as the other one is at it, and also on a thread that was interrupted.
        while (other.isAlive() || own < CHANGES) {
            Thread.currentThread().interrupt();
            folder.change(r -> r.withSuspensions(r.suspensions() + 1));
            own++;
            assertTrue(Thread.interrupted());
        }
        assertEquals(0, other.waitFor());
        assertEquals(CHANGES + own, folder.read().orElseThrow().suspensions());
    }

    @Test
    void aRecordOfAnEmptyFileIsNone() throws Exception {
        StageFolder folder = new StageFolder(home.resolve("stages/one"));
        folder.create();
        assertTrue(folder.change(r -> r).isEmpty());
        for (String text : List.of("", "{}", "null", "[")) {
            Files.writeString(folder.path().resolve("stage.json"), text);
            assertThrows(UncheckedIOException.class, folder::read, text);
        }
    }

    @Test
    void nothingIsDeletedThroughALinkThatIsPutInTheWay() throws Exception {
        Path outside = Files.createDirectory(home.resolve("outside"));
        Path folder = Files.createDirectory(home.resolve("folder"));
        List<String> names = List.of("a", "b", "c", "d");
        for (String name : names) {
            Files.createDirectory(folder.resolve(name));
            for (int i = 0; i < FILES; i++) {
                Files.createFile(folder.resolve(name).resolve("file" + i));
                Files.write(outside.resolve("file" + i), new byte[0]);
            }
        }
        Thread swaps = new Thread(() -> {
            while (names.stream().allMatch(name -> holds(folder.resolve(name), FILES))) {
                Thread.onSpinWait();
            }
            for (String name : names) {
                try {
                    Files.move(folder.resolve(name), home.resolve("moved " + name));
                    Files.createSymbolicLink(folder.resolve(name), outside);
                } catch (IOException e) {
                    // It is gone already.
                }
            }
        });
        swaps.start();
        try {
            StageFolder.delete(folder);
        } catch (IOException e) {
            // What came meanwhile may stay.
        }
        swaps.join();
        assertTrue(holds(outside, FILES), "deleted through a link");
        StageFolder.delete(folder);
        assertFalse(Files.exists(folder));
        Path link = Files.createSymbolicLink(home.resolve("link"), outside);
        StageFolder.delete(link);
        StageFolder.delete(link);
        assertTrue(holds(outside, FILES) && !Files.isSymbolicLink(link));
    }

    private static boolean holds(Path folder, int files) {
        String[] names = folder.toFile().list();
        return names != null && names.length == files;
    }

    // Lines such as "1: POSIX  ADVISORY  WRITE 1234 fd:00:5678 0 EOF", see proc(5).
    private static long kernelLocks(StageFolder folder) throws IOException {
        Object inode = Files.getAttribute(folder.path().resolve("lock"), "unix:ino");
        String own = " " + ProcessHandle.current().pid() + " ";
        try (var lines = Files.lines(Path.of("/proc/locks"))) {
            return lines.filter(l -> l.contains(own) && l.contains(":" + inode + " "))
                    .count();
        }
    }
}
