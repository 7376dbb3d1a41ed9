package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.cli.Preempt;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Things go wrong at every phase of a suspension and a resume: the stage runs on or its image is whole, never neither.
 *
 * <p>What a killed criu may do to the process that it is inside of is told in docs/checkpointing.md; those kills are
 * counted here, and the engine has to tell of each.
 */
@Tag("host")
class FaultTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    private static final int ROUNDS = Integer.getInteger("preemptible.rounds", 5);

    /**
     * Three processes that count in their memory and tell of it; 20 MB so that the dump takes a moment. None of them ever
     * ends by itself, a sleep neither: one that is gone was lost.
     */
    private static final String STAGE = "x=$(head -c 8000000 /dev/urandom | base64 -w 0);"
            + " rm -f pause; mkfifo pause; exec 9<>pause;"
            + " for n in 1 2; do (i=0; while :; do i=$((i+1)); echo $n $i; read -t 0.02 -u 9; done) & done; wait";

    /** Where a dump and its followers can be hit: what shows that the phase has come. */
    private enum DumpPhase {
        SEIZING("Seizing|Seized task"),
        COLLECTING("Collecting mappings|Collecting fds"),
        INFECTING("Putting parasite blob|Set up parasite blob|Parasite syscall_ip"),
        PARASITE("Putting tsock|Wait for parasite being daemonized|Daemon waits for command"),
        PAGES("Dumping pages|page-pipe|Transferring pages"),
        REGISTERS("Dumping GP/FPU registers|Dumping core for"),
        CURING("----------------------------------------"),
        SECOND_PROCESS("Dumping task \\(pid: \\d+ comm: sleep|Dumping task.*\\n[\\s\\S]*Dumping task"),
        WRITING("Writing image inventory|Dumping shared memory|Dumping external");

        final String log;

        DumpPhase(String log) {
            this.log = log;
        }
    }

    private static StageId start(StageBench bench) {
        StageId id = bench.start("bash", "-c", STAGE).id();
        StageBench.until(
                "output", SOON, () -> StageBench.lines(bench.engine.status(id).output()) > 4);
        return id;
    }

    private static StageFolder folder(StageBench bench, StageId id) {
        return new StageFolder(bench.folder.resolve("home/stages").resolve(id.value()));
    }

    /** Both counters go on, none skips or repeats a number, and nothing is left behind. */
    private static void runsOn(StageBench bench, StageId id, String when) throws Exception {
        assertEquals(State.RUNNING, bench.engine.status(id).state(), when);
        for (int n = 1; n <= 2; n++) {
            int counter = n;
            int before = counted(bench, id, counter, when);
            StageBench.until(
                    "counter " + n + " goes on, " + when, SOON, () -> counted(bench, id, counter, when) > before + 1);
        }
        assertFalse(Files.exists(folder(bench, id).images()), when + ": no images are left");
        try (var left = Files.list(bench.folder)) {
            assertFalse(left.anyMatch(p -> p.toString().endsWith(".partial")), when + ": no half archive is left");
        }
    }

    private static int counted(StageBench bench, StageId id, int counter, String when) {
        try {
            int last = 0;
            for (String line : bench.output(id)) {
                if (line.matches(counter + " \\d+")) {
                    int next = Integer.parseInt(line.substring(2));
                    assertEquals(last + 1, next, when);
                    last = next;
                }
            }
            return last;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Whatever became of a suspension: the stage runs, or its image brings it back. */
    private static void neverNeither(StageBench bench, StageId id, String when) throws Exception {
        State state = bench.engine.status(id).state();
        if (state == State.SUSPENDED) {
            bench.engine.resume(bench.archive(id), bench.key);
        } else if (state == State.SUSPENDING) {
            bench.engine.thaw(id);
        }
        runsOn(bench, id, when + ", was " + state);
    }

    private static Optional<Long> criu(StageId id, String verb) {
        return Proc.tree(1).stream()
                .filter(s -> s.comm().equals("criu") && !s.zombie())
                .map(Proc.Stat::pid)
                .filter(p -> Proc.commandLine(p).contains("criu " + verb + " ")
                        && Proc.commandLine(p).contains(id.value()))
                .min(Long::compare);
    }

    private static void noCriuIsLeft(StageId id, String when) {
        StageBench.until(
                "no criu is left, " + when, SOON, () -> criu(id, "dump").isEmpty());
    }

    private static String log(StageBench bench, StageId id, String name) {
        try {
            return new String(Files.readAllBytes(folder(bench, id).logs().resolve(name)), StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            return "";
        }
    }

    private static CompletableFuture<EngineException> failing(Runnable verb) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                verb.run();
                return null;
            } catch (EngineException e) {
                return e;
            }
        });
    }

    private static EngineException outcome(CompletableFuture<EngineException> verb) throws Exception {
        return verb.get(SOON.toSeconds(), TimeUnit.SECONDS);
    }

    @Test
    @Tag("soak")
    void criuIsKilledAtEachPhaseOfADump() throws Exception {
        int hits = 0;
        int lost = 0;
        Path talkative = Files.createTempFile("criu", ".sh");
        Optional<Criu> criu = new CriuSearch().usable();
        assumeTrue(criu.isPresent(), "there is no usable criu");
        Files.writeString(talkative, "#!/bin/sh\nexec '" + criu.get().program() + "' \"$@\" -v4\n");
        assertTrue(talkative.toFile().setExecutable(true));
        try (StageBench bench = StageBench.openWith(new CriuSearch(List.of(talkative)))) {
            StageId id = start(bench);
            for (int round = 0; round < ROUNDS; round++) {
                for (DumpPhase phase : DumpPhase.values()) {
                    StageId victim = id;
                    Files.deleteIfExists(folder(bench, id).logs().resolve("dump.log"));
                    bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, Long.MAX_VALUE));
                    var dump = failing(
                            () -> bench.engine.dump(victim, bench.archive(victim), bench.key, IfDumpFails.THAW));
                    Pattern seen = Pattern.compile(phase.log);
                    while (!dump.isDone()
                            && !seen.matcher(log(bench, id, "dump.log")).find()) {
                        Thread.onSpinWait();
                    }
                    criu(id, "dump").ifPresent(pid -> LibC.kill(pid, LibC.SIGKILL));
                    EngineException e = outcome(dump);
                    if (e == null) {
                        bench.engine.thaw(id);
                    } else {
                        hits++;
                        assertEquals(FailureReason.CRIU_KILLED, e.reason(), phase + ": " + e);
                    }
                    noCriuIsLeft(id, phase.name());
                    if (e != null && e.detail().contains("ended meanwhile")) {
                        lost++;
                        System.out.println(phase + ": " + e.getMessage());
                        bench.engine.kill(id);
                        id = start(bench);
                    } else {
                        runsOn(bench, id, "after " + phase);
                    }
                }
            }
            // It can be suspended as ever.
            bench.engine.suspend(id, bench.archive(id), bench.key);
            bench.engine.resume(bench.archive(id), bench.key);
            runsOn(bench, id, "in the end");
        }
        Files.delete(talkative);
        System.out.println("criu was killed " + hits + " times in mid-dump; it took a process of the stage along "
                + lost + " times");
        assertTrue(hits > ROUNDS, "the kills come too late: " + hits);
    }

    private void criuIsKilledInARestore(int rounds, int slices) throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = start(bench);
            int hits = 0;
            for (int i = 0; i < rounds * slices; i++) {
                StageId victim = id;
                boolean local = i % 2 == 0;
                bench.engine.suspend(id, bench.archive(id), bench.key);
                if (!local) {
                    StageBench.delete(folder(bench, id).images());
                }
                AtomicReference<ResumeReport> report = new AtomicReference<>();
                var resume = failing(() -> report.set(bench.engine.resume(bench.archive(victim), bench.key)));
                while (!resume.isDone() && criu(id, "restore").isEmpty()) {
                    Thread.onSpinWait();
                }
                Thread.sleep(8L * (i % slices));
                // The first criu alone: a local image that fails falls back to the archive with a second one.
                criu(id, "restore").ifPresent(pid -> LibC.kill(pid, LibC.SIGKILL));
                EngineException e = outcome(resume);
                if (e != null) {
                    hits++;
                    assertEquals(State.SUSPENDED, bench.engine.status(id).state(), e::toString);
                    bench.engine.resume(bench.archive(id), bench.key);
                } else if (local && report.get().tier() == Tier.ARCHIVE) {
                    hits++;
                }
                runsOn(bench, id, "slice " + i % slices);
            }
            System.out.println("criu was killed in mid-restore, and the archive was needed again, " + hits + " times");
            assertTrue(hits >= rounds, "the kills come too late: " + hits);
        }
    }

    @Test
    @Tag("soak")
    void criuIsKilledAtTenPointsOfARestore() throws Exception {
        criuIsKilledInARestore(ROUNDS, 10);
    }

    @Test
    void criuIsKilledInARestoreOnce() throws Exception {
        criuIsKilledInARestore(1, 2);
    }

    @Test
    void theArchivesTargetIsGoneAtEachPhase() throws Exception {
        theArchivesTargetIsGone(1);
    }

    @Test
    @Tag("soak")
    void theArchivesTargetIsGoneAtEachPhaseOverAndOver() throws Exception {
        theArchivesTargetIsGone(ROUNDS);
    }

    private void theArchivesTargetIsGone(int rounds) throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = start(bench);
            for (int i = 0; i < rounds; i++) {
                // Before the dump, while criu works, while it is packed, and when it is sealed.
                for (String phase : List.of("frozen", "dumping", "packing", "sealed")) {
                    Path target = Files.createDirectory(bench.folder.resolve("target"));
                    Path archive = target.resolve("a.image");
                    bench.engine.freeze(id, FreezeRequest.plain());
                    if (phase.equals("frozen")) {
                        StageBench.delete(target);
                    }
                    var dump = failing(() -> bench.engine.dump(id, archive, bench.key, IfDumpFails.THAW));
                    StageBench.until(
                            phase,
                            SOON,
                            () -> dump.isDone()
                                    || switch (phase) {
                                        case "frozen" -> true;
                                        case "dumping" -> criu(id, "dump").isPresent();
                                        case "packing" -> Files.exists(target.resolve("a.image.partial"));
                                        default -> Files.exists(archive);
                                    });
                    if (phase.equals("sealed")) {
                        assertEquals(null, outcome(dump));
                    }
                    deleteFast(target);
                    EngineException e = outcome(dump);
                    if (e == null) {
                        EngineException missing = outcome(failing(() -> bench.engine.commit(id)));
                        assertEquals(FailureReason.IMAGE_MISSING, missing.reason(), phase);
                        bench.engine.thaw(id);
                    }
                    runsOn(bench, id, "target gone while " + phase);
                    assertFalse(Files.exists(target), phase);
                }
            }
        }
    }

    private static void deleteFast(Path folder) throws IOException {
        for (int i = 0; i < 100 && Files.exists(folder); i++) {
            try {
                StageFolder.delete(folder);
            } catch (IOException | java.io.UncheckedIOException e) {
                // A file came or went meanwhile.
            }
        }
    }

    @Test
    void aStageStaysFrozenWhereTheCallerWantsIt() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = start(bench);
            bench.engine.freeze(id, FreezeRequest.plain());
            Path nowhere = bench.folder.resolve("not/there");
            EngineException e =
                    outcome(failing(() -> bench.engine.dump(id, nowhere, bench.key, IfDumpFails.STAY_FROZEN)));
            assertEquals(FailureReason.BAD_FOLDER, e.reason());
            assertEquals(State.SUSPENDING, bench.engine.status(id).state());
            long lines = bench.output(id).size();
            // Dumped again, the tree is as it was at the freeze.
            bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN);
            assertEquals(lines, bench.output(id).size());
            bench.engine.commit(id);
            bench.engine.resume(bench.archive(id), bench.key);
            runsOn(bench, id, "after a second dump");
        }
    }

    @Test
    void anInterruptedDumpLeavesTheStageRunning() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = start(bench);
            for (String phase : List.of("dumping", "packing")) {
                boolean interrupted = false;
                for (int i = 0; i < 5 && !interrupted; i++) {
                    List<FailureReason> reasons = new ArrayList<>();
                    Thread thread = new Thread(() -> {
                        try {
                            bench.engine.suspend(id, bench.archive(id), bench.key);
                        } catch (EngineException e) {
                            reasons.add(e.reason());
                        }
                    });
                    thread.start();
                    StageBench.until(
                            phase,
                            SOON,
                            () -> !thread.isAlive()
                                    || (phase.equals("dumping")
                                            ? criu(id, "dump").isPresent()
                                            : Files.exists(Path.of(bench.archive(id) + ".partial"))));
                    thread.interrupt();
                    thread.join(SOON.toMillis());
                    assertFalse(thread.isAlive(), phase);
                    noCriuIsLeft(id, phase);
                    // What criu and what the packing is given up with; anything else came too late.
                    interrupted =
                            reasons.contains(FailureReason.CRIU_FAILED) || reasons.contains(FailureReason.GOES_ON);
                    String when = "interrupted while " + phase + " " + reasons;
                    if (interrupted) {
                        runsOn(bench, id, when);
                    } else {
                        neverNeither(bench, id, when);
                    }
                }
                assertTrue(interrupted, "no interrupt ended a suspension that was " + phase);
            }
        }
    }

    @Tag("slow")
    @Test
    void anotherProcessGoesOnWhereOneWasKilled() throws Exception {
        aCommandIsKilled(1, 1);
    }

    @Test
    @Tag("soak")
    void anotherProcessGoesOnWhereOneWasKilledAtTenPoints() throws Exception {
        aCommandIsKilled(ROUNDS, 10);
    }

    /** The whole command line is killed: its criu is an orphan then, and the next command has to cope with it. */
    private void aCommandIsKilled(int rounds, int slices) throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = start(bench);
            Path key = bench.folder.resolve("key");
            ImageKey made = ImageKey.ofFile(key);
            long typical = 0;
            for (int i = -1; i < rounds * slices; i++) {
                for (String verb : List.of("suspend", "resume")) {
                    List<String> command = verb.equals("suspend")
                            ? List.of(
                                    "suspend",
                                    id.value(),
                                    "--to",
                                    bench.archive(id).toString(),
                                    "--key-file",
                                    key.toString())
                            : List.of("resume", "--from", bench.archive(id).toString(), "--key-file", key.toString());
                    if (verb.equals("resume")) {
                        if (bench.engine.status(id).state() == State.RUNNING) {
                            Files.deleteIfExists(bench.archive(id));
                            bench.engine.suspend(id, bench.archive(id), made);
                        }
                        if (i % 2 == 0) {
                            StageBench.delete(folder(bench, id).images());
                        }
                    }
                    Process process = commandLine(bench, command);
                    State before = verb.equals("suspend") ? State.RUNNING : State.SUSPENDED;
                    StageBench.until(
                            verb + " to begin",
                            SOON,
                            () -> !process.isAlive() || bench.engine.status(id).state() != before);
                    long begun = System.nanoTime();
                    if (i < 0) {
                        // How long it takes when nobody kills it.
                        process.waitFor(SOON.toSeconds(), TimeUnit.SECONDS);
                        typical = Math.max(typical, System.nanoTime() - begun);
                    } else {
                        TimeUnit.NANOSECONDS.sleep(typical * (i % slices) / slices);
                    }
                    process.destroyForcibly().waitFor();
                    String when = verb + " killed at slice " + i % slices;
                    if (verb.equals("suspend")) {
                        State state = bench.engine.status(id).state();
                        assertTrue(
                                List.of(State.RUNNING, State.SUSPENDING, State.SUSPENDED)
                                        .contains(state),
                                when + state);
                        if (state == State.SUSPENDING && i % 2 == 0) {
                            // Not thawed but suspended again by the next process.
                            Optional<EngineException> refused = Optional.ofNullable(
                                    outcome(failing(() -> bench.engine.suspend(id, bench.archive(id), made))));
                            refused.ifPresent(e -> assertEquals(FailureReason.STAGE_BUSY, e.reason(), when + e));
                        }
                        state = bench.engine.status(id).state();
                        if (state == State.SUSPENDING) {
                            bench.engine.resumeHere(id).orElseThrow();
                        } else if (state == State.SUSPENDED) {
                            bench.engine.resume(bench.archive(id), made);
                        }
                    } else if (bench.engine.status(id).state() != State.RUNNING) {
                        Optional<EngineException> refused = Optional.ofNullable(
                                outcome(failing(() -> bench.engine.resume(bench.archive(id), made))));
                        // The orphaned criu came to its end between the two looks.
                        refused.ifPresent(e -> assertEquals(FailureReason.STAGE_RUNS, e.reason(), when + e));
                    }
                    noCriuIsLeft(id, when);
                    runsOn(bench, id, when);
                }
            }
        }
    }

    private static Process commandLine(StageBench bench, List<String> arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                Preempt.class.getName()));
        command.addAll(arguments);
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment()
                .put("PREEMPTIBLE_HOME", bench.folder.resolve("home").toString());
        return builder.redirectOutput(bench.folder.resolve("out").toFile())
                .redirectError(bench.folder.resolve("err").toFile())
                .start();
    }

    @Test
    @Tag("soak")
    void theDiskIsFullAtEachPhase() throws Exception {
        Path disk = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-disk");
        HostTool.Answer mounted =
                HostTool.run(10, List.of("mount", "-t", "tmpfs", "-o", "size=64m", "none", disk.toString()));
        assumeTrue(mounted.ok(), () -> "no tmpfs can be mounted: " + mounted.text());
        Path ballast = disk.resolve("ballast");
        try (StageBench bench = StageBench.open(null, disk.resolve("home"))) {
            Path out = bench.work.resolve("out");
            StageId id =
                    bench.start("bash", "-c", "exec >'" + out + "'; " + STAGE).id();
            StageBench.until("output", SOON, () -> StageBench.lines(out) > 4);
            int failed = 0;
            for (int i = 0; i < ROUNDS * 10; i++) {
                // From no room at all, through too little for criu, then for the archive, to enough for both.
                int free = new int[] {0, 1, 2, 4, 8, 12, 16, 24, 32, 40}[i % 10];
                fill(ballast, disk, free);
                EngineException e =
                        outcome(failing(() -> bench.engine.suspend(id, disk.resolve("a.image"), bench.key)));
                if (e != null) {
                    failed++;
                    assertEquals(FailureReason.NO_SPACE, e.reason(), "with " + free + " MB: " + e);
                } else {
                    // The resume needs room as well; it gets it only when it asks again.
                    fill(ballast, disk, 0);
                    EngineException full =
                            outcome(failing(() -> bench.engine.resume(disk.resolve("a.image"), bench.key)));
                    Files.deleteIfExists(ballast);
                    if (full != null) {
                        assertEquals(State.SUSPENDED, bench.engine.status(id).state(), full::toString);
                        bench.engine.resume(disk.resolve("a.image"), bench.key);
                    }
                    Files.deleteIfExists(disk.resolve("a.image"));
                }
                Files.deleteIfExists(ballast);
                assertEquals(State.RUNNING, bench.engine.status(id).state(), "with " + free + " MB");
                long lines = StageBench.lines(out);
                StageBench.until("it goes on", SOON, () -> StageBench.lines(out) > lines + 3);
                try (var left = Files.list(disk)) {
                    assertEquals(List.of(disk.resolve("home")), left.toList(), "with " + free + " MB");
                }
                assertFalse(Files.exists(
                        disk.resolve("home/stages").resolve(id.value()).resolve("images")));
            }
            assertTrue(failed >= ROUNDS * 3, "the disk was full in " + failed + " cases");
        } finally {
            StageBench.until(
                    "the disk is free",
                    SOON,
                    () -> HostTool.run(10, List.of("umount", disk.toString())).ok());
            Files.delete(disk);
        }
    }

    private static void fill(Path ballast, Path disk, int freeMb) throws IOException {
        Files.deleteIfExists(ballast);
        long size = disk.toFile().getUsableSpace() - ((long) freeMb << 20);
        HostTool.run(10, List.of("fallocate", "-l", Long.toString(Math.max(1, size)), ballast.toString()));
    }
}
