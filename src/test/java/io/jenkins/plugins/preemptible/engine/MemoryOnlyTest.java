package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.Handover;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** An engine without images, on a host without criu: a suspended stage stays frozen, and loses nothing. */
@Tag("host")
class MemoryOnlyTest {

    private static final Duration SOON = Duration.ofSeconds(30);
    private static final String COUNTS =
            "i=0; while [ $i -lt 80 ]; do i=$((i+1)); echo line $i; sleep 0.02; done; exit 7";

    @Test
    void twoSuspensionsLoseNothing() throws Exception {
        try (StageBench bench = StageBench.openInMemoryOnly()) {
            StageId id = bench.script(COUNTS).id();
            for (int i = 0; i < 2; i++) {
                long before = bench.output(id).size();
                StageBench.until(
                        "output",
                        SOON,
                        () -> StageBench.lines(bench.engine.status(id).output()) > before + 3);
                Frozen frozen = bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 1));
                assertTrue(frozen.memoryOnly());
                assertEquals(Handover.AT_FREEZE, frozen.handover());
                long stands = bench.output(id).size();
                Thread.sleep(300);
                assertEquals(stands, bench.output(id).size());
                assertEquals(State.SUSPENDING, bench.engine.status(id).state());
                // As whoever comes after a restart of the controller does.
                assertTrue(bench.engine.freeze(id, FreezeRequest.ofSuspended()).memoryOnly());
                assertEquals(
                        Tier.FROZEN, bench.engine.resumeHere(id).orElseThrow().tier());
            }
            assertEquals(7, bench.engine.await(id));
            assertEquals(IntStream.rangeClosed(1, 80).mapToObj(i -> "line " + i).toList(), bench.output(id));
        }
    }

    @Test
    void theDumpIsRefusedAndTheStageIsAsItsCallerWantsIt() throws Exception {
        try (StageBench bench = StageBench.openInMemoryOnly()) {
            StageId id = bench.script(COUNTS).id();
            for (IfDumpFails ifFails : List.of(IfDumpFails.STAY_FROZEN, IfDumpFails.THAW)) {
                bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
                SuspendFailedException refused = assertThrows(
                        SuspendFailedException.class,
                        () -> bench.engine.dump(id, bench.archive(id), bench.key, ifFails));
                assertEquals(FailureReason.MEMORY_ONLY, refused.reason());
                assertEquals(
                        ifFails == IfDumpFails.THAW ? State.RUNNING : State.SUSPENDING,
                        bench.engine.status(id).state());
                assertFalse(Files.exists(bench.archive(id)));
            }
            assertThrows(SuspendFailedException.class, () -> bench.engine.suspend(id, bench.archive(id), bench.key));
            assertEquals(State.RUNNING, bench.engine.status(id).state());
            assertFalse(holdsImages(bench), "an image was made");
        }
    }

    private static boolean holdsImages(StageBench bench) throws IOException {
        try (var files = Files.walk(bench.folder)) {
            return files.map(Path::getFileName).map(Path::toString).anyMatch(n -> n.endsWith(".img"));
        }
    }

    /** No dump would ever free the memory: it is not even frozen for a moment. */
    @Test
    void aShortageOfMemoryRefusesTheFreeze() throws Exception {
        try (StageBench bench = StageBench.openInMemoryOnly()) {
            StageId id = bench.script(COUNTS).id();
            SuspendFailedException refused = assertThrows(
                    SuspendFailedException.class,
                    () -> bench.engine.freeze(
                            id,
                            new FreezeRequest(
                                    stage -> {
                                        throw new AssertionError("it was frozen");
                                    },
                                    Long.MAX_VALUE)));
            assertEquals(FailureReason.MEMORY_SHORT, refused.reason());
            assertTrue(refused.reason().passing());
            assertTrue(refused.getMessage().contains("MiB are free"), refused.getMessage());
            assertEquals(State.RUNNING, bench.engine.status(id).state());
        }
    }

    /** What only CRIU minds does not stand against a freeze. */
    @Test
    void whatOnlyADumpMindsIsNoObstacle() throws Exception {
        assumeTrue(HostTool.find("unshare").isPresent(), "unshare is not installed (Debian package util-linux)");
        String nested = "unshare --net /bin/sh -c 'echo ready; sleep 1000'";
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script(nested).id();
            StageBench.until(
                    "output",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(id).output()) > 0);
            assertThrows(SuspendFailedException.class, () -> bench.engine.freeze(id, FreezeRequest.plain()));
        }
        try (StageBench bench = StageBench.openInMemoryOnly()) {
            StageId id = bench.script(nested).id();
            StageBench.until(
                    "output",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(id).output()) > 0);
            assertTrue(bench.engine.preflight(id).ok());
            assertTrue(bench.engine
                    .freeze(id, new FreezeRequest(DumpGuard.NONE, 0))
                    .memoryOnly());
        }
    }

    @Test
    void theEnvironmentSaysIt() {
        assertTrue(Engines.allowsCheckpoints(Map.of()));
        assertTrue(Engines.allowsCheckpoints(Map.of("PREEMPTIBLE_CHECKPOINTS", "on")));
        assertFalse(Engines.allowsCheckpoints(Map.of("PREEMPTIBLE_CHECKPOINTS", "off")));
    }
}
