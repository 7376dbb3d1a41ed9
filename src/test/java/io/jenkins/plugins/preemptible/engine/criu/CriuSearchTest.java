package io.jenkins.plugins.preemptible.engine.criu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CriuSearchTest {

    /** An agent has no ./preempt in front of it: both have to come to the same folder by themselves. */
    @ParameterizedTest(name = "prefix {0}, data {1}, home {2}")
    @CsvSource(delimiter = '|', textBlock = """
        /opt/p q | /data    | /home/u | /opt/p q
                 | /data    | /home/u | /data/preemptible
                 | relative | /home/u | /home/u/.local/share/preemptible
                 |          | /a home | /a home/.local/share/preemptible
        """)
    void engineAndSetUpAgreeOnThePrefix(String prefix, String data, String home, String expected) throws Exception {
        Map<String, String> environment = new HashMap<>();
        if (prefix != null) {
            environment.put("PREEMPTIBLE_PREFIX", prefix);
        }
        if (data != null) {
            environment.put("XDG_DATA_HOME", data);
        }
        environment.put("HOME", home);
        assertEquals(Path.of(expected), CriuSearch.prefix(environment, "/of/the/user/database"));
        assertEquals(expected, saidBySetUp(environment));
    }

    @ParameterizedTest(name = "HOME {0}")
    @CsvSource({"''", "relative"})
    void withoutAHomeTheUserDatabaseTellsIt(String home) throws Exception {
        Path expected = CriuSearch.prefix(Map.of("HOME", home), System.getProperty("user.home"));
        assertEquals(Path.of(System.getProperty("user.home"), ".local/share/preemptible"), expected);
        assertEquals(expected.toString(), saidBySetUp(Map.of("HOME", home)));
    }

    private static String saidBySetUp(Map<String, String> environment) throws Exception {
        Path setUp = Path.of(".ci", "setup").toAbsolutePath();
        assumeTrue(Files.isExecutable(setUp), "the set-up is not in the working folder");
        ProcessBuilder builder = new ProcessBuilder("bash", setUp.toString(), "--prefix");
        builder.environment().keySet().removeAll(java.util.Set.of("PREEMPTIBLE_PREFIX", "XDG_DATA_HOME", "HOME"));
        builder.environment().putAll(environment);
        Process process = builder.redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), said);
        return said.strip();
    }
}
