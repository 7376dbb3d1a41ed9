package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A stage's terminals are its own: others may have the same numbers, before and while it is suspended. */
@Tag("host")
class OwnTerminalsTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    private final List<Process> outside = new ArrayList<>();
    private StageBench bench;
    private Path ties;

    @BeforeEach
    void open() throws Exception {
        assumeTrue(HostTool.find("gcc").isPresent(), "gcc is not installed");
        bench = StageBench.open();
        Path source = bench.folder.resolve("ties.c");
        try (var in = OwnTerminalsTest.class.getResourceAsStream("ties.c")) {
            Files.copy(in, source);
        }
        ties = bench.work.resolve("ties");
        HostTool.Answer gcc = HostTool.run(
                60, List.of("gcc", "-w", "-O1", "-o", ties.toString(), source.toString(), "-lpthread", "-lrt"));
        assertTrue(gcc.ok(), gcc::text);
    }

    @AfterEach
    void close() throws IOException {
        outside.forEach(Process::destroyForcibly);
        if (bench != null) {
            bench.close();
        }
    }

    private StageId tied(String kind) {
        StageId id = bench.start(ties.toString(), kind).id();
        StageBench.until(
                "it ticks", SOON, () -> StageBench.lines(bench.engine.status(id).output()) > 2);
        return id;
    }

    /** The path of the terminal that a stage has open, as the stage sees it. */
    private Path terminal(StageId id) throws IOException {
        long init = new StageFolder(bench.folder.resolve("home/stages").resolve(id.value()))
                .read()
                .orElseThrow()
                .init()
                .pid();
        for (Proc.Stat process : Proc.tree(init)) {
            try (var open = Files.list(Path.of("/proc", Long.toString(process.pid()), "fd"))) {
                Optional<Path> found = open.map(OwnTerminalsTest::target)
                        .filter(t -> t.matches("/dev/pts/[0-9].*"))
                        .map(t -> Path.of(t.replace(" (deleted)", "")))
                        .findFirst();
                if (found.isPresent()) {
                    return found.get();
                }
            }
        }
        throw new AssertionError("no terminal is open");
    }

    private static String target(Path link) {
        try {
            return Files.readSymbolicLink(link).toString();
        } catch (IOException e) {
            return "";
        }
    }

    /** Opens terminals on the host until there is one of this path. */
    private void take(Path path) throws IOException {
        for (int i = 0; !Files.exists(path); i++) {
            assertTrue(i < 50, () -> "nobody gets " + path);
            Path name = bench.folder.resolve("pty" + outside.size());
            outside.add(new ProcessBuilder(ties.toString(), "serve-pty", name.toString())
                    .redirectInput(new File("/dev/null"))
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start());
            StageBench.until("it is open", SOON, () -> Files.isSymbolicLink(name));
        }
    }

    private void cycle(StageId id, Path taken) throws IOException {
        assertEquals(List.of(), bench.engine.preflight(id).obstacles());
        bench.engine.suspend(id, bench.archive(id), bench.key);
        take(taken);
        bench.engine.resume(bench.archive(id), bench.key);
        long lines = StageBench.lines(bench.engine.status(id).output());
        StageBench.until(
                "it goes on",
                SOON,
                () -> StageBench.lines(bench.engine.status(id).output()) > lines + 2);
    }

    @ParameterizedTest
    @ValueSource(strings = {"pty", "half-pty"})
    void aNumberThatSomebodyTakesMeanwhile(String kind) throws Exception {
        StageId id = tied(kind);
        Path terminal = terminal(id);
        cycle(id, terminal);
        cycle(id, terminal);
        assertEquals(terminal, terminal(id));
    }

    @Test
    void aClosedOneIsNotThatOfSomebodyWithTheSameNumber() throws Exception {
        StageId id = tied("half-pty");
        take(terminal(id));
        assertEquals(List.of(), bench.engine.preflight(id).obstacles());
    }
}
