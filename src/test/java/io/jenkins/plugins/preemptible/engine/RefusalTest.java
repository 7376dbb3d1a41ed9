package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.home.LocalImages;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** What cannot be done is refused in one sentence, and the stage is as before. */
@Tag("host")
class RefusalTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    private static EngineException refused(FailureReason reason, Executable call) {
        EngineException e = assertThrows(EngineException.class, call);
        assertEquals(reason, e.reason(), e::toString);
        assertTrue(e.getMessage().startsWith(reason.sentence()), e::getMessage);
        assertTrue(e.getMessage().endsWith(reason.remedy() + "."), e::getMessage);
        if (e.getCause() instanceof ImageException image) {
            assertTrue(e.getMessage().contains(image.finding()), e::getMessage);
            assertFalse(
                    e.getMessage().contains(image.reason().remedy()), () -> "one remedy is enough: " + e.getMessage());
        }
        return e;
    }

    private static void stillRuns(StageBench bench, StageId id) throws Exception {
        assertEquals(State.RUNNING, bench.engine.status(id).state());
        long lines = bench.output(id).size();
        StageBench.until(
                "more output",
                SOON,
                () -> StageBench.lines(bench.engine.status(id).output()) > lines + 2);
        assertFalse(Files.exists(bench.archive(id)), "no archive is left");
        try (var files = Files.list(bench.folder.resolve("home/stages").resolve(id.value()))) {
            assertFalse(files.anyMatch(p -> p.getFileName().toString().equals("images")), "no images are left");
        }
    }

    private static final String TICKS = "while :; do echo tick; sleep 0.05; done";

    @Test
    void aTracedTree() throws Exception {
        assumeTrue(HostTool.find("strace").isPresent(), "strace is not installed");
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.start("strace", "-f", "-o", "/dev/null", "/bin/sh", "-c", TICKS)
                    .id();
            StageBench.until(
                    "output",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(id).output()) > 2);
            refused(FailureReason.TRACED, () -> bench.engine.suspend(id, bench.archive(id), bench.key));
            stillRuns(bench, id);
        }
    }

    @Test
    void aConnectionToTheOutside() throws Exception {
        assumeTrue(HostTool.find("bash").isPresent(), "bash is not installed");
        try (StageBench bench = StageBench.open();
                ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
            StageId id = bench.start("bash", "-c", "exec 7<>/dev/tcp/127.0.0.1/" + server.getLocalPort() + "; " + TICKS)
                    .id();
            StageBench.until(
                    "output",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(id).output()) > 2);
            refused(FailureReason.CONNECTED_TCP, () -> bench.engine.suspend(id, bench.archive(id), bench.key));
            stillRuns(bench, id);
        }
    }

    @Test
    void anObjection() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script(TICKS).id();
            EngineException e = assertThrows(
                    EngineException.class, () -> bench.dump(id, s -> Optional.of("a withCredentials step is open")));
            assertEquals(FailureReason.OBJECTION, e.reason());
            assertTrue(e.getMessage().contains("withCredentials"), e::getMessage);
            stillRuns(bench, id);
            assertThrows(
                    EngineException.class,
                    () -> bench.dump(id, s -> {
                        throw new IllegalStateException("broken guard");
                    }));
            stillRuns(bench, id);
        }
    }

    @Test
    void aFullDisk() throws Exception {
        Path disk = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-disk");
        HostTool.Answer mounted =
                HostTool.run(10, List.of("mount", "-t", "tmpfs", "-o", "size=3m", "none", disk.toString()));
        try {
            assumeTrue(mounted.ok(), () -> "no tmpfs can be mounted: " + mounted.text());
            try (StageBench bench = StageBench.open()) {
                // The archive's disk is full; data that does not compress.
                StageId id = bench.start("bash", "-c", "x=$(head -c 6000000 /dev/urandom | base64 -w 0); " + TICKS)
                        .id();
                StageBench.until(
                        "output",
                        SOON,
                        () -> StageBench.lines(bench.engine.status(id).output()) > 2);
                EngineException there = refused(
                        FailureReason.NO_SPACE, () -> bench.engine.suspend(id, disk.resolve("a.image"), bench.key));
                assertTrue(there.getMessage().contains(disk + ": the image may take "), there::getMessage);
                assertTrue(there.getMessage().contains("another folder"), there::getMessage);
                stillRuns(bench, id);
                try (var files = Files.list(disk)) {
                    assertEquals(List.of(), files.toList());
                }
            }
            try (StageBench bench = StageBench.open(null, disk.resolve("home"))) {
                // The disk of CRIU's own images is full.
                Path out = bench.work.resolve("ticks");
                StageId id = bench.start(
                                "bash",
                                "-c",
                                "x=$(head -c 6000000 /dev/urandom | base64 -w 0); exec >'" + out + "'; " + TICKS)
                        .id();
                StageBench.until("output", SOON, () -> StageBench.lines(out) > 2);
                EngineException here =
                        refused(FailureReason.NO_SPACE, () -> bench.engine.suspend(id, bench.archive(id), bench.key));
                assertTrue(here.getMessage().contains(disk.resolve("home").toString()), here::getMessage);
                assertTrue(here.getMessage().contains("free are "), here::getMessage);
                assertFalse(here.getMessage().contains("another folder"), here::getMessage);
                assertEquals(State.RUNNING, bench.engine.status(id).state());
                long lines = StageBench.lines(out);
                StageBench.until("more output", SOON, () -> StageBench.lines(out) > lines + 2);
                assertFalse(Files.exists(
                        disk.resolve("home/stages").resolve(id.value()).resolve("images")));
            }
        } finally {
            if (mounted.ok()) {
                // A stage's launcher, outside of it, ends a moment after it and keeps a file open until then.
                StageBench.until(
                        "the disk is free",
                        SOON,
                        () -> HostTool.run(10, List.of("umount", disk.toString()))
                                .ok());
            }
            Files.delete(disk);
        }
    }

    @Test
    void idsAndStatesThatDoNotFit() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId none = StageId.parse("no-such-stage");
            for (Executable call : List.<Executable>of(
                    () -> bench.engine.status(none),
                    () -> bench.engine.suspend(none, bench.archive(none), bench.key),
                    () -> bench.engine.commit(none),
                    () -> bench.engine.thaw(none),
                    () -> bench.engine.kill(none),
                    () -> bench.engine.await(none),
                    () -> bench.engine.forget(none),
                    () -> bench.engine.enterCommand(none))) {
                refused(FailureReason.UNKNOWN_STAGE, call);
            }
            StageId ended = bench.script("exit 0").id();
            assertEquals(0, bench.engine.await(ended));
            refused(FailureReason.STAGE_ENDED, () -> bench.engine.suspend(ended, bench.archive(ended), bench.key));
            refused(FailureReason.STAGE_ENDED, () -> bench.engine.enterCommand(ended));
            StageId id = bench.script(TICKS).id();
            refused(FailureReason.NO_CHECKPOINT, () -> bench.engine.commit(id));
            refused(FailureReason.NO_CHECKPOINT, () -> bench.engine.thaw(id));
            refused(FailureReason.STAGE_RUNS, () -> bench.engine.forget(id));
            refused(
                    FailureReason.BAD_FOLDER,
                    () -> bench.engine.suspend(id, bench.folder.resolve("not/there"), bench.key));
            refused(
                    FailureReason.BAD_SPEC,
                    () -> bench.engine.start(new StageSpec(id, "again", bench.work, List.of("true"), null)));
            refused(
                    FailureReason.BAD_SPEC,
                    () -> bench.engine.start(new StageSpec(
                            StageId.create("x"), "x", bench.work.resolve("none"), List.of("true"), null)));
            stillRuns(bench, id);
        }
    }

    @Test
    void imagesThatDoNotFit() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script(TICKS).id();
            bench.engine.suspend(id, bench.archive(id), bench.key);
            Path first = Files.copy(bench.archive(id), bench.folder.resolve("first.image"));
            refused(FailureReason.IMAGE_UNUSABLE, () -> bench.engine.resume(first, ImageKey.generate()));
            refused(FailureReason.IMAGE_MISSING, () -> bench.engine.resume(bench.folder.resolve("none"), bench.key));
            assertEquals(State.SUSPENDED, bench.engine.status(id).state());
            bench.engine.resume(first, bench.key);
            refused(FailureReason.STAGE_RUNS, () -> bench.engine.resume(first, bench.key));
            bench.engine.suspend(id, bench.archive(id), bench.key);
            refused(FailureReason.IMAGE_OUTDATED, () -> bench.engine.resume(first, bench.key));
            // What the stage had open is gone: nothing runs afterwards, and it works once that is mended.
            Path output = bench.engine.status(id).output();
            Path aside = Files.move(output, bench.folder.resolve("aside"));
            refused(FailureReason.PATH_MISSING, () -> bench.engine.resume(bench.archive(id), bench.key));
            assertEquals(State.SUSPENDED, bench.engine.status(id).state());
            assertFalse(Proc.tree(1).stream()
                    .anyMatch(s -> Proc.commandLine(s.pid()).contains(id.value())
                            && s.comm().equals("criu")));
            Files.move(aside, output);
            bench.engine.resume(bench.archive(id), bench.key);
            assertEquals(State.RUNNING, bench.engine.status(id).state());
            bench.engine.suspend(id, bench.archive(id), bench.key);
            bench.engine.kill(id);
            refused(FailureReason.KILLED, () -> bench.engine.resume(bench.archive(id), bench.key));
        }
    }

    @Test
    void aHostWithoutCriu() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script(TICKS).id();
            Path home = bench.folder.resolve("home");
            Engine without = Engines.direct(
                    home,
                    new CriuSearch(List.of(bench.folder.resolve("no-criu"))),
                    null,
                    LocalImages.of(Map.of()),
                    true);
            refused(FailureReason.CRIU_MISSING, () -> without.suspend(id, bench.archive(id), bench.key));
            assertFalse(without.check().ok());
            assertTrue(without.check().items().stream()
                    .anyMatch(i ->
                            i.name().equals("criu") && !i.ok() && i.remedy().equals(".ci/setup")));
            Engine unusable = Engines.direct(
                    home, new CriuSearch(List.of(Path.of("/bin/false"))), null, LocalImages.of(Map.of()), true);
            refused(FailureReason.CRIU_UNUSABLE, () -> unusable.suspend(id, bench.archive(id), bench.key));
            stillRuns(bench, id);
            bench.engine.suspend(id, bench.archive(id), bench.key);
            refused(FailureReason.CRIU_MISSING, () -> without.resume(bench.archive(id), bench.key));
            assertEquals(State.SUSPENDED, without.status(id).state());
        }
    }

    @Test
    void aSecondSuspensionAtTheSameTime() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.script(TICKS).id();
            bench.dump(id, same -> {
                refused(
                        FailureReason.STAGE_BUSY,
                        () -> bench.engine.suspend(same, bench.folder.resolve("b"), bench.key));
                return Optional.empty();
            });
            refused(FailureReason.STAGE_BUSY, () -> bench.engine.suspend(id, bench.folder.resolve("b"), bench.key));
            bench.engine.commit(id);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
