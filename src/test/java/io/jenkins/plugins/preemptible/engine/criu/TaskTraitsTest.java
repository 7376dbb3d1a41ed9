package io.jenkins.plugins.preemptible.engine.criu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

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
}
