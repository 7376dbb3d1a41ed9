package io.jenkins.plugins.preemptible.engine;

import static io.jenkins.plugins.preemptible.engine.TrialSteps.SOON;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.TICKS;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.folder;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.passes;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.runsOn;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.start;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.TrialVerdict;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.trial.ChangeSinceDump;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What others change after the trial of an image keeps its frozen tree from being killed. */
@Tag("host")
class ChangeSinceDumpTest {

    @Test
    void aFileThatChangesAfterTheTrialKeepsTheTreeFromBeingKilled() throws Exception {
        try (StageBench bench = StageBench.open()) {
            Path file = Files.writeString(bench.work.resolve("open"), "content");
            StageId id = start(bench, "/bin/sh", "-c", "exec 5<open; " + TICKS);
            passes(bench, id);
            Files.writeString(file, "longer than before");
            SuspendFailedException e = assertThrows(SuspendFailedException.class, () -> bench.engine.commit(id));
            assertEquals(FailureReason.NOT_RESTORABLE, e.reason(), e::toString);
            assertTrue(e.getMessage().contains(file.toString()), e::getMessage);
            assertEquals(State.SUSPENDING, bench.engine.status(id).state());
            Files.delete(file);
            assertThrows(SuspendFailedException.class, () -> bench.engine.commit(id));
            // As the controller does: dumped anew, the deleted file is in the image.
            bench.engine.freeze(id, FreezeRequest.ofSuspended());
            Checkpoint again = bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN);
            assertEquals(TrialVerdict.PASSED, again.trial().verdict());
            bench.engine.commit(id);
            bench.engine.resume(bench.archive(id), bench.key);
            runsOn(bench, id);
        }
    }

    /** As much as a file of any other name: it is open, it is dumped, and its change is noticed. */
    @Test
    void aFileWhoseNameIsNoTextIsFoundByItsBytes() throws Exception {
        try (StageBench bench = StageBench.open()) {
            String open = "mkdir \"$(printf 'd\\376')\"; exec 5<>\"$(printf 'd\\376/f\\377')\"; echo content >&5; ";
            StageId id = start(bench, "/bin/sh", "-c", open + TICKS);
            assertEquals(List.of(), bench.engine.preflight(id).obstacles());
            passes(bench, id);
            shell(bench, "echo longer than before | tee -a d*/f*");
            SuspendFailedException e = assertThrows(SuspendFailedException.class, () -> bench.engine.commit(id));
            assertTrue(e.getMessage().contains("the size of "), e::getMessage);
            shell(bench, "truncate -s 8 d*/f*; mv d*/f* kept");
            e = assertThrows(SuspendFailedException.class, () -> bench.engine.commit(id));
            assertTrue(e.getMessage().contains("is gone"), e::getMessage);
            shell(bench, "cd d*; mv ../kept \"$(printf 'f\\377')\"");
            bench.engine.commit(id);
            bench.engine.resume(bench.archive(id), bench.key);
            runsOn(bench, id);
        }
    }

    private static void shell(StageBench bench, String script) throws Exception {
        Process shell = new ProcessBuilder("sh", "-c", script)
                .directory(bench.work.toFile())
                .inheritIO()
                .start();
        assertEquals(0, shell.waitFor());
    }

    @Test
    void aPortThatIsTakenAfterTheTrialKeepsTheTreeFromBeingKilled() throws Exception {
        assumeTrue(HostTool.find("python3").isPresent(), "python3 is not installed");
        try (StageBench bench = StageBench.open()) {
            Path script = Files.writeString(
                    bench.work.resolve("script.py"),
                    "import socket, time\n"
                            + "s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
                            + "s.bind(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True)\n"
                            + "while True: time.sleep(0.02); print('tick', flush=True)\n");
            StageId id = start(bench, "python3", script.toString());
            int port = Integer.parseInt(bench.output(id).get(0));
            passes(bench, id);
            try (java.net.ServerSocket other = new java.net.ServerSocket()) {
                other.setReuseAddress(true);
                other.bind(new java.net.InetSocketAddress("127.0.0.1", port));
                SuspendFailedException e = assertThrows(SuspendFailedException.class, () -> bench.engine.commit(id));
                assertTrue(e.getMessage().contains("port " + port), e::getMessage);
                assertEquals(State.SUSPENDING, bench.engine.status(id).state());
            }
            bench.engine.commit(id);
            bench.engine.resume(bench.archive(id), bench.key);
            runsOn(bench, id);
        }
    }

    @Test
    void aTerminalThatIsOpenedAfterTheTrialKeepsTheTreeFromBeingKilled() throws Exception {
        assumeTrue(HostTool.find("python3").isPresent(), "python3 is not installed");
        try (StageBench bench = StageBench.open()) {
            Path script = Files.writeString(
                    bench.work.resolve("script.py"),
                    "import os, time\n"
                            + "master, slave = os.openpty(); print(os.ttyname(slave), flush=True)\n"
                            + "while True: time.sleep(0.02); print('tick', flush=True)\n");
            StageId id = start(bench, "python3", script.toString());
            Path seen = Path.of("/proc/" + bench.engine.status(id).initPid() + "/root"
                    + bench.output(id).get(0));
            passes(bench, id);
            try (RandomAccessFile outside = new RandomAccessFile(seen.toFile(), "r")) {
                SuspendFailedException e = assertThrows(SuspendFailedException.class, () -> bench.engine.commit(id));
                assertTrue(e.getMessage().contains("terminal"), e::getMessage);
            }
            bench.engine.commit(id);
            bench.engine.resume(bench.archive(id), bench.key);
            runsOn(bench, id);
        }
    }

    // Its image is all that is left of it.
    @Test
    void aTreeThatIsKilledAfterTheTrialIsSuspended() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = start(bench, "/bin/sh", "-c", TICKS);
            passes(bench, id);
            long init = bench.engine.status(id).initPid();
            List<Long> dumped = folder(bench, id).read().orElseThrow().dumped();
            LibC.kill(init, LibC.SIGKILL);
            StageBench.until("its end", SOON, () -> !Files.exists(Path.of("/proc/" + init + "/root")));
            assertEquals(
                    Optional.empty(), ChangeSinceDump.find(folder(bench, id).images(), dumped, List.of()));
            // Until its parent has collected it.
            StageBench.until("suspended", SOON, () -> bench.engine.status(id).state() == State.SUSPENDED);
            bench.engine.resume(bench.archive(id), bench.key);
            runsOn(bench, id);
        }
    }
}
