package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A record that cannot be written stops nobody from letting a stage run on, or from killing it. */
@Tag("host")
class FullHomeTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    private static final String TICKS = "while :; do echo tick; sleep 0.05; done";

    @Test
    void aFullDisk() throws Exception {
        Path disk = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-disk");
        HostTool.Answer mounted =
                HostTool.run(10, List.of("mount", "-t", "tmpfs", "-o", "size=24m", "none", disk.toString()));
        try {
            assumeTrue(mounted.ok(), () -> "no tmpfs can be mounted: " + mounted.text());
            try (StageBench bench = StageBench.open(null, disk.resolve("home"))) {
                Path out = bench.work.resolve("ticks");
                StageId id = bench.script("exec >'" + out + "'; " + TICKS).id();
                StageBench.until("output", SOON, () -> StageBench.lines(out) > 2);
                HostProcess init =
                        HostProcess.of(bench.engine.status(id).initPid()).orElseThrow();
                for (boolean dumped : new boolean[] {false, true}) {
                    if (dumped) {
                        bench.dump(id, DumpGuard.NONE);
                    } else {
                        bench.engine.freeze(id, FreezeRequest.plain());
                    }
                    Path ballast = fill(disk);
                    assertEquals(
                            Tier.FROZEN,
                            bench.engine.resumeHere(id).orElseThrow().tier());
                    assertEquals(State.RUNNING, bench.engine.status(id).state());
                    long lines = StageBench.lines(out);
                    StageBench.until("it goes on", SOON, () -> StageBench.lines(out) > lines + 2);
                    assertFalse(Files.exists(bench.archive(id)));
                    Files.delete(ballast);
                    assertEquals(State.RUNNING, bench.engine.status(id).state());
                }
                Path ballast = fill(disk);
                bench.engine.kill(id);
                assertFalse(init.alive());
                assertNotEquals(State.RUNNING, bench.engine.status(id).state());
                Files.delete(ballast);
                assertEquals(137, bench.engine.await(id));
            }
        } finally {
            if (mounted.ok()) {
                StageBench.until(
                        "the disk is free",
                        SOON,
                        () -> HostTool.run(10, List.of("umount", disk.toString()))
                                .ok());
            }
            Files.delete(disk);
        }
    }

    // Blocks are all taken; a file without content may still be made.
    private static Path fill(Path disk) throws IOException {
        Path ballast = disk.resolve("ballast");
        HostTool.run(10, List.of("dd", "if=/dev/zero", "of=" + ballast, "bs=4k"));
        assertEquals(0, disk.toFile().getUsableSpace());
        return ballast;
    }

    @Test
    void theRecordCannotBeWrittenWhenTheArchiveIsWhole() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.start("bash", "-c", "x=$(head -c 24000000 /dev/urandom | base64 -w 0); " + TICKS)
                    .id();
            Path output = bench.engine.status(id).output();
            StageBench.until("output", SOON, () -> StageBench.lines(output) > 2);
            bench.engine.freeze(id, FreezeRequest.plain());
            CompletableFuture<Checkpoint> dump = CompletableFuture.supplyAsync(
                    () -> bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.THAW));
            StageBench.until(
                    "the packing", SOON, () -> dump.isDone() || Files.exists(Path.of(bench.archive(id) + ".partial")));
            Path lock = bench.folder.resolve("home/stages/" + id + "/record.lock");
            Files.delete(lock);
            Files.createDirectory(lock);
            CompletionException e = assertThrows(
                    CompletionException.class,
                    () -> dump.orTimeout(SOON.toSeconds(), TimeUnit.SECONDS).join());
            assertTrue(e.getCause() instanceof SuspendFailedException, e::toString);
            assertFalse(Files.exists(bench.archive(id)), "an archive that no record names");
            assertFalse(Files.exists(new StageFolder(lock.getParent()).images()));
            assertEquals(State.RUNNING, bench.engine.status(id).state());
            long lines = StageBench.lines(output);
            StageBench.until("it goes on", SOON, () -> StageBench.lines(output) > lines + 2);
            Files.delete(lock);
            assertEquals(State.RUNNING, bench.engine.status(id).state());
        }
    }
}
