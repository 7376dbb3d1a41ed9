package io.jenkins.plugins.preemptible.engine.criu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.host.Proc;
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
    void aTreeOfOrdinaryTasksLeavesNoFile(@TempDir Path folder) throws Exception {
        TaskTraits.keep(folder, List.of());
        TaskTraits.giveBack(folder, ProcessHandle.current().pid());
        assertFalse(Files.list(folder).findAny().isPresent(), Proc.kernelRelease());
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
            TaskTraits.copy(images, folder);
            TaskTraits.giveBack(folder, pid);
            assertEquals(usual + 1000, Proc.timerSlack(pid).orElse(-1L));
            // The next restore's image may have none.
            Files.delete(images.resolve("task-traits.json"));
            TaskTraits.copy(images, folder);
            assertFalse(Files.list(folder).findAny().isPresent());
        } finally {
            task.destroyForcibly();
        }
    }
}
