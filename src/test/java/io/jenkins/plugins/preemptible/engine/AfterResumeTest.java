package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a restore leaves on the host beside the stage: one process that collects the init, and holds nothing. */
@Tag("host")
class AfterResumeTest {

    private static final Duration SOON = Duration.ofSeconds(30);

    private static Path compiled;

    @BeforeAll
    static void createFolder() throws IOException {
        // Not below /tmp: stages have one of their own.
        compiled = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-programs");
    }

    @AfterAll
    static void deleteFolder() throws IOException {
        StageBench.delete(compiled);
    }

    /** Made once: the compiler takes longer than a test. */
    private static KernelPrograms programs() throws IOException {
        Path program = compiled.resolve("kernel-programs");
        return Files.exists(program) ? new KernelPrograms(program) : KernelPrograms.compile(compiled);
    }

    @ParameterizedTest
    @EnumSource(
            value = FreezerKind.class,
            names = {"CGROUP_V2", "CGROUP_V1", "SIGNALS"})
    void onlyOneProcessThatWaitsStays(FreezerKind freezer) throws Exception {
        try (StageBench bench = StageBench.openWith(freezer)) {
            StageId id =
                    bench.script("until [ -e go ]; do sleep 1; done; exit 7").id();
            for (int cycle = 0; cycle < 2; cycle++) {
                cycle(bench, id, cycle == 1);
                long init = bench.engine.status(id).initPid();
                HostProcess parent =
                        HostProcess.of(Proc.stat(init).orElseThrow().ppid()).orElseThrow();
                assertEquals(List.of(), criuProcesses(bench), "no criu is left");
                assertEquals(link(ProcessHandle.current().pid(), "ns/mnt"), link(parent.pid(), "ns/mnt"));
                assertEquals(Set.of(Path.of("/dev/null")), open(parent.pid()), "what the parent of the init holds");
                assertTrue(Proc.residentBytes(parent.pid()) < 10_000_000, "a small one");
                // It becomes that a moment after the resume.
                StageBench.until(
                        "an empty environment",
                        SOON,
                        () -> environment(parent.pid()).isEmpty());
                if (cycle == 1) {
                    Files.createFile(bench.work.resolve("go"));
                    assertEquals(7, bench.engine.await(id));
                    StageBench.until("the end of the init's parent", SOON, () -> !parent.alive());
                    assertEquals(List.of(), Proc.session(parent.pid()), "what it started");
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"mount_tmpfs", "mount_bind", "memfd_given_back"})
    void theStageCanGiveBackWhatItHas(String resource) throws Exception {
        try (StageBench bench = StageBench.open()) {
            KernelPrograms programs = programs();
            StageId id = bench.start(programs.program().toString(), resource).id();
            StageBench.until(resource + " to be ready", SOON, () -> KernelPrograms.ready(bench.work));
            cycle(bench, id, false);
            cycle(bench, id, true);
            Files.createFile(bench.work.resolve("go"));
            StageBench.until(resource + " to end", SOON, () -> KernelPrograms.ended(bench.work));
            assertEquals("pass", KernelPrograms.result(bench.work));
        }
    }

    @Test
    void aSandboxThatIsKilledLeavesNoParent() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = StageId.create("sandbox");
            bench.engine.start(new StageSpec(id, "sandbox", bench.work, List.of(), null));
            cycle(bench, id, false);
            long init = bench.engine.status(id).initPid();
            HostProcess parent =
                    HostProcess.of(Proc.stat(init).orElseThrow().ppid()).orElseThrow();
            bench.engine.kill(id);
            StageBench.until("the end of the init's parent", SOON, () -> !parent.alive());
            assertEquals(List.of(), Proc.session(parent.pid()), "what it started");
            assertTrue(Proc.stat(init).isEmpty(), "somebody collected the init");
        }
    }

    private static String environment(long pid) {
        try {
            return Files.readString(Path.of("/proc", Long.toString(pid), "environ"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void cycle(StageBench bench, StageId id, boolean fromArchive) throws IOException {
        try {
            bench.engine.suspend(id, bench.archive(id), bench.key);
        } catch (EngineException e) {
            throw new AssertionError(e.getMessage() + " " + e.criuLines(), e);
        }
        if (fromArchive) {
            StageBench.delete(
                    bench.folder.resolve("home/stages").resolve(id.value()).resolve("images"));
        }
        Tier tier = bench.engine.resume(bench.archive(id), bench.key).tier();
        assertEquals(fromArchive ? Tier.ARCHIVE : Tier.LOCAL_IMAGE, tier);
    }

    private static List<String> criuProcesses(StageBench bench) {
        return Proc.all().stream()
                .filter(s -> s.comm().equals("criu"))
                .map(s -> Proc.commandLine(s.pid()))
                .filter(c -> c.contains(bench.folder.toString()))
                .toList();
    }

    private static Path link(long pid, String name) throws IOException {
        return Files.readSymbolicLink(Path.of("/proc", Long.toString(pid), name));
    }

    private static Set<Path> open(long pid) throws IOException {
        Set<Path> open = new TreeSet<>();
        try (var all = Files.list(Path.of("/proc", Long.toString(pid), "fd"))) {
            for (Path descriptor : all.toList()) {
                open.add(Files.readSymbolicLink(descriptor));
            }
        }
        return open;
    }
}
