package io.jenkins.plugins.preemptible.engine.criu;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** That it works on a stage is seen by the programs affinity, io_priority and timer_slack. */
class TaskTraitsTest {

    @Test
    void masksAreTurnedRound() {
        assertArrayEquals(new byte[] {3, 0, 0, 0, 0, 0, 0, 0}, TaskTraits.maskBytes("3"));
        assertArrayEquals(new byte[] {(byte) 0xef, 0, 0, 0, 1, 0, 0, 0}, TaskTraits.maskBytes("00000001,000000ef"));
        assertArrayEquals(
                new byte[] {1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0},
                TaskTraits.maskBytes("2,00000000,00000001"));
    }

    @Test
    void onlyTasksThatDifferFromTheInitAreKept(@TempDir Path folder) throws Exception {
        Process init = new ProcessBuilder("sh", "-c", "sleep 1000 & wait").start();
        try {
            List<Proc.Stat> tree = tree(init);
            TaskTraits.keep(folder, tree);
            TaskTraits.giveBack(folder, init.pid());
            assertEquals(List.of(), list(folder), "ordinary tasks leave no file");

            long child = tree.get(1).pid();
            int idle = 3 << 13;
            assumeTrue(LibC.setIoPriority(child, idle), "no I/O priority can be set on this host");
            TaskTraits.keep(folder, tree);
            assertEquals(1, list(folder).size());
            LibC.setIoPriority(child, 2 << 13 | 4);
            TaskTraits.giveBack(folder, init.pid());
            assertEquals(idle, LibC.ioPriority(child));
        } finally {
            init.descendants().forEach(ProcessHandle::destroyForcibly);
            init.destroyForcibly();
        }
    }

    private static List<Proc.Stat> tree(Process init) {
        await().until(() -> init.descendants().count() == 1);
        return List.of(
                Proc.stat(init.pid()).orElseThrow(),
                Proc.stat(init.descendants().findFirst().orElseThrow().pid()).orElseThrow());
    }

    private static List<Path> list(Path folder) throws IOException {
        try (var files = Files.list(folder)) {
            return files.toList();
        }
    }

    /** As when whoever restored it was killed before he gave them back. */
    @Test
    void whatWasKeptIsGivenBackFromWhereItWasCopied(@TempDir Path images, @TempDir Path folder) throws Exception {
        Process task = new ProcessBuilder("sleep", "1000").start();
        try {
            long pid = task.pid();
            long usual = Proc.timerSlack(pid).orElse(-1L);
            assumeTrue(usual > 0, "the kernel does not tell the timer slack of others");
            String kept = "{\"%d\":{\"processors\":\"%s\",\"ioPriority\":-1,\"slackNanos\":%d}}"
                    .formatted(Proc.innerPid(pid), Proc.allowedProcessors(pid).orElseThrow(), usual + 1000);
            Files.writeString(images.resolve("task-traits.json"), kept);
            TaskTraits.take(images, folder);
            TaskTraits.giveBack(folder, pid);
            assertEquals(usual + 1000, Proc.timerSlack(pid).orElse(-1L));
            // The next restore's image may have none.
            Files.delete(images.resolve("task-traits.json"));
            TaskTraits.take(images, folder);
            assertFalse(Files.list(folder).findAny().isPresent());
        } finally {
            task.destroyForcibly();
        }
    }
}
