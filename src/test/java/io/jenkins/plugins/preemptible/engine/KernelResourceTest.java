package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.KernelPrograms.Resource;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.compat.CompatibilityTable;
import io.jenkins.plugins.preemptible.engine.compat.Part;
import io.jenkins.plugins.preemptible.engine.compat.ProgramTrial;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * One small program per resource of the kernel, in the manner of CRIU's own test suite.
 *
 * <ol>
 *   <li>Each runs once undisturbed, and must pass: otherwise nothing that follows says anything.
 *   <li>Then each is a stage, suspended and resumed, some of them twice, and has to find its resource as it was.
 *   <li>One that cannot be carried over must be refused, and has to go on as if nothing had happened.
 * </ol>
 */
@Tag("host")
@ExtendWith(CompatibilityTable.class)
class KernelResourceTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    /** Most of the time of a cycle is waiting for the disk and for the kernel. */
    private static final int AT_ONCE = 3;

    private static StageBench bench;
    private static KernelPrograms programs;
    private static ExecutorService workers;

    /** A third of them twice, all of them where docs/compatibility.md is written. */
    private static int cycles(Resource resource) {
        boolean everyOne = System.getProperty(CompatibilityTable.FILE) != null;
        return everyOne || Math.floorMod(resource.name().hashCode(), 3) == 0 ? 2 : 1;
    }

    @BeforeAll
    static void compile() throws IOException {
        bench = StageBench.open();
        programs = KernelPrograms.compile(bench.folder);
        workers = Executors.newFixedThreadPool(AT_ONCE);
    }

    @AfterAll
    static void close() throws Exception {
        if (workers != null) {
            workers.shutdownNow();
            workers.awaitTermination(60, TimeUnit.SECONDS);
        }
        if (bench != null) {
            bench.close();
        }
    }

    private interface Run {
        void of(Resource resource) throws Exception;
    }

    /** The work is done by the workers; each test waits for its own. */
    private static Stream<DynamicTest> each(Run run) {
        List<DynamicTest> tests = new ArrayList<>();
        for (Resource resource : programs.resources()) {
            Future<Void> done = workers.submit(() -> {
                run.of(resource);
                return null;
            });
            tests.add(DynamicTest.dynamicTest(
                    resource.name() + ": " + resource.family() + ", " + resource.title(), () -> {
                        try {
                            done.get();
                        } catch (ExecutionException e) {
                            throw e.getCause();
                        }
                    }));
        }
        return tests.stream();
    }

    @TestFactory
    Stream<DynamicTest> undisturbed() {
        return each(KernelResourceTest::runUndisturbed);
    }

    @TestFactory
    Stream<DynamicTest> suspendedAndResumed() {
        return each(r -> ProgramTrial.run(
                Part.KERNEL_RESOURCES, r.family() + ": " + r.title(), r.name(), trial -> runSuspended(r, trial)));
    }

    private static void runUndisturbed(Resource resource) throws Exception {
        Path work = Files.createDirectories(bench.work.resolve("undisturbed/" + resource.name()));
        Process process = new ProcessBuilder(
                        "unshare",
                        "--ipc",
                        "--pid",
                        "--mount-proc",
                        "--fork",
                        "--kill-child",
                        "setsid",
                        "--wait",
                        "--",
                        // An init that reaps orphans, as that of a stage is.
                        "sh",
                        "-c",
                        "\"$@\"; exit $?",
                        "init",
                        programs.program().toString(),
                        resource.name())
                .directory(work.toFile())
                .redirectErrorStream(true)
                .redirectOutput(work.resolve("output").toFile())
                .redirectInput(new File("/dev/null"))
                .start();
        try {
            StageBench.until(
                    resource.name() + " to be ready", SOON, () -> KernelPrograms.ready(work) || !process.isAlive());
            Files.createFile(work.resolve("go"));
            assertTrue(process.waitFor(SOON.toSeconds(), TimeUnit.SECONDS), "it does not end");
            assertPassed("", KernelPrograms.result(work));
        } finally {
            process.destroyForcibly();
        }
    }

    private static void runSuspended(Resource resource, ProgramTrial trial) throws Exception {
        Path work = Files.createDirectories(bench.work.resolve("suspended/" + resource.name()));
        StageId id = bench.engine
                .start(new StageSpec(
                        StageId.create("test-" + resource.name()),
                        resource.name(),
                        work,
                        List.of(programs.program().toString(), resource.name()),
                        null))
                .id();
        try {
            StageBench.until(resource.name() + " to be ready", SOON, unlessOver(id, () -> KernelPrograms.ready(work)));
            if (Files.exists(work.resolve("ready"))) {
                if (resource.refused().isEmpty()) {
                    cycle(resource, id, trial);
                } else {
                    refuse(resource, id, trial);
                }
            }
            Files.createFile(work.resolve("go"));
            StageBench.until(resource.name() + " to end", SOON, unlessOver(id, () -> KernelPrograms.ended(work)));
            assertPassed(resource.lost(), KernelPrograms.result(work));
            if (!resource.lost().isEmpty()) {
                trial.lost(resource.lost());
            }
        } finally {
            bench.engine.kill(id);
            bench.engine.forget(id);
            Files.deleteIfExists(bench.archive(id));
        }
    }

    private static void cycle(Resource resource, StageId id, ProgramTrial trial) {
        try {
            for (int i = 0; i < cycles(resource); i++) {
                // Asks for so much memory that somebody waits for the dump: else it would yield to every other process.
                bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, Long.MAX_VALUE));
                trial.suspended(bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.THAW));
                bench.engine.commit(id);
                bench.engine.resume(bench.archive(id), bench.key);
                trial.resumed();
            }
        } catch (EngineException e) {
            throw new AssertionError(e.getMessage() + " " + e.criuLines(), e);
        }
    }

    private static void refuse(Resource resource, StageId id, ProgramTrial trial) {
        SuspendFailedException refused = assertThrows(
                SuspendFailedException.class, () -> bench.engine.suspend(id, bench.archive(id), bench.key));
        assertTrue(
                List.of(resource.refused().split("\\|"))
                        .contains(refused.reason().name()),
                () -> refused + " " + refused.criuLines());
        assertTrue(
                bench.engine.preflight(id).obstacles().stream().anyMatch(l -> l.reason() == refused.reason()),
                () -> refused.reason() + " is found before anything is stopped");
        trial.refused(refused.reason().sentence());
    }

    private static void assertPassed(String lost, String result) {
        assumeTrue(!result.startsWith("skip: "), () -> result.substring("skip: ".length()));
        assertEquals(lost.isEmpty() ? "pass" : "fail: " + lost, result);
    }

    /** Asks for the file often, and seldom for the stage, whose record and processes have to be read for it. */
    private static BooleanSupplier unlessOver(StageId id, BooleanSupplier condition) {
        AtomicInteger asked = new AtomicInteger();
        return () -> condition.getAsBoolean()
                || asked.incrementAndGet() % 50 == 0
                        && EnumSet.of(State.ENDED, State.FAILED, State.KILLED)
                                .contains(bench.engine.status(id).state());
    }
}
