package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Somebody's mounts have names that no table of mounts was made for; stages have nothing to do with them. */
@Tag("host")
class OddMountTest {

    private static final Duration SOON = Duration.ofSeconds(20);
    private static final int LINES = 100;

    private Path temp;

    private final Deque<Path> mounted = new ArrayDeque<>();

    @BeforeEach
    void create() throws Exception {
        // Not below /tmp: a stage has one of its own, without what the host mounted there.
        temp = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-odd");
    }

    @AfterEach
    void unmount() throws Exception {
        mounted.forEach(p -> HostTool.run(10, List.of("umount", "-l", p.toString())));
        StageBench.delete(temp);
    }

    private void mount(String name) throws Exception {
        Path at = Files.createDirectory(temp.resolve(name));
        mounted.push(at);
        assumeTrue(HostTool.run(10, List.of("mount", "-t", "tmpfs", "none", at.toString())).ok(),
                "this machine does not let this user mount a tmpfs");
    }

    private static StageId counting(StageBench bench) {
        return bench.script("i=0; while [ $i -lt " + LINES + " ]; do i=$((i+1)); echo $i; sleep 0.02; done").id();
    }

    private static void cycle(StageBench bench, StageId id) {
        long lines = StageBench.lines(bench.engine.status(id).output());
        StageBench.until("more output", SOON, () -> StageBench.lines(bench.engine.status(id).output()) > lines + 3);
        assertEquals(List.of(), bench.engine.preflight(id).obstacles());
        bench.engine.suspend(id, bench.archive(id), bench.key);
        bench.engine.resume(bench.archive(id), bench.key);
    }

    private static void counted(StageBench bench, StageId id) throws Exception {
        assertEquals(0, bench.engine.await(id));
        assertEquals(IntStream.rangeClosed(1, LINES).mapToObj(Integer::toString).toList(), bench.output(id));
    }

    @ParameterizedTest
    @ValueSource(strings = {"carriage\rreturn", "ends in\r", "new\nline", "ends in\n", "bell\u0007", "tab\tand \\ and ]["})
    void aStageThatStartsLater(String name) throws Exception {
        try (StageBench bench = StageBench.open()) {
            mount(name);
            StageId id = counting(bench);
            cycle(bench, id);
            cycle(bench, id);
            counted(bench, id);
        }
    }

    @Test
    void aStageThatRunsAlready() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = counting(bench);
            mount("carriage\rreturn");
            mount("new\nline");
            cycle(bench, id);
            counted(bench, id);
        }
    }
}
