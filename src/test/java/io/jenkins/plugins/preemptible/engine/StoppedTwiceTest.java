package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Stages without control groups: a process that was sent SIGSTOP twice has one of them still waiting, and CRIU does not
 * expect that beside another signal ("Unexpected task interruption").
 */
@Tag("host")
class StoppedTwiceTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    private static final String TICKS = "sleep 1000 & while :; do echo tick; sleep 0.02; done";

    private static boolean stopWaits(long pid) {
        return List.of("SigPnd", "ShdPnd").stream()
                .flatMap(set -> Proc.statusWords(pid, set).stream())
                .anyMatch(mask -> (Long.parseUnsignedLong(mask, 16) >> (LibC.SIGSTOP - 1) & 1) == 1);
    }

    @Test
    void aStageThatWasStoppedTwiceIsSuspended() throws Exception {
        try (StageBench bench = StageBench.open(FreezerKind.SIGNALS, null)) {
            StageId id = bench.script(TICKS).id();
            StageBench.until(
                    "output",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(id).output()) > 2);
            long init = bench.engine.status(id).initPid();
            // The children first: the parents have a SIGCHLD waiting then.
            for (int i = 0; i < 2; i++) {
                List<Proc.Stat> tree = Proc.tree(init);
                for (int at = tree.size() - 1; at >= 0; at--) {
                    LibC.kill(tree.get(at).pid(), LibC.SIGSTOP);
                }
                StageBench.until(
                        "all are stopped",
                        SOON,
                        () -> Proc.tree(init).stream().allMatch(s -> s.zombie() || s.state() == 'T'));
            }
            bench.engine.suspend(id, bench.archive(id), bench.key);
            bench.engine.resume(bench.archive(id), bench.key);
            assertEquals(State.RUNNING, bench.engine.status(id).state());
            long lines = StageBench.lines(bench.engine.status(id).output());
            StageBench.until(
                    "it goes on",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(id).output()) > lines);
        }
    }

    @Test
    void noStopIsLeftWaiting() throws Exception {
        Process tree = new ProcessBuilder(
                        "sh", "-c", "for i in 1 2 3 4; do (while :; do /bin/true; sleep 0.001; done) & done; wait")
                .start();
        try {
            HostProcess top = HostProcess.of(tree.pid()).orElseThrow();
            Freezer freezer = FreezerKind.create(StageId.create("twice"), FreezerKind.SIGNALS);
            for (int i = 0; i < 100; i++) {
                freezer.freeze(top, SOON);
                for (Proc.Stat s :
                        Proc.tree(top.pid()).stream().filter(s -> !s.zombie()).toList()) {
                    assertFalse(stopWaits(s.pid()), () -> "a second SIGSTOP waits for " + s);
                }
                freezer.thaw(top);
            }
        } finally {
            tree.descendants().forEach(ProcessHandle::destroyForcibly);
            tree.destroyForcibly();
        }
    }
}
