package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Commands that enter a sandbox the way Jenkins starts them. */
@Tag("host")
class EnterTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    private static Process enter(StageBench bench, StageId id, Path folder, String... command) throws IOException {
        List<String> all = new ArrayList<>(bench.engine.enterCommand(id).words());
        all.addAll(List.of(command));
        ProcessBuilder builder = new ProcessBuilder(all).directory(folder.toFile());
        builder.environment().put("MARK", "two words");
        return builder.start();
    }

    @Test
    void folderEnvironmentAndExitCodeArrive() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.start().id();
            Path folder = Files.createDirectories(bench.work.resolve("a folder/with 'quotes'"));
            Process process = enter(
                    bench,
                    id,
                    folder,
                    "/bin/sh",
                    "-c",
                    "pwd; echo \"$MARK\"; readlink /proc/self/ns/pid; ulimit -S -n; cat; exit 5");
            process.getOutputStream().write("from outside\n".getBytes());
            process.getOutputStream().close();
            List<String> lines =
                    new String(process.getInputStream().readAllBytes()).lines().toList();
            assertEquals(5, process.waitFor(), lines::toString);
            assertEquals(folder.toRealPath().toString(), lines.get(0));
            assertEquals("two words", lines.get(1));
            assertNotEquals(Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString(), lines.get(2));
            assertTrue(Integer.parseInt(lines.get(3)) <= 1024);
            assertEquals("from outside", lines.get(4));
        }
    }

    @Test
    void aDurableTaskIsSuspendedTwiceAndLosesNothing() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.start().id();
            Path control = Files.createDirectory(bench.work.resolve("durable-1 control"));
            Path script = Files.writeString(
                    control.resolve("script.sh"),
                    "#!/bin/sh -e\ni=0; while [ $i -lt 150 ]; do i=$((i+1)); echo line $i; sleep 0.02; done\n"
                            + "exit 4\n");
            script.toFile().setExecutable(true);
            // BourneShellScript's launcher: heartbeat, script and result in one background group.
            String c = control.toString();
            String text = "{ while [ -d '" + c + "' -a \\! -f '" + c + "/result.txt' ]; do touch '" + c
                    + "/log.txt'; sleep 3; done } & "
                    + "jsc=durable-1; JENKINS_SERVER_COOKIE=$jsc '" + script + "' > '" + c + "/log.txt' 2>&1; "
                    + "echo $? > '" + c + "/result.txt.tmp'; mv '" + c + "/result.txt.tmp' '" + c
                    + "/result.txt'; wait";
            Process launcher = enter(bench, id, bench.work, "nohup", "sh", "-c", "(" + text + ") >&- 2>&- &");
            assertTrue(launcher.waitFor(10, TimeUnit.SECONDS), "the launcher exits at once");
            assertEquals(0, launcher.exitValue());
            Path log = control.resolve("log.txt");
            Path result = control.resolve("result.txt");
            for (int cycle = 1; cycle <= 2; cycle++) {
                long lines = StageBench.lines(log);
                StageBench.until("more output", SOON, () -> StageBench.lines(log) > lines + 10);
                bench.engine.suspend(id, bench.archive(id), bench.key);
                assertEquals(
                        FailureReason.STAGE_SUSPENDED,
                        assertThrows(
                                        EngineException.class,
                                        () -> bench.engine.enterCommand(id).words())
                                .reason());
                bench.engine.resume(bench.archive(id), bench.key);
            }
            StageBench.until("the result", SOON, () -> Files.exists(result));
            assertEquals("4", Files.readString(result).trim());
            assertEquals(
                    IntStream.rangeClosed(1, 150).mapToObj(i -> "line " + i).toList(), Files.readAllLines(log));
            // What enters after the resume belongs to the stage as before.
            Process after = enter(bench, id, bench.work, "/bin/sh", "-c", "echo after");
            assertEquals("after\n", new String(after.getInputStream().readAllBytes()));
            bench.engine.kill(id);
            assertEquals(State.KILLED, bench.engine.status(id).state());
        }
    }

    /** After a restore the stage has clocks of its own: what enters has the same, and is no container of its own. */
    @Test
    void whatEntersAfterARestoreIsSuspendedWithTheStage() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.start().id();
            bench.engine.suspend(id, bench.archive(id), bench.key);
            bench.engine.resume(bench.archive(id), bench.key);
            Path log = bench.work.resolve("entered.log");
            Process launcher = enter(
                    bench,
                    id,
                    bench.work,
                    "nohup",
                    "sh",
                    "-c",
                    "(stat -Lc %i /proc/self/ns/time; while :; do echo on; sleep 0.05; done) > '" + log
                            + "' 2>&1 </dev/null &");
            assertEquals(0, launcher.waitFor());
            StageBench.until("it counts", SOON, () -> Files.exists(log) && StageBench.lines(log) > 5);
            Path init = Path.of("/proc", Long.toString(bench.engine.status(id).initPid()), "ns/time");
            assertEquals(
                    Files.getAttribute(init, "unix:ino").toString(),
                    Files.readAllLines(log).get(0));
            bench.engine.suspend(id, bench.archive(id), bench.key);
            long lines = StageBench.lines(log);
            bench.engine.resume(bench.archive(id), bench.key);
            StageBench.until("it counts on", SOON, () -> StageBench.lines(log) > lines + 5);
        }
    }

    @Test
    void aCommandWithItsLauncherOutsideIsNotLost() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.start().id();
            // Longer than a suspension waits for a launcher, which is longer on a host that is called slow.
            long seconds = TimeLimits.of(Duration.ofSeconds(6)).toSeconds();
            Process process = enter(bench, id, bench.work, "/bin/sh", "-c", "echo in; sleep " + seconds + "; echo out");
            assertEquals('i', process.getInputStream().read());
            SuspendFailedException refused = assertThrows(
                    SuspendFailedException.class, () -> bench.engine.suspend(id, bench.archive(id), bench.key));
            assertEquals(FailureReason.ENTERING, refused.reason());
            assertEquals("n\nout\n", new String(process.getInputStream().readAllBytes()));
            bench.engine.suspend(id, bench.archive(id), bench.key);
        }
    }

    @Test
    void anOldEnterCommandChangesNothing() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.start().id();
            List<String> old = new ArrayList<>(bench.engine.enterCommand(id).words());
            old.addAll(List.of("touch", bench.work.resolve("entered").toString()));
            bench.engine.suspend(id, bench.archive(id), bench.key);
            Process process = new ProcessBuilder(old).redirectErrorStream(true).start();
            String words = new String(process.getInputStream().readAllBytes());
            assertEquals(125, process.waitFor(), words);
            assertTrue(words.contains("the stage does not run"), words);
            assertTrue(Files.notExists(bench.work.resolve("entered")));
        }
    }
}
