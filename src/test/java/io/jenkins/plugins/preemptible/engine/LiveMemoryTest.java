package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.home.LocalImages;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.live.LiveImage;
import io.jenkins.plugins.preemptible.engine.live.LiveRequest;
import io.jenkins.plugins.preemptible.engine.move.Luggage;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Checkpoints of stages whose memory is read from copies of their processes; with real CRIU. */
@Tag("host")
class LiveMemoryTest {

    private static final Duration SOON = Duration.ofSeconds(60);

    /**
     * Two threads write the number of their round to one page after the other; a page that does not have that of the round
     * before is of another moment. A child, a signal of one, or a descriptor that is not its own is said too.
     */
    private static final String WRITES = String.join(
            "\n",
            "import mmap, os, signal, sys, threading, time",
            "size = int(sys.argv[1]) << 20",
            "log = open('log', 'a', buffering=1)",
            "m = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)",
            "signal.signal(signal.SIGCHLD, lambda *a: log.write('broken: a child\\n'))",
            "def work(begin, end):",
            "    turn = 0",
            "    while True:",
            "        turn += 1",
            "        for at in range(begin, end, 4096):",
            "            if int.from_bytes(m[at:at + 8], 'little') != turn - 1: log.write('broken %d\\n' % at)",
            "            m[at:at + 8] = turn.to_bytes(8, 'little')",
            "        log.write('line\\n')",
            "for part in range(2):",
            "    threading.Thread(target=work, args=(part * size // 2, (part + 1) * size // 2), daemon=True).start()",
            "while True:",
            "    for how in (0, 0x40000000):",
            "        try: log.write('broken: a child %s\\n' % (os.waitpid(-1, os.WNOHANG | how),))",
            "        except ChildProcessError: pass",
            "    time.sleep(0.002)");

    private StageBench bench;
    private Path workspace;
    private final StageId id = StageId.create("memory");
    private Engine other;

    @BeforeEach
    void open() throws Exception {
        assumeTrue(HostProcess.isRoot(), "root's rights are needed");
        Optional<Path> python = HostTool.find("python3");
        assumeTrue(python.isPresent() && HostTool.find("perl").isPresent(), "python3 and perl are needed");
        assumeTrue("amd64".equals(System.getProperty("os.arch")), "an x86-64 host is needed");
        bench = StageBench.openForArchives();
        workspace = Files.createDirectory(bench.folder.resolve("workspace"));
        other = Engines.direct(bench.folder.resolve("other"), new CriuSearch(), null, new LocalImages(true, 0), true);
        bench.engine.start(new StageSpec(id, "memory", workspace, List.of(), null));
        Path program = Files.writeString(bench.folder.resolve("writes.py"), WRITES);
        List<String> command = new ArrayList<>(bench.engine.enterCommand(id).words());
        command.addAll(List.of("/bin/sh", "-c", "\"$@\" > out 2>&1 < /dev/null &", "run"));
        command.addAll(List.of(python.get().toString(), program.toString(), "96"));
        new ProcessBuilder(command)
                .directory(workspace.toFile())
                .redirectInput(new File("/dev/null"))
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        growsBy(3);
    }

    @AfterEach
    void close() throws Exception {
        if (bench != null) {
            if (other != null) {
                for (var stage : other.list()) {
                    other.kill(stage.id());
                    other.forget(stage.id());
                }
            }
            bench.close();
        }
    }

    private void growsBy(int lines) {
        Path log = workspace.resolve("log");
        long before = StageBench.lines(log);
        StageBench.until("output", SOON, () -> StageBench.lines(log) > before + lines);
    }

    private void undisturbed() throws IOException {
        growsBy(3);
        for (String line : Files.readAllLines(workspace.resolve("log"))) {
            assertEquals("line", line);
        }
        assertEquals(List.of(), Files.readAllLines(workspace.resolve("out")));
    }

    private LiveRequest request(String name) {
        return LiveRequest.of(
                bench.folder.resolve(name + ".image"),
                bench.folder.resolve(name + ".luggage"),
                bench.key,
                List.of(workspace, bench.folder.resolve("workspace@tmp")));
    }

