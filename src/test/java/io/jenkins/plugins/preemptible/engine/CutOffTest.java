package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.criu.TaskTraits;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.home.LocalImages;
import io.jenkins.plugins.preemptible.engine.home.Stages;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A verb whose process died in the middle, as its record tells: whoever looks next brings it to its end. */
@Tag("host")
class CutOffTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    private static final String TICKS = "while :; do echo tick; sleep 0.05; done";

    private static StageFolder folder(StageBench bench, StageId id) {
        return new StageFolder(bench.folder.resolve("home/stages").resolve(id.value()));
    }

    private static StageJson record(StageBench bench, StageId id) {
        return folder(bench, id).read().orElseThrow();
    }

    private static HostProcess init(StageBench bench, StageId id) {
        return HostProcess.of(bench.engine.status(id).initPid()).orElseThrow();
    }

    private static void runsOn(StageBench bench, StageId id) {
        assertEquals(State.RUNNING, bench.engine.status(id).state());
        Path output = bench.engine.status(id).output();
        long lines = StageBench.lines(output);
        StageBench.until("more output", SOON, () -> StageBench.lines(output) > lines + 2);
    }

    @Test
    void aCommit() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script("i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo line $i; sleep 0.05; done; exit 7")
                    .id();
            StageBench.until(
                    "output",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(id).output()) > 3);
            HostProcess init = init(bench, id);
            bench.dump(id, DumpGuard.NONE);
            folder(bench, id)
                    .change(r -> r.withState(State.SUSPENDED).withFreezing(null).withSuspensions(r.suspensions() + 1));
            assertTrue(init.alive(), "frozen");
            assertEquals(State.SUSPENDED, bench.engine.status(id).state());
            assertFalse(init.alive(), "its memory is free");
            assertNull(record(bench, id).freezer());
            assertNull(record(bench, id).dumped());
            bench.engine.resume(bench.archive(id), bench.key);
            assertEquals(7, bench.engine.await(id));
            assertEquals(IntStream.rangeClosed(1, 20).mapToObj(i -> "line " + i).toList(), bench.output(id));
        }
    }

    @Test
    void aThaw() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script(TICKS).id();
            for (boolean dumped : new boolean[] {false, true}) {
                if (dumped) {
                    bench.dump(id, DumpGuard.NONE);
                } else {
                    bench.engine.freeze(id, FreezeRequest.plain());
                }
                assertEquals(State.SUSPENDING, bench.engine.status(id).state());
                StageJson frozen = record(bench, id);
                Stages.freezer(frozen).orElseThrow().thaw(frozen.init());
                runsOn(bench, id);
                assertFalse(Files.exists(bench.archive(id)), "what ran on is not resumed from an older image");
                assertFalse(Files.exists(folder(bench, id).images()));
            }
            bench.engine.suspend(id, bench.archive(id), bench.key);
            bench.engine.resume(bench.archive(id), bench.key);
            runsOn(bench, id);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = FreezerKind.class,
            names = {"CGROUP_V2", "SIGNALS"})
    void aStart(FreezerKind kind) throws Exception {
        try (StageBench bench = StageBench.open(kind, null)) {
            StageId id = bench.script(TICKS).id();
            HostProcess init = init(bench, id);
            folder(bench, id).change(r -> r.withInit(null));
            try (StageFolder.Held lock = folder(bench, id).lock().orElseThrow()) {
                assertEquals(State.RUNNING, bench.engine.status(id).state(), "somebody is still starting it");
            }
            assertEquals(State.FAILED, bench.engine.status(id).state());
            StageBench.until("nothing is left of it", SOON, () -> !init.alive());
            assertEquals(137, bench.engine.await(id));
        }
    }

    @Test
    void aResumeThatCameToItsEnd() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script(TICKS).id();
            HostProcess init = restoredByNobody(bench, id);
            Path image = Files.createDirectory(bench.folder.resolve("image"));
            Files.writeString(
                    image.resolve("task-traits.json"),
                    "{\"1\":{\"processors\":\"ff\",\"ioPriority\":0,\"slackNanos\":77777}}");
            TaskTraits.take(image, folder(bench, id).path());
            Path left = Files.createDirectories(bench.folder.resolve("home/incoming/image-999999999-1-x"));
            runsOn(bench, id);
            assertEquals(init, init(bench, id));
            assertEquals(77777, Proc.timerSlack(init.pid()).orElseThrow());
            assertFalse(Files.exists(left), "the plain memory that it was restored from");
        }
    }

    @Test
    void aResumeBeforeItsRecordNamedItsGroup() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script(TICKS).id();
            bench.engine.suspend(id, bench.archive(id), bench.key);
            FreezerKind.create(id, null);
            bench.engine.kill(id);
            assertEquals(List.of(), FreezerKind.left(id, null), "control groups that nobody would remove");
        }
    }

    // As a criu leaves it whose caller was killed.
    private static HostProcess restoredByNobody(StageBench bench, StageId id) throws Exception {
        HostProcess init = init(bench, id);
        Path logs = Files.createDirectories(folder(bench, id).logs());
        Files.writeString(logs.resolve("restore.pid"), Long.toString(init.pid()));
        folder(bench, id).change(r -> r.withState(State.RESUMING).withInit(null));
        return init;
    }

    @Test
    void aResumeElsewhereBeforeItsFirstRecordAndOneBackWithTheNewerImage() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = StageId.create("sandbox");
            bench.engine.start(new StageSpec(id, "sandbox", bench.work, List.of(), null));
            bench.engine.suspend(id, bench.archive(id), bench.key);
            Path elsewhere = bench.folder.resolve("elsewhere");
            Engine other = Engines.direct(elsewhere, new CriuSearch(), null, new LocalImages(true, 0), true);
            new StageFolder(elsewhere.resolve("stages").resolve(id.value())).create();
            other.resume(bench.archive(id), bench.key);
            Path newer = bench.folder.resolve("newer.image");
            other.suspend(id, newer, bench.key);
            other.forget(id);
            assertEquals(Tier.ARCHIVE, bench.engine.resume(newer, bench.key).tier());
            assertEquals(State.RUNNING, bench.engine.status(id).state());
            assertEquals(2, bench.engine.status(id).suspensions());
            bench.engine.suspend(id, bench.folder.resolve("newest.image"), bench.key);
            EngineException old =
                    assertThrows(EngineException.class, () -> bench.engine.resume(bench.archive(id), bench.key));
            assertEquals(FailureReason.IMAGE_OUTDATED, old.reason());
        }
    }

    @Test
    void aKillEndsTheDumpThatSomebodyLeft() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script(TICKS).id();
            bench.engine.freeze(id, FreezeRequest.plain());
            // It ends as criu does, when it may write no more.
            Process dumper =
                    new ProcessBuilder("/bin/sh", "-c", "while :; do echo >'" + bench.work + "/out'; done").start();
            HostProcess known = HostProcess.of(dumper.pid()).orElseThrow();
            folder(bench, id).change(r -> r.withFreezing(r.freezing().withDumper(known)));
            bench.engine.kill(id);
            assertFalse(known.alive());
            assertEquals(State.KILLED, bench.engine.status(id).state());
        }
    }

    @Test
    void twoSuspensionsIntoOneFile() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId one = bench.script(TICKS).id();
            StageId two = bench.script("a=$(head -c 40000 /dev/urandom | od); " + TICKS)
                    .id();
            StageBench.until(
                    "output",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(two).output()) > 0);
            Path archive = bench.folder.resolve("both.image");
            for (StageId id : List.of(one, two)) {
                bench.engine.freeze(id, FreezeRequest.plain());
                bench.engine.dump(id, archive, bench.key, IfDumpFails.THAW);
            }
            EngineException lost = assertThrows(EngineException.class, () -> bench.engine.commit(one));
            assertEquals(FailureReason.IMAGE_MISSING, lost.reason());
            bench.engine.thaw(one);
            runsOn(bench, one);
            bench.engine.commit(two);
            bench.engine.resume(archive, bench.key);
            runsOn(bench, two);
        }
    }

    @Test
    void aRecordThatCannotBeReadHidesNoOtherStage() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId broken = bench.script(TICKS).id();
            StageId whole = bench.script(TICKS).id();
            HostProcess init = init(bench, broken);
            Files.writeString(folder(bench, broken).path().resolve("stage.json"), "");
            assertEquals(
                    List.of(whole),
                    bench.engine.list().stream().map(s -> s.id()).toList());
            EngineException runs = assertThrows(EngineException.class, () -> bench.engine.forget(broken));
            assertEquals(FailureReason.STAGE_RUNS, runs.reason());
            bench.engine.kill(broken);
            StageBench.until("its end", SOON, () -> !init.alive());
            bench.engine.forget(broken);
            assertFalse(Files.exists(folder(bench, broken).path()));
        }
    }

    @Test
    void aRestoreWithoutAControlGroupWhoseCriuWasKilled() throws Exception {
        Path criu = Files.createTempFile("criu", ".sh");
        Path real = new CriuSearch().usable().map(c -> c.program()).orElse(Path.of("/bin/false"));
        String mark = Long.toString(4_000_000 + ProcessHandle.current().pid());
        Files.writeString(
                criu,
                "#!/bin/sh\nif [ \"$1\" = restore ]; then\n"
                        + "unshare --pid --fork sh -c 'rm \"$0.made\"; exec sleep " + mark + "' \"$0\" &\n"
                        + "while [ -e \"$0.made\" ]; do sleep 0.05; done; sleep 0.2; kill -9 $$\nfi\nexec '" + real
                        + "' \"$@\"\n");
        assertTrue(criu.toFile().setExecutable(true));
        Files.createFile(Path.of(criu + ".made"));
        try (StageBench bench = StageBench.open(FreezerKind.SIGNALS, null)) {
            StageId id = bench.script(TICKS).id();
            bench.engine.suspend(id, bench.archive(id), bench.key);
            Engine failing = Engines.direct(
                    bench.folder.resolve("home"),
                    new CriuSearch(List.of(criu)),
                    FreezerKind.SIGNALS,
                    LocalImages.of(Map.of()),
                    true);
            StageBench.delete(folder(bench, id).images());
            EngineException e = assertThrows(EngineException.class, () -> failing.resume(bench.archive(id), bench.key));
            assertEquals(FailureReason.CRIU_KILLED, e.reason(), e::toString);
            StageBench.until(
                    "nothing is left of it",
                    SOON,
                    () -> Proc.all().stream()
                            .noneMatch(s -> Proc.arguments(s.pid()).equals(List.of("sleep", mark))));
            bench.engine.resume(bench.archive(id), bench.key);
            runsOn(bench, id);
        } finally {
            Files.delete(criu);
        }
    }
}
