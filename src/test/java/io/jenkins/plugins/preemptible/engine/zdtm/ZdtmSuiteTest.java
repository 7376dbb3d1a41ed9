package io.jenkins.plugins.preemptible.engine.zdtm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmResult.Verdict;
import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmResult.Way;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is read of a suite, and what is told of its results. */
class ZdtmSuiteTest {

    @TempDir
    private Path folder;

    private void file(String name, String text, boolean program) throws IOException {
        Path file = folder.resolve("test").resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
        assertTrue(!program || file.toFile().setExecutable(true));
    }

    private ZdtmSuite suite() throws Exception {
        file("zdtm.py", "", true);
        file("zdtm/static/zombie00", "", true);
        file("zdtm/transition/ipc", "", true);
        return ZdtmSuite.open(folder);
    }

    @Test
    void aFolderThatIsNoBuiltSuiteIsRefusedWithTheRemedy() throws Exception {
        assertTrue(assertThrows(ZdtmSuite.NoSuiteException.class, () -> ZdtmSuite.open(folder))
                .getMessage().contains("source package"));
        file("zdtm.py", "", true);
        file("zdtm/static/zombie00.c", "", false);
        assertTrue(assertThrows(ZdtmSuite.NoSuiteException.class, () -> ZdtmSuite.open(folder))
                .getMessage().contains("make -C " + folder));
        assertEquals(2, ZdtmCommand.run("--zdtm", folder.toString()));
        assertEquals(2, ZdtmCommand.run("--archive"));
        suite();
        assertEquals(2, ZdtmCommand.run("--zdtm", folder.toString(), "-k", "("));
        assertEquals(2, ZdtmCommand.run("--zdtm", folder.toString(), "-k", "nosuchtest"));
        Path odd = Files.writeString(folder.resolve("odd.json"), "no results");
        assertEquals(2, ZdtmCommand.run("--zdtm", folder.toString(), "--json", odd.toString()));
        assertEquals("no results", Files.readString(odd));
    }

    @Test
    void descriptionsDecideWhichTestsRun() throws Exception {
        ZdtmSuite suite = suite();
        file("zdtm/static/alone", "", true);
        file("zdtm/static/alone.desc", "{ # a comment\n 'flags': 'suid excl', 'deps': ['/bin/sh',], }", false);
        file("zdtm/static/inner", "", true);
        file("zdtm/static/inner.desc", "{'flavor': 'ns uns', 'flags': 'suid', 'test_feature': True}", false);
        file("zdtm/static/mapped", "", true);
        file("zdtm/static/mapped.desc", "{'flavor': 'uns'}", false);
        file("zdtm/static/manual", "", true);
        file("zdtm/static/manual.desc", "{'flags': 'noauto'}", false);
        file("zdtm/static/elsewhere", "", true);
        file("zdtm/static/elsewhere.desc", "{'arch': 's390x'}", false);
        file("zdtm/static/computed", "", true);
        file("zdtm/static/computed.desc", "os.getenv('A') and {'flavor': 'h'}", false);
        file("zdtm/static/alone.hook", "", true);
        file("zdtm/static/alone.checkskip", "", true);
        file("zdtm/static/criu-rtc.so", "", true);
        assertEquals(
                List.of(
                        new ZdtmSuite.Test("static/alone", "h", true),
                        new ZdtmSuite.Test("static/inner", "ns", false),
                        new ZdtmSuite.Test("static/zombie00", "h", false),
                        new ZdtmSuite.Test("transition/ipc", "h", false)),
                suite.tests(null));
        assertEquals(1, suite.tests(Pattern.compile("^static/z")).size());
    }

    @Test
    void everyTestThatDoesNotPassHasItsLine() {
        List<ZdtmResult> results = List.of(
                new ZdtmResult("static/good", Way.LOCAL, Verdict.PASS, "", 1),
                new ZdtmResult("static/good", Way.TWICE, Verdict.ERROR, "PID_TAKEN", 1),
                new ZdtmResult("static/fine", Way.LOCAL, Verdict.PASS, "", 1),
                new ZdtmResult("static/bad", Way.LOCAL, Verdict.FAIL, "a | b\n c", 1),
                new ZdtmResult("static/bad", Way.UNDISTURBED, Verdict.PASS, "", 1),
                new ZdtmResult("static/bad", Way.PLAIN, Verdict.FAIL, "dump: no", 1));
        List<String> lines = new ZdtmTable(results).markdown();
        assertEquals("## CRIU's own tests (ZDTM): 3 tests: 2 PASS, 1 FAIL", lines.get(0));
        assertTrue(lines.contains("| static/bad | FAIL | a \\| b c | PASS | FAIL: dump: no |"), lines::toString);
        assertTrue(lines.contains("| static/good | ERROR, twice | PID_TAKEN |  |  |"), lines::toString);
        assertFalse(lines.toString().contains("fine"));
        assertTrue(lines.contains("Suspended twice in a row: 1 tests: 1 ERROR."), lines::toString);
    }
}
