package io.jenkins.plugins.preemptible.engine.testrun;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reports that Surefire 3.5.4 wrote with one more try for what fails; only their stack traces are shortened. */
class SurefireReportsTest {

    private static final String SAMPLE = "engine.testrun.SampleTest.";

    private static Path folder(String name) throws Exception {
        return Path.of(SurefireReportsTest.class.getResource(name).toURI());
    }

    @Test
    void tellsWhatWasSkippedFailedOrTriedAgainAndWhy() throws Exception {
        SurefireReports reports = SurefireReports.read(folder("ran"));
        assertEquals(
                List.of(
                        "skipped: engine.testrun.SampleBeforeAllTest: what all tests of this class need is not there",
                        "skipped: " + SAMPLE
                                + "isSkippedByAnAssumption: CRIU was not found on this host; run .ci/setup",
                        "skipped: " + SAMPLE + "isDisabled: waits for a newer kernel",
                        "FAILED:  " + SAMPLE
                                + "fails: state of the stage ==> expected: <<frozen> & \"thawed\"> but was:"
                                + " <running second line>",
                        "skipped: " + SAMPLE + "isDisabledWithoutReason: void io.jenkins.plugins.preemptible." + SAMPLE
                                + "isDisabledWithoutReason() is @Disabled",
                        "FAILED:  " + SAMPLE + "throwsWithoutMessage: java.lang.IllegalStateException",
                        "failed at first, passed when tried again: " + SAMPLE
                                + "passesAtTheSecondTry: the port was taken ==> expected: <true> but was: <false>",
                        "FAILED:  " + SAMPLE + "throwsSomething: no space left on device",
                        "skipped: " + SAMPLE + "isSkippedWithoutReason: assumption is not true",
                        "failed at first, passed when tried again: " + SAMPLE
                                + "passesAfterAnError: the agent was gone"),
                reports.lines());
        assertEquals(5, reports.passed());
        assertEquals(3, reports.failed());
        assertEquals(5, reports.skipped());
    }

    @Test
    void aReportThatWasCutOffIsAFailure() throws Exception {
        SurefireReports reports = SurefireReports.read(folder("cut"));
        assertEquals(1, reports.failed());
        assertEquals(0, reports.passed());
        assertTrue(
                reports.lines()
                        .get(0)
                        .startsWith("FAILED:  TEST-KilledTest.xml cannot be read, its JVM may have been killed: "),
                reports.lines()::toString);
    }

    @Test
    void bothHalvesCount(@TempDir Path none) throws Exception {
        SurefireReports reports = SurefireReports.read(folder("ran"), none.resolve("absent"), folder("cut"));
        assertEquals(5, reports.passed());
        assertEquals(4, reports.failed());
    }

    @Test
    void theSummaryEndsWithTheHalvesAndTheNumbers() throws Exception {
        HalfResult missing = HalfResult.didNotRun("there is no pom.xml");
        StringWriter said = new StringWriter();
        assertEquals(1, summary(said, SurefireReports.read(folder("ran")), HalfResult.RAN, missing));
        List<String> lines = said.toString().lines().toList();
        assertEquals(
                List.of(
                        "LEFT OUT, slow: none",
                        "engine half: ran",
                        "plugin half: DID NOT RUN: there is no pom.xml",
                        "5 passed, 3 failed, 5 skipped"),
                lines.subList(lines.size() - 4, lines.size()));
    }

    @Test
    void aBrokenHalfIsOneFailureMore() throws Exception {
        StringWriter said = new StringWriter();
        assertEquals(
                1, summary(said, SurefireReports.read(folder("ran")), HalfResult.ofStatus(1, "25m"), HalfResult.RAN));
        assertTrue(
                said.toString().contains("engine half: FAILED: the build broke; Maven's lines above say why"),
                said::toString);
        assertTrue(said.toString().endsWith("5 passed, 4 failed, 5 skipped\n"), said::toString);
    }

    @Test
    void whatRanNothingIsNoSuccess(@TempDir Path none) throws Exception {
        StringWriter said = new StringWriter();
        assertEquals(1, summary(said, SurefireReports.read(none), HalfResult.RAN, HalfResult.RAN));
        assertTrue(said.toString().endsWith("\n0 passed, 0 failed, 0 skipped\n"), said::toString);
    }

    private static int summary(StringWriter said, SurefireReports reports, HalfResult engine, HalfResult plugin) {
        PrintWriter out = new PrintWriter(said, true);
        return new Run(new Checkout(Path.of("/")), out, out)
                .sumUp(reports, List.of("LEFT OUT, slow: none"), engine, plugin);
    }
}
