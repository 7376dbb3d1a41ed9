package io.jenkins.plugins.preemptible.engine.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ProcTest {

    @Test
    void aNameMayHoldBlanksAndParentheses() {
        Proc.Stat stat = Proc.parseStat(
                        "42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 99887 1000 200 1844")
                .orElseThrow();
        assertEquals(new Proc.Stat(42, "a) b (c", 'S', 7, 42, 99887), stat);
        assertTrue(Proc.parseStat("garbage").isEmpty());
    }

    @Test
    void aProcessIsToldFromItsSuccessor() throws Exception {
        Process child = new ProcessBuilder("sleep", "60").start();
        HostProcess process = HostProcess.of(child.pid()).orElseThrow();
        assertTrue(process.alive());
        assertTrue(Proc.tree(ProcessHandle.current().pid()).stream().anyMatch(s -> s.pid() == child.pid()));
        assertFalse(new HostProcess(process.pid(), process.startTicks() - 1, process.bootId()).alive());
        assertTrue(LibC.kill(child.pid(), LibC.SIGKILL));
        assertEquals(137, child.waitFor());
        assertFalse(process.alive());
        assertFalse(LibC.kill(child.pid(), LibC.SIGCONT));
    }

    @Test
    void theArchitectureIsNamedAsTheKernelNamesIt() {
        assertEquals(HostTool.run(10, java.util.List.of("uname", "-m")).firstLine(), Proc.machine());
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, 0, 1, 1L << 33})
    void nobodyElseIsSignalled(long pid) {
        assertThrows(IllegalArgumentException.class, () -> LibC.kill(pid, LibC.SIGCONT));
    }

    @Test
    void aZombieIsExitingAndASleeperIsNot() throws Exception {
        // exec: nobody waits for the first sleep, so that it stays a zombie.
        Process sleeper = new ProcessBuilder("sh", "-c", "sleep 0.01 & exec sleep 60").start();
        try {
            Awaitility.await()
                    .until(() -> sleeper.children()
                            .anyMatch(c ->
                                    Proc.stat(c.pid()).filter(Proc.Stat::zombie).isPresent()));
            assertTrue(sleeper.children().allMatch(c -> Proc.exiting(c.pid())));
            assertFalse(Proc.exiting(sleeper.pid()));
        } finally {
            sleeper.destroyForcibly().waitFor();
        }
        assertTrue(Proc.exiting(sleeper.pid()), "one that is gone");
    }
}
