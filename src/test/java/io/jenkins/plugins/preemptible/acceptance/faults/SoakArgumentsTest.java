package io.jenkins.plugins.preemptible.acceptance.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code ./preempt soak} with arguments that make no sense says so in one sentence, and runs nothing. */
@Timeout(60)
class SoakArgumentsTest {

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', value = {
        "--faults 0 | '--faults' takes a whole number from 1, but got '0'.",
        "--faults -3 | '--faults' takes a whole number from 1, but got '-3'.",
        "--faults ten | '--faults' takes a whole number from 1, but got 'ten'.",
        "--faults 3.5 | '--faults' takes a whole number from 1, but got '3.5'.",
        "--faults 9999999999 | '--faults' takes a whole number from 1, but got '9999999999'.",
        "--faults | '--faults' takes a whole number from 1, but got ''.",
        "--faults 3 --seed x | '--seed' takes a whole number from 1, but got 'x'.",
        "--faults 3 --seed -1 | '--seed' takes a whole number from 1, but got '-1'.",
        "--seed 4 | '--seed' counts beside '--faults N' only.",
        "--rounds 4 | 'soak' takes --faults N and --seed S, but got '--rounds'; see 'preempt soak --help'."
    })
    void areRefused(String arguments, String sentence) throws Exception {
        List<String> command = new ArrayList<>(List.of("./preempt", "soak"));
        command.addAll(List.of(arguments.split(" ")));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(2, process.waitFor(), said);
        assertEquals(1, said.lines().count(), said);
        assertTrue(said.contains(sentence), said);
    }
}
