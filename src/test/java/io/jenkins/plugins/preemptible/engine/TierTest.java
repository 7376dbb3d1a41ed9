package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** From what a stage goes on: its frozen tree, CRIU's files on this host, or the archive. */
@Tag("host")
class TierTest {

    private static final Duration SOON = Duration.ofSeconds(30);
    private static final String TICKS = "while :; do echo tick; sleep 0.05; done";

    private static Path images(StageBench bench, StageId id) {
        return TrialSteps.folder(bench, id).images();
    }

    private static void runsOn(StageBench bench, StageId id) throws Exception {
        TrialSteps.runsOn(bench, id);
        assertFalse(Files.exists(images(bench, id)), "no plain memory is left");
    }

    @Test
    void aFrozenStageIsThawed() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script(TICKS).id();
            long init = bench.engine.status(id).initPid();
            Frozen frozen = bench.engine.freeze(id, FreezeRequest.plain());
            assertTrue(frozen.processes() >= 2 && frozen.residentBytes() > 100_000, frozen::toString);
            assertEquals(State.SUSPENDING, bench.engine.status(id).state());
            ResumeReport resumed = bench.engine.resumeHere(id).orElseThrow();
            assertEquals(Tier.FROZEN, resumed.tier());
            assertEquals(init, bench.engine.status(id).initPid());
            runsOn(bench, id);
            bench.dump(id, DumpGuard.NONE);
            assertEquals(
                    Tier.FROZEN,
                    bench.engine.resume(bench.archive(id), bench.key).tier());
            runsOn(bench, id);
            assertFalse(Files.exists(bench.archive(id)), "an archive of a stage that runs on is of no use");
        }
    }

    @Test
    void aDumpUnderWayGivesUpForAThaw() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.start("bash", "-c", "x=$(head -c 60000000 /dev/urandom | base64 -w 0); " + TICKS)
                    .id();
            StageBench.until(
                    "output",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(id).output()) > 2);
            for (IfDumpFails ifFails : IfDumpFails.values()) {
                bench.engine.freeze(id, FreezeRequest.plain());
                CompletableFuture<Checkpoint> dump = CompletableFuture.supplyAsync(
                        () -> bench.engine.dump(id, bench.archive(id), bench.key, ifFails));
                StageBench.until("the dump to begin", SOON, () -> dump.isDone() || Files.exists(images(bench, id)));
                assertEquals(
                        Tier.FROZEN, bench.engine.resumeHere(id).orElseThrow().tier());
                CompletionException e = assertThrows(
                        CompletionException.class,
                        () -> dump.orTimeout(60, TimeUnit.SECONDS).join());
                assertEquals(FailureReason.GOES_ON, ((EngineException) e.getCause()).reason());
                runsOn(bench, id);
                assertFalse(Files.exists(bench.archive(id)));
            }
        }
    }

    @Test
    void theLocalImageServesOnceAndOnlyItsOwnSuspension() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script(TICKS).id();
            bench.engine.suspend(id, bench.archive(id), bench.key);
            assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(images(bench, id))));
            Path old = bench.folder.resolve("old images");
            StageBench.copy(images(bench, id), old);
            assertThrows(EngineException.class, () -> bench.engine.resume(bench.archive(id), ImageKey.generate()));
            assertEquals(
                    Tier.LOCAL_IMAGE, bench.engine.resumeHere(id).orElseThrow().tier());
            runsOn(bench, id);
            bench.engine.suspend(id, bench.archive(id), bench.key);
            StageBench.delete(images(bench, id));
            Files.move(old, images(bench, id));
            assertEquals(Optional.empty(), bench.engine.resumeHere(id), "images of an older suspension");
            assertEquals(
                    Tier.ARCHIVE,
                    bench.engine.resume(bench.archive(id), bench.key).tier());
            runsOn(bench, id);
        }
    }

    /** CRIU's files are not forced to disk: after a loss of power the memory in them may be holes, which nobody would notice. */
    @Test
    void theArchiveServesAfterTheHostWasBooted() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script(TICKS).id();
            bench.engine.suspend(id, bench.archive(id), bench.key);
            for (Path folder : List.of(images(bench, id).getParent(), images(bench, id))) {
                Path record = folder.resolve("stage.json");
                String before = Files.readString(record);
                assertTrue(before.contains(Proc.bootId()), before);
                Files.writeString(record, before.replace(Proc.bootId(), "00000000-0000-0000-0000-000000000000"));
            }
            assertEquals(Optional.empty(), bench.engine.resumeHere(id));
            assertEquals(
                    Tier.ARCHIVE,
                    bench.engine.resume(bench.archive(id), bench.key).tier());
            runsOn(bench, id);
        }
    }

    @Test
    void theArchiveServesWhenTheLocalImageCannot() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script(TICKS).id();
            bench.engine.suspend(id, bench.archive(id), bench.key);
            Files.delete(images(bench, id).resolve("inventory.img"));
            assertEquals(
                    Tier.ARCHIVE,
                    bench.engine.resume(bench.archive(id), bench.key).tier());
            runsOn(bench, id);
        }
    }

    @Test
    void anArchiveThatWasTouchedIsReadAsAWhole() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script(TICKS).id();
            bench.engine.suspend(id, bench.archive(id), bench.key);
            Path whole = Files.copy(bench.archive(id), bench.folder.resolve("whole"));
            try (RandomAccessFile file = new RandomAccessFile(bench.archive(id).toFile(), "rw")) {
                file.seek(file.length() / 2);
                int was = file.read();
                file.seek(file.length() / 2);
                file.write(was ^ 1);
            }
            EngineException e =
                    assertThrows(EngineException.class, () -> bench.engine.resume(bench.archive(id), bench.key));
            assertEquals(FailureReason.IMAGE_UNUSABLE, e.reason());
            assertEquals(State.SUSPENDED, bench.engine.status(id).state());
            Files.move(whole, bench.archive(id), StandardCopyOption.REPLACE_EXISTING);
            assertEquals(
                    Tier.ARCHIVE,
                    bench.engine.resume(bench.archive(id), bench.key).tier());
            runsOn(bench, id);
        }
    }

    @Test
    void withoutLocalImagesOnlyTheArchiveIsLeft() throws Exception {
        try (StageBench bench = StageBench.openForArchives()) {
            StageId id = bench.script(TICKS).id();
            bench.engine.suspend(id, bench.archive(id), bench.key);
            assertFalse(Files.exists(images(bench, id)));
            assertEquals(Optional.empty(), bench.engine.resumeHere(id));
            assertEquals(
                    Tier.ARCHIVE,
                    bench.engine.resume(bench.archive(id), bench.key).tier());
            assertEquals(
                    "rwx------",
                    PosixFilePermissions.toString(
                            Files.getPosixFilePermissions(bench.folder.resolve("home/incoming"))));
            runsOn(bench, id);
        }
    }
}
