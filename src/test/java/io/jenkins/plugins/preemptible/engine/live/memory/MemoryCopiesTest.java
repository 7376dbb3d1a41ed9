package io.jenkins.plugins.preemptible.engine.live.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Copies of real processes; a FIFO in the freezer's place says when all are held still. */
@Tag("host")
class MemoryCopiesTest {

    private static final Duration SOON = Duration.ofSeconds(60);

    @TempDir
    private Path temp;

    private Process process;

    @BeforeEach
    void start() throws IOException {
        assumeTrue(HostProcess.isRoot(), "root's rights are needed");
        assumeTrue(HostTool.find("perl").isPresent(), "perl is needed");
        assumeTrue("amd64".equals(System.getProperty("os.arch")), "an x86-64 host is needed");
        process = new ProcessBuilder("sleep", "1000").start();
        HostTool.run(10, List.of("mkfifo", freezer().toString()));
    }

    @AfterEach
    void end() {
        if (process != null) {
            process.destroyForcibly();
        }
    }

    private Path freezer() {
        return temp.resolve("freezer");
    }

    private char state() {
        return Proc.stat(process.pid()).orElseThrow().state();
    }

    private static void until(String what, BooleanSupplier is) throws InterruptedException {
        long end = System.nanoTime() + SOON.toNanos();
        while (!is.getAsBoolean()) {
            assertTrue(System.nanoTime() - end < 0, what);
            TimeUnit.MILLISECONDS.sleep(1);
        }
    }

    /** Makes a copy, and sends these signals while the process is held still. */
    private void copied(int... signals) throws Exception {
        try (MemoryCopies copies = MemoryCopies.start(freezer(), "thawed")) {
            FutureTask<Map<Long, Long>> taking =
                    new FutureTask<>(() -> copies.take(new CopyPlan(List.of(process.pid()), List.of()), SOON));
            new Thread(taking).start();
            until("it is held", () -> state() == 't');
            for (int signal : signals) {
                LibC.kill(process.pid(), signal);
            }
            assertEquals("thawed", Files.readString(freezer()));
            long copy = taking.get().get(process.pid());
            assertTrue(HostProcess.of(copy).isPresent());
            until("it is let go", () -> tracer() == 0);
        }
    }

    private long tracer() {
        return Proc.tracer(process.pid());
    }

    @Test
    void theProcessRunsOn() throws Exception {
        copied();
        until("it sleeps again", () -> state() == 'S');
    }

    @Test
    void aStopThatComesMeanwhileIsKept() throws Exception {
        copied(LibC.SIGSTOP);
        until("it is stopped", () -> state() == 'T');
        LibC.kill(process.pid(), LibC.SIGCONT);
        until("it goes on", () -> state() == 'S');
    }

    @Test
    void aStopThatIsTakenBackMeanwhileIsNot() throws Exception {
        copied(LibC.SIGSTOP, LibC.SIGCONT);
        until("it sleeps again", () -> state() == 'S');
        TimeUnit.MILLISECONDS.sleep(50);
        assertEquals('S', state());
    }
}
