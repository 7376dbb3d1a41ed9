package io.jenkins.plugins.preemptible.engine.zdtm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmResult.Verdict;
import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmResult.Way;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
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
                .getMessage()
                .contains("source package"));
        assertEquals(2, ZdtmCommand.run("--zdtm", folder.toString()));
        assertEquals(2, ZdtmCommand.run("--zdtm", folder.resolve("missing").toString()));
        assertEquals(
                2,
                ZdtmCommand.run(
                        "--zdtm", Files.createFile(folder.resolve("a file")).toString()));
        file("zdtm.py", "", true);
        file("zdtm/static/zombie00.c", "", false);
        assertTrue(assertThrows(ZdtmSuite.NoSuiteException.class, () -> ZdtmSuite.open(folder))
                .getMessage()
                .contains("make -C " + folder));
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

    private static ZdtmResult of(String test, Way way, Verdict verdict, String reason) {
        return new ZdtmResult(test, way, verdict, reason, 1);
    }

    @Test
    void everyTestThatDoesNotPassHasItsLine() {
        List<ZdtmResult> results = List.of(
                of("static/good", Way.LOCAL, Verdict.PASS, ""),
                of("static/good", Way.TWICE, Verdict.ERROR, "PID_TAKEN"),
                of("static/fine", Way.LOCAL, Verdict.PASS, ""),
                of("static/late", Way.LOCAL, Verdict.REFUSED_LATE, "CRIU_FAILED"),
                of("static/bad", Way.LOCAL, Verdict.FAIL, "a | b\n c"),
                of("static/bad", Way.UNDISTURBED, Verdict.PASS, ""),
                of("static/bad", Way.PLAIN, Verdict.PASS, ""));
        ZdtmTable table = new ZdtmTable(results);
        List<String> lines = table.markdown();
        assertEquals("## CRIU's own tests (ZDTM): 4 tests: 2 PASS, 1 REFUSED when frozen, 1 FAIL", lines.get(0));
        assertTrue(lines.contains("| static/bad | FAIL | a \\| b c | PASS | PASS |"), lines::toString);
        assertTrue(lines.contains("| static/good | ERROR, twice | PID_TAKEN |  |  |"), lines::toString);
        assertFalse(lines.toString().contains("fine"));
        assertTrue(lines.contains("Suspended twice in a row: 1 tests: 1 ERROR."), lines::toString);
        assertFalse(table.asItShouldBe());
    }

    @Test
    void aFailureThatIsNotOursIsToldApart() {
        ZdtmTable table = new ZdtmTable(List.of(
                of("static/criu", Way.LOCAL, Verdict.FAIL, "no"),
                of("static/criu", Way.UNDISTURBED, Verdict.PASS, ""),
                of("static/criu", Way.PLAIN, Verdict.FAIL, "restore: no"),
                of("static/itself", Way.LOCAL, Verdict.FAIL, "no"),
                of("static/itself", Way.UNDISTURBED, Verdict.FAIL, "no"),
                of("static/itself", Way.PLAIN, Verdict.PASS, "")));
        assertEquals("2 tests: 1 FAIL with plain criu, too, 1 FAIL without a suspension, too", table.counts(Way.LOCAL));
        assertTrue(table.markdown()
                .contains("| static/criu | FAIL with plain criu, too | no | PASS | FAIL: restore: no |"));
        assertTrue(table.asItShouldBe());
        assertFalse(new ZdtmTable(List.of(of("static/lost", Way.ARCHIVE, Verdict.ERROR, ""))).asItShouldBe());
        // One that could not be compared is ours.
        assertFalse(new ZdtmTable(List.of(
                        of("static/alone", Way.LOCAL, Verdict.FAIL, "no"),
                        of("static/alone", Way.PLAIN, Verdict.SKIPPED, "no modules")))
                .asItShouldBe());
    }

    @Test
    void aSecondTryDoesNotHideTheFirst() {
        ZdtmResult first = of("static/busy", Way.LOCAL, Verdict.ERROR, "PID_TAKEN");
        assertTrue(first.worthAnotherTry());
        ZdtmResult told = of("static/busy", Way.LOCAL, Verdict.PASS, "").after(first);
        assertEquals(Verdict.PASS, told.verdict());
        assertEquals("(at first ERROR: PID_TAKEN)", told.reason());
        assertTrue(new ZdtmTable(List.of(told))
                .markdown()
                .contains("| static/busy | PASS | (at first ERROR: PID_TAKEN) |  |  |"));
        assertEquals("PID_TAKEN", first.after(first).reason());
        assertFalse(of("static/no", Way.LOCAL, Verdict.REFUSED, "DEVICE").worthAnotherTry());
    }

    @Test
    void aHookIsCalledAtItsMomentsAndCanFail() throws Exception {
        ZdtmSuite suite = suite();
        file("zdtm/static/zombie00.hook", "#!/bin/sh\necho $1 $ZDTM_TEST_PID >> said\n[ $1 != --pre-dump ]\n", true);
        ZdtmHook hook = ZdtmHook.of(suite, "static/zombie00", folder);
        assertTrue(hook.call(ZdtmHook.STARTED, 0));
        assertFalse(hook.call(ZdtmHook.BEFORE_DUMP, 7));
        hook.clean();
        assertEquals(
                List.of("--post-start 0", "--pre-dump 7", "--clean 0"),
                Files.readAllLines(folder.resolve("test/said")));
    }

    @Test
    void whatAHookLeavesIsEnded() throws Exception {
        ZdtmSuite suite = suite();
        file(
                "zdtm/static/zombie00.hook",
                "#!/bin/sh\ncase $1 in --stay) sleep 20 ;;\n"
                        + "--post-start) setsid \"$0\" --stay >/dev/null 2>&1 & sleep 0.5 ;; esac\n",
                true);
        ZdtmHook hook = ZdtmHook.of(suite, "static/zombie00", folder);
        assertTrue(hook.call(ZdtmHook.STARTED, 0));
        List<ProcessHandle> left = ProcessHandle.allProcesses()
                .filter(p -> Proc.arguments(p.pid()).contains(hook.file().toString()))
                .toList();
        assertFalse(left.isEmpty());
        hook.clean();
        for (ProcessHandle each : left) {
            each.onExit().get(10, TimeUnit.SECONDS);
        }
    }

    @Test
    void aHookThatWouldTouchTheHostsOwnOnlyClearsAway() throws Exception {
        ZdtmSuite suite = suite();
        file("zdtm/static/cgroup00.hook", "#!/bin/sh\necho $1 >> said\n", true);
        file("zdtm/static/cr_veth.hook", "#!/bin/sh\ncat cr_veth.pid.inprogress\necho $1 >> said\n", true);
        for (String test : List.of("static/cgroup00", "static/cr_veth", "static/zombie00")) {
            ZdtmHook hook = ZdtmHook.of(suite, test, folder);
            assertTrue(hook.call(ZdtmHook.BEFORE_RESTORE, 0));
            hook.clean();
        }
        assertEquals(List.of("--clean", "--clean"), Files.readAllLines(folder.resolve("test/said")));
    }

    @Test
    void whatPlainCriuCouldNotTryIsNoFailureOfIts() {
        assertEquals(
                Verdict.SKIPPED,
                PlainCriu.judged(
                                "static/a",
                                new HostTool.Answer(
                                        1,
                                        "b'(00.1) Error (criu/cr-dump.c:389): Can't get rlimit 0: Operation not permitted'"))
                        .verdict());
        assertEquals(
                Verdict.SKIPPED,
                PlainCriu.judged("static/a", new HostTool.Answer(1, "ModuleNotFoundError: No module named 'yaml'"))
                        .verdict());
        assertEquals(
                Verdict.FAIL,
                PlainCriu.judged("static/a", new HostTool.Answer(1, "(00.2) Error (criu/mount.c:1): no"))
                        .verdict());
        assertEquals(
                Verdict.PASS,
                PlainCriu.judged("static/a", new HostTool.Answer(0, "Test zdtm/static/a PASS"))
                        .verdict());
    }

    @Test
    void aReasonIsTheSameInEveryRun() throws Exception {
        ZdtmSuite suite = suite();
        StageId id = StageId.create("zdtm-a");
        String file = suite.workDir("static/a").resolve("a.test/foo").toString();
        assertEquals(
                "COVERED_FILE: process a, descriptor 4: static/a.test/foo",
                ZdtmRun.told(
                        new SuspendFailedException(FailureReason.COVERED_FILE, "process 812 a, descriptor 4: " + file),
                        id,
                        suite));
        assertEquals("TRACED", ZdtmRun.told(new SuspendFailedException(FailureReason.TRACED, id.value()), id, suite));
    }
}