    private List<Proc.Stat> tree() throws IOException {
        return Proc.tree(bench.engine.status(id).initPid());
    }

    private void noCopyIsLeft(int processes) throws IOException {
        StageBench.until("the copies are gone", SOON, () -> {
            try {
                return tree().size() == processes;
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        for (Proc.Stat each : tree()) {
            assertEquals(0, Proc.tracer(each.pid()), each.comm());
        }
    }

    private void resume(String name) throws Exception {
        HostProcess init = HostProcess.of(bench.engine.status(id).initPid()).orElseThrow();
        LibC.kill(init.pid(), LibC.SIGKILL);
        StageBench.until("the original is gone", SOON, () -> !init.alive());
        Files.move(workspace, bench.folder.resolve("before " + name));
        Luggage.unpack(
                bench.folder.resolve("home"),
                id,
                request(name).folders(),
                request(name).luggage(),
                bench.key,
                bench.folder.resolve("unpacked"));
        other.resume(request(name).archive(), bench.key);
    }

    @Test
    void allMemoryIsOfOneMomentAndTheStageDoesNotNotice() throws Exception {
        int processes = tree().size();
        for (int i = 0; i < 2; i++) {
            LiveImage made = bench.engine.checkpoint(id, request("copied"));
            System.out.println(made);
            assertNull(made.wholeWhy());
            assertTrue(made.imageBytes() > 96 << 20, made.toString());
            undisturbed();
        }
        noCopyIsLeft(processes);
        resume("copied");
        undisturbed();
    }

    @Test
    void whatCannotBeCopiedIsWrittenWhileItStandsStill() throws Exception {
        Path said = bench.folder.resolve("home/stages/" + id + "/whole-dump");
        Files.writeString(said, "it was so before");
        LiveImage made = bench.engine.checkpoint(id, request("whole"));
        System.out.println(made);
        assertEquals("it was so before", made.wholeWhy());
        Files.delete(said);
        resume("whole");
        undisturbed();
    }

    @Test
    void afterAFailureThatPassesItIsTriedAgain() throws Exception {
        LiveRequest failing = request("failing")
                .asking(
                        stage -> {
                            ProcessHandle.current()
                                    .children()
                                    .filter(each ->
                                            each.info().command().orElse("").contains("perl"))
                                    .forEach(ProcessHandle::destroyForcibly);
                            return Optional.empty();
                        },
                        List.of());
        assertNotNull(bench.engine.checkpoint(id, failing).wholeWhy());
        assertNull(bench.engine.checkpoint(id, request("next")).wholeWhy());
        undisturbed();
    }

    @Test
    void whoeverIsKilledTheStageRunsOn() throws Exception {
        killedAtAnyMoment(1);
    }

    @Test
    @Tag("soak")
    void whoeverIsKilledTheStageRunsOnManyTimes() throws Exception {
        killedAtAnyMoment(40);
    }

    private void killedAtAnyMoment(int times) throws Exception {
        int processes = tree().size();
        Random random = new Random(times);
        Process[] killed = new Process[1];
        for (int i = 0; i < times; i++) {
            killed[0] = new ProcessBuilder(JavaCommand.words(
                            "-cp",
                            System.getProperty("java.class.path"),
                            TakesCheckpoints.class.getName(),
                            bench.folder.toString(),
                            id.value()))
                    .redirectErrorStream(true)
                    .start();
            byte[] word = killed[0].getInputStream().readNBytes(TakesCheckpoints.WORD.length());
            assertEquals(TakesCheckpoints.WORD, new String(word));
            boolean ended = killed[0].waitFor(random.nextInt(1500), TimeUnit.MILLISECONDS);
            assertFalse(ended, () -> "its checkpoints failed: " + text(killed[0]));
            killed[0].destroyForcibly().waitFor();
            noCopyIsLeft(processes);
            undisturbed();
        }
        assertNull(bench.engine.checkpoint(id, request("last")).wholeWhy());
        resume("last");
        undisturbed();
    }

    private static String text(Process process) {
        try {
            return new String(process.getInputStream().readAllBytes());
        } catch (IOException e) {
            return e.toString();
        }
    }
}
