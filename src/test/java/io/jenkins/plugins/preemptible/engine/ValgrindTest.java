package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertIterableEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Valgrind's tools, suspended in mid-work and resumed twice, find what they find when nobody disturbs them. */
@Tag("host")
@Timeout(600)
class ValgrindTest {

    private static final Duration LIMIT = Duration.ofSeconds(180);

    @Test
    void memcheckFindsTheSame() throws Exception {
        findsTheSame("memcheck");
    }

    @Tag("tools")
    @ParameterizedTest
    @ValueSource(strings = {"helgrind", "massif"})
    void anotherToolFindsTheSame(String tool) throws Exception {
        findsTheSame(tool);
    }

    private static void findsTheSame(String tool) throws Exception {
        String valgrind = HostTool.find("valgrind").map(Path::toString).orElse(null);
        assumeTrue(valgrind != null, "valgrind is not installed");
        String gcc = HostTool.find("gcc").map(Path::toString).orElse(null);
        assumeTrue(gcc != null, "there is no C compiler");
        try (StageBench bench = StageBench.openForArchives()) {
            Path source = bench.folder.resolve("allocations.c");
            try (InputStream resource = ValgrindTest.class.getResourceAsStream("allocations.c")) {
                Files.copy(resource, source);
            }
            Path program = bench.work.resolve("allocations");
            HostTool.Answer compiled = HostTool.run(
                    60, List.of(gcc, "-g", "-O1", "-pthread", "-o", program.toString(), source.toString()));
            assertTrue(compiled.ok(), compiled::text);

            StageId undisturbed = start(bench, valgrind, tool, "undisturbed");
            StageId suspended = start(bench, valgrind, tool, "suspended");
            for (int time = 1; time <= 2; time++) {
                int reached = time * 20;
                StageBench.until(
                        "output",
                        LIMIT,
                        () -> StageBench.lines(bench.engine.status(suspended).output()) > reached);
                bench.engine.suspend(suspended, bench.archive(suspended), bench.key);
                assertTrue(bench.output(suspended).size() < 91, "suspended in mid-work");
                bench.engine.resume(bench.archive(suspended), bench.key);
            }
            assertEquals(0, bench.engine.await(undisturbed));
            assertEquals(0, bench.engine.await(suspended));
            assertIterableEquals(bench.output(undisturbed), bench.output(suspended));
            List<String> expected = findings(bench.work.resolve("undisturbed"));
            assertFalse(expected.isEmpty(), "the tool wrote what it found");
            assertIterableEquals(expected, findings(bench.work.resolve("suspended")));
        }
    }

    private static StageId start(StageBench bench, String valgrind, String tool, String result) {
        // Both have the same process id in /tmp, each in a namespace of its own: the pipes of vgdb would be shared.
        // Massif's clock counts allocated bytes, so that its whole result is comparable.
        List<String> options = tool.equals("massif")
                ? List.of("--time-unit=B", "--massif-out-file=" + result)
                : List.of("--log-file=" + result);
        String[] command = Stream.of(
                        List.of(valgrind, "--tool=" + tool, "--vgdb-prefix=./vgdb-" + result),
                        options,
                        List.of("./allocations"))
                .flatMap(List::stream)
                .toArray(String[]::new);
        return bench.start(command).id();
    }

    // Without what differs from run to run: process ids, addresses, its own command, counts of what it suppressed.
    private static List<String> findings(Path result) throws IOException {
        return Files.readAllLines(result).stream()
                .filter(line -> !line.startsWith("desc:") && !line.contains("Command:") && !line.contains("PID"))
                .map(line -> line.replaceAll("==\\d+==", "==")
                        .replaceAll("0x[0-9A-Fa-f]+", "0x")
                        .replaceAll("\\(suppressed: .*\\)", ""))
                .toList();
    }
}
