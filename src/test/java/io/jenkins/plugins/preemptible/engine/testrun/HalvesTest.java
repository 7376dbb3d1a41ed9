package io.jenkins.plugins.preemptible.engine.testrun;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.OutputStream;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What becomes of a half, by what Maven says and by how it ends. */
class HalvesTest {

    @TempDir
    Path folder;

    private static Optional<String> missing(String log) throws Exception {
        return Halves.missingArtifact(Path.of(HalvesTest.class.getResource(log).toURI()));
    }

    @Test
    void artifactsThatCannotBeHadAreNamedWithoutAddresses() throws Exception {
        assertEquals(Optional.of("io.jenkins.plugins:preemptible:999999-SNAPSHOT"), missing("offline.log"));
        assertEquals(Optional.of("see target/plugin-half.log"), missing("addresses.log"));
    }

    @Test
    void aBuildThatDoesNotCompileIsAnotherMatter() throws Exception {
        assertEquals(Optional.empty(), missing("broken.log"));
    }

    @Test
    void withoutThePluginsPomTheHalfDoesNotRun() throws Exception {
        HalfResult result = new Halves(new Checkout(folder), new PrintWriter(System.err))
                .plugin("1m", List.of(), OutputStream.nullOutputStream());
        assertEquals("DID NOT RUN: there is no pom.xml", result.words());
        assertFalse(result.broken());
    }

    @ParameterizedTest
    @ValueSource(ints = {124, 131, 137})
    void whatPassedItsLimitIsSaid(int status) {
        HalfResult result = HalfResult.ofStatus(status, "25m");
        assertTrue(result.broken());
        assertEquals(
                "FAILED: was not through after 25m and was ended; the threads above say where it was", result.words());
    }

    @Test
    void whatHangsIsToldToShowItsThreadsAndItsStatusSaysSo() throws Exception {
        Path log = folder.resolve("log");
        // A shell cannot trap what was ignored when it started, as the signal is below a job in the background.
        List<String> shell = List.of(
                "env",
                "--default-signal=QUIT",
                "bash",
                "-c",
                "trap 'echo told; exit 0' QUIT; while :; do sleep 0.1; done");
        int status = MavenCall.within("4", log, shell);
        assertEquals(124, status);
        assertTrue(Files.readString(log).contains("told"), Files.readString(log));
    }

    @Test
    void aStatusOfTheCommandIsKept() throws Exception {
        assertEquals(3, MavenCall.within("1m", folder.resolve("log"), List.of("bash", "-c", "exit 3")));
    }

    @ParameterizedTest
    @CsvSource({"3.8.7,false", "3.9.5,false", "3.9.6,true", "3.9.11,true", "3.10.0,true", "4.0.0-rc-4,true"})
    void mavensBeforeThatOfTheParentPomAreTooOld(String version, boolean newEnough) {
        assertEquals(
                newEnough,
                PluginMaven.isNewEnough(
                        "\033[1mApache Maven " + version + " (abc)\033[m\nMaven home: /usr/share/maven"));
    }

    @Test
    void aProgramThatIsNotThereIsNoMaven() {
        assertFalse(PluginMaven.isNewEnough(""));
    }
}
