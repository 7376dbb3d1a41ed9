package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import java.nio.file.Files;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A connection on which data is always under way: many suspensions in a row, and not one byte is lost or doubled. */
@Tag("host")
@Tag("soak")
@Timeout(value = 6, unit = TimeUnit.HOURS)
class TcpCyclesTest {

    private static final Duration SOON = Duration.ofMinutes(2);
    private static final int CYCLES = Integer.getInteger("preemptible.cycles", 1000);

    @Test
    void nothingIsLost() throws Exception {
        try (StageBench bench = StageBench.open()) {
            KernelPrograms programs = KernelPrograms.compile(bench.folder);
            StageId id =
                    bench.start(programs.program().toString(), "tcp_under_way").id();
            StageBench.until("ready", SOON, () -> KernelPrograms.ready(bench.work));
            for (int cycle = 0; cycle < CYCLES; cycle++) {
                bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, Long.MAX_VALUE));
                bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.THAW);
                bench.engine.commit(id);
                bench.engine.resume(bench.archive(id), bench.key);
                assertFalse(KernelPrograms.ended(bench.work), "cycle " + cycle);
            }
            Files.createFile(bench.work.resolve("go"));
            StageBench.until("the end", SOON, () -> KernelPrograms.ended(bench.work));
            assertEquals("pass", KernelPrograms.result(bench.work));
        }
    }
}
