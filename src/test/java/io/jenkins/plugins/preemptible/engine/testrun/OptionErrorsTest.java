package io.jenkins.plugins.preemptible.engine.testrun;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Arguments that make no sense are refused in one sentence; nothing is installed, removed or run. */
class OptionErrorsTest {

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @TempDir
    Path root;

    private Path mark;

    @BeforeEach
    void aSetUpThatLeavesAMark() throws Exception {
        mark = root.resolve("set-up-ran");
        Path setUp = Files.createDirectories(root.resolve(".ci")).resolve("setup");
        Files.writeString(setUp, "#!/bin/sh\ntouch '" + mark + "'\n");
        assertTrue(setUp.toFile().setExecutable(true));
        Files.createDirectories(root.resolve("target/surefire-reports"));
    }

    private int run(String... args) {
        return DeveloperCommands.execute(
                new Checkout(root), new PrintWriter(out, true), new PrintWriter(err, true), args);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "soak --faults 0 | '--faults' takes a whole number from 1, but got '0'.",
                "soak --faults -3 | '--faults' takes a whole number from 1, but got '-3'.",
                "soak --faults ten | '--faults' takes a whole number from 1, but got 'ten'.",
                "soak --faults 3.5 | '--faults' takes a whole number from 1, but got '3.5'.",
                "soak --faults 9999999999 | '--faults' takes a whole number from 1, but got '9999999999'.",
                "soak --faults | '--faults' takes a whole number from 1, but got ''.",
                "soak --faults 3 --seed | '--seed' takes a whole number from 1, but got ''.",
                "soak --faults 3 --seed x | '--seed' takes a whole number from 1, but got 'x'.",
                "soak --faults 3 --seed -1 | '--seed' takes a whole number from 1, but got '-1'.",
                "soak --seed 4 | '--seed' counts beside '--faults N' or '--moves N' only.",
                "soak --moves 0 | '--moves' takes a whole number from 1, but got '0'.",
                "soak --moves 3 --faults 3 | '--faults' and '--moves' do not go together.",
                "soak --faults 3 --streams 2 | '--streams' counts beside '--moves N' only.",
                "soak --rounds 4 | 'soak' takes --faults N, --moves N, --streams K and --seed S, but got '--rounds'; see 'preempt soak --help'.",
                "soak all | 'soak' takes --faults N, --moves N, --streams K and --seed S, but got 'all'; see 'preempt soak --help'.",
                "test all | 'test' does not take 'all'; see 'preempt test --help'.",
                "test --slow | 'test' does not take '--slow'; see 'preempt test --help'.",
                "test --fast --all | '--fast' and '--all' do not go together.",
                "test --fast all | 'test' does not take 'all'; see 'preempt test --help'.",
                "fuzz --seed | 'fuzz' does not take '--seed'; see 'preempt fuzz --help'.",
                "compat all | 'compat' does not take 'all'; see 'preempt compat --help'.",
                "bench --queue all | 'bench --queue' takes no more arguments than --most N, a whole number; see 'preempt bench --help'.",
                "bench --queue --most | 'bench --queue' takes no more arguments than --most N, a whole number; see 'preempt bench --help'.",
                "bench --queue --most 0 | 'bench --queue' takes no more arguments than --most N, a whole number; see 'preempt bench --help'.",
                "bench --queue --most 1000000 | 'bench --queue' takes no more arguments than --most N, a whole number; see 'preempt bench --help'.",
                "bench --queue --runs 1 | 'bench --queue' takes no more arguments than --most N, a whole number; see 'preempt bench --help'."
            })
    void areRefused(String arguments, String sentence) {
        assertEquals(2, run(arguments.split(" ")), err::toString);
        assertEquals("preempt: " + sentence + "\n", err.toString());
        assertEquals("", out.toString());
        assertNothingWasDone();
    }

    @ParameterizedTest
    @CsvSource({
        "test,preempt test [--fast | --all]",
        "soak,preempt soak [--faults N [--seed S] | --moves N [--streams K] [--seed S]]",
        "fuzz,preempt fuzz",
        "compat,preempt compat"
    })
    void helpIsNoRun(String verb, String synopsis) {
        assertEquals(0, run(verb, "--help"));
        assertTrue(out.toString().startsWith("Usage: " + synopsis + "\n"), out::toString);
        assertEquals(0, run(verb, "-h"));
        assertNothingWasDone();
    }

    @Test
    void theHelpOfCompatHasTheOptionsOfCriusOwnSuite() {
        run("compat", "--help");
        assertTrue(out.toString().contains("--zdtm=DIR"), out::toString);
    }

    private void assertNothingWasDone() {
        assertFalse(Files.exists(mark), "the set-up ran");
        assertTrue(Files.exists(root.resolve("target/surefire-reports")), "reports were removed");
    }
}
