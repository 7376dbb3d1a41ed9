package io.jenkins.plugins.preemptible.engine.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PrivateTmpTest {

    private static final Path TMP = Path.of("/tmp");
    private static final Path ELSEWHERE = Path.of("/usr");

    private Path below;

    @BeforeEach
    void folder() throws IOException {
        assumeTrue(Files.isDirectory(TMP, LinkOption.NOFOLLOW_LINKS), "/tmp is no folder here");
        below = Files.createTempDirectory(TMP, "preemptible");
        Files.createDirectories(below.resolve("workspace/job"));
        Files.createDirectories(below.resolve("home"));
    }

    @AfterEach
    void clear() throws IOException {
        StageFolder.delete(below);
    }

    private static StageSpec spec(Path work, String... command) {
        return new StageSpec(StageId.create("test"), "test", work, List.of(command), null);
    }

    private static List<Path> through(Path at, List<PrivateTmp> all) {
        return all.stream()
                .filter(p -> p.at().equals(at))
                .findFirst()
                .orElseThrow()
                .through();
    }

    @Test
    void nothingOfTheHostIsSeenThatTheStageDoesNotNeed() throws Exception {
        List<PrivateTmp> all = PrivateTmp.of(spec(ELSEWHERE, "true"), ELSEWHERE, "/root", null);
        assertEquals(List.of(), through(TMP, all));
        assertEquals(List.of("/tmp", "25%", "0"), all.get(0).words());
    }

    @Test
    void aCommandSeesItsWorkingFolderAndHome() throws Exception {
        Path job = below.resolve("workspace/job");
        Path home = below.resolve("home");
        List<PrivateTmp> all = PrivateTmp.of(spec(job, "true"), ELSEWHERE, home.toString(), "2g");
        assertEquals(List.of(home, job), through(TMP, all).stream().sorted().toList());
        assertEquals("2g", all.get(0).size());
    }

    @Test
    void aSandboxSeesTheNeighboursOfItsWorkspace() throws Exception {
        List<PrivateTmp> all = PrivateTmp.of(spec(below.resolve("workspace/job")), below.resolve("home"), null, null);
        assertEquals(
                List.of(below.resolve("home"), below.resolve("workspace")),
                through(TMP, all).stream().sorted().toList());
    }

    @Test
    void aFolderBelowAnotherIsNotBoundTwice() throws Exception {
        List<PrivateTmp> all = PrivateTmp.of(spec(below, "true"), below.resolve("home"), null, null);
        assertEquals(List.of(below), through(TMP, all));
    }

    @Test
    void whereAllOfItWouldBeSeenTheHostsIsKept() throws Exception {
        assertTrue(
                PrivateTmp.of(spec(TMP, "true"), ELSEWHERE, null, null).stream().noneMatch(p -> p.at().equals(TMP)));
        assertTrue(PrivateTmp.of(spec(below), ELSEWHERE, null, null).stream().noneMatch(p -> p.at().equals(TMP)));
        assertEquals(List.of(), PrivateTmp.of(spec(ELSEWHERE), ELSEWHERE, null, "host"));
    }

    @Test
    void aProgramThatTheStageWouldNotSeeIsRefused() throws Exception {
        Path program = Files.createFile(below.resolve("program"));
        EngineException e = assertThrows(
                EngineException.class, () -> PrivateTmp.of(spec(ELSEWHERE, program.toString()), ELSEWHERE, null, null));
        assertEquals(FailureReason.BAD_SPEC, e.reason());
        assertTrue(e.getMessage().contains("PREEMPTIBLE_TMP=host"), e::getMessage);
        assertEquals(
                1,
                through(TMP, PrivateTmp.of(spec(below, program.toString()), ELSEWHERE, null, null))
                        .size());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0", "0%", "100%", "-1", "1t", "1g,uid=0", "2 g", "HOST", "９"})
    void aSettingThatIsNoneIsRefused(String setting) {
        assertEquals(
                FailureReason.BAD_SPEC,
                assertThrows(EngineException.class, () -> PrivateTmp.of(spec(ELSEWHERE), ELSEWHERE, null, setting))
                        .reason());
    }
}
