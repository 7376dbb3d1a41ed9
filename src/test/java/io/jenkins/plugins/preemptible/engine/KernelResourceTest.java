package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.KernelPrograms.Resource;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageSpec;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus.State;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * One small program per resource of the kernel, in the manner of CRIU's own test suite.
 *
 * <ol>
 *   <li>Each runs once undisturbed, and must pass: otherwise nothing that follows says anything.
 *   <li>Then each is a stage, suspended and resumed twice, and has to find its resource as it was.
 *   <li>One that cannot be carried over must be refused, and has to go on as if nothing had happened.
 * </ol>
 */
class KernelResourceTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    private static final int CYCLES = 2;
    /** Most of the time of a cycle is waiting for the disk and for the kernel. */
    private static final int AT_ONCE = 3;

    private static StageBench bench;
    private static KernelPrograms programs;
    private static ExecutorService workers;

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

    private record Planned(String name, Future<String> result) {}

    private interface Run {
        String result(Resource resource) throws Exception;
    }

    /** The work is done by the workers; each test waits for its own. */
    private static Stream<DynamicTest> each(Run run) {
        List<Planned> planned = new ArrayList<>();
        for (Resource resource : programs.resources()) {
            planned.add(new Planned(
                    resource.family() + ": " + resource.title() + " (" + resource.name() + ")",
                    workers.submit(() -> run.result(resource))));
        }
        return planned.stream().map(p -> DynamicTest.dynamicTest(p.name(), () -> {
            String result = p.result().get();
            assumeTrue(!result.startsWith("skip: "), result.replaceFirst("skip: ", ""));
            assertEquals("pass", result);
        }));
    }

    @TestFactory
    Stream<DynamicTest> undisturbed() {
        return each(KernelResourceTest::runUndisturbed);
    }

    @TestFactory
    Stream<DynamicTest> suspendedAndResumedTwice() {
        return each(KernelResourceTest::runSuspended);
    }

    private static String runUndisturbed(Resource resource) throws Exception {
        Path work = Files.createDirectories(bench.work.resolve("undisturbed/" + resource.name()));
        Process process = new ProcessBuilder(
                        "unshare", "--ipc", "--pid", "--mount-proc", "--fork", "setsid", "--wait", "--",
                        // An init that reaps orphans, as that of a stage is.
                        "sh", "-c", "\"$@\"; exit $?", "init", programs.program().toString(), resource.name())
                .directory(work.toFile())
                .redirectErrorStream(true)
                .redirectOutput(work.resolve("output").toFile())
                .redirectInput(new File("/dev/null"))
                .start();
        try {
            StageBench.until(resource.name() + " to be ready", SOON,
                    () -> KernelPrograms.ready(work) || !process.isAlive());
            Files.createFile(work.resolve("go"));
            if (!process.waitFor(SOON.toSeconds(), TimeUnit.SECONDS)) {
                return "no end";
            }
            return KernelPrograms.result(work);
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
    }

    private static String runSuspended(Resource resource) throws Exception {
        Path work = Files.createDirectories(bench.work.resolve("suspended/" + resource.name()));
        StageId id = StageId.create("test-" + resource.name().replace('_', '-'));
        bench.engine.start(new StageSpec(
                id, resource.name(), work, List.of(programs.program().toString(), resource.name()), null));
        try {
            StageBench.until(resource.name() + " to be ready", SOON, () -> KernelPrograms.ready(work) || over(id));
            if (Files.exists(work.resolve("ready"))) {
                if (resource.refused().isEmpty()) {
                    for (int i = 0; i < CYCLES; i++) {
                        bench.engine.suspend(id, bench.archive(id), bench.key);
                        bench.engine.resume(bench.archive(id), bench.key);
                    }
                } else {
                    SuspendFailedException refused = assertThrows(SuspendFailedException.class,
                            () -> bench.engine.suspend(id, bench.archive(id), bench.key));
                    assertEquals(resource.refused(), refused.reason().name(), () -> refused.criuLines().toString());
                }
            }
            Files.createFile(work.resolve("go"));
            StageBench.until(resource.name() + " to end", SOON, () -> KernelPrograms.ended(work) || over(id));
            return KernelPrograms.result(work);
        } catch (EngineException e) {
            return e.getMessage() + " " + e.criuLines();
        } finally {
            bench.engine.kill(id);
            bench.engine.forget(id);
            Files.deleteIfExists(bench.archive(id));
        }
    }

    private static boolean over(StageId id) {
        return EnumSet.of(State.ENDED, State.FAILED, State.KILLED).contains(bench.engine.status(id).state());
    }
}
