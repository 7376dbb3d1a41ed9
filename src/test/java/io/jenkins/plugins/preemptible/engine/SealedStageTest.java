package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What is true between the seal on a stage's image and the end of its frozen tree, and what others leave behind. */
@Tag("host")
class SealedStageTest {

    private static final Duration SOON = Duration.ofSeconds(60);

    private static StageId counting(StageBench bench) throws Exception {
        StageId id = bench.script("i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo line $i; sleep 0.05; done; exit 7")
                .id();
        StageBench.until(
                "output", SOON, () -> StageBench.lines(bench.engine.status(id).output()) > 3);
        return id;
    }

    @Test
    void aSealedStageWhoseFrozenTreeDiedGoesOnFromItsImage() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = counting(bench);
            HostProcess init = HostProcess.of(bench.engine.status(id).initPid()).orElseThrow();
            bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
            bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.THAW);
            LibC.kill(init.pid(), LibC.SIGKILL);
            StageBench.until("the init dead", SOON, () -> !init.alive());
            StageStatus after = bench.engine.status(id);
            assertEquals(State.SUSPENDED, after.state());
            assertEquals(1, after.suspensions());
            bench.engine.resume(bench.archive(id), bench.key);
            assertEquals(7, bench.engine.await(id));
            assertEquals(IntStream.rangeClosed(1, 60).mapToObj(i -> "line " + i).toList(), bench.output(id));
        }
    }

    @Test
    void aStageThatRanOnIsNotCommitted() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = counting(bench);
            bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
            bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.THAW);
            bench.engine.thaw(id);
            SuspendFailedException refused = assertThrows(SuspendFailedException.class, () -> bench.engine.commit(id));
            assertEquals(FailureReason.NO_CHECKPOINT, refused.reason());
            assertTrue(Files.notExists(bench.archive(id)));
            assertEquals(7, bench.engine.await(id));
        }
    }

    @Test
    void aRequestToGoOnThatSomebodyLeftHindersNothing() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = counting(bench);
            new StageFolder(bench.folder.resolve("home/stages/" + id)).askToThaw(true);
            bench.engine.suspend(id, bench.archive(id), bench.key);
            assertEquals(State.SUSPENDED, bench.engine.status(id).state());
        }
    }

    @Test
    void itsTmpIsPackedWithoutTheTimeThatCompressionTakes() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script("head -c 5000000 /dev/zero >/tmp/zeros; echo there; sleep 1000")
                    .id();
            StageBench.until(
                    "the file",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(id).output()) > 0);
            bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
            bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.THAW);
            long largest = 0;
            try (var files = Files.list(bench.folder.resolve("home/stages/" + id + "/images"))) {
                for (Path file : files.filter(f -> f.getFileName().toString().startsWith("tmpfs-"))
                        .toList()) {
                    largest = Math.max(largest, Files.size(file));
                }
            }
            assertTrue(largest > 5_000_000, "packed to " + largest + " bytes");
        }
    }
}
