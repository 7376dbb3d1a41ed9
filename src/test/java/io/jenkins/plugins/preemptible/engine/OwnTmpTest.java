package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Real stages whose /tmp and /dev/shm are their own. */
@Tag("host")
class OwnTmpTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    private static void twice(StageBench bench, StageId id) {
        for (int i = 0; i < 2; i++) {
            bench.engine.suspend(id, bench.archive(id), bench.key);
            bench.engine.resume(bench.archive(id), bench.key);
        }
    }

    @Test
    void whatLiesInThemTravelsWithTheImage() throws Exception {
        try (StageBench bench = StageBench.open()) {
            String mark = "preemptible-" + bench.folder.getFileName().toString().replaceAll("\\W", "");
            // A FIFO with a reader and three unread lines in it, a file that is closed, a link, shared memory.
            String text = "cd /tmp; mkfifo " + mark + "; exec 3<>" + mark + "; printf 'one\\ntwo\\nthree\\n' >&3;"
                    + " echo closed > /tmp/file; ln -s file link; ln file hard; echo shared > /dev/shm/" + mark + ";"
                    + " exec 4< /dev/shm/" + mark + "; touch \"$OLDPWD/ready\";"
                    + " while [ ! -e \"$OLDPWD/go\" ]; do sleep 0.05; done;"
                    + " for i in 1 2 3; do read line <&3; echo $line; done; cat link <&4; cat <&4; stat -c %h hard;"
                    + " (echo through > " + mark + ") & read line < " + mark + "; echo $line";
            StageId id = bench.script(text).id();
            StageBench.until("the files", SOON, () -> Files.exists(bench.work.resolve("ready")));
            assertFalse(Files.exists(Path.of("/tmp", mark)), "the host's /tmp");
            assertFalse(Files.exists(Path.of("/dev/shm", mark)), "the host's /dev/shm");
            twice(bench, id);
            Files.createFile(bench.work.resolve("go"));
            assertEquals(0, bench.engine.await(id));
            assertEquals(List.of("one", "two", "three", "closed", "shared", "2", "through"), bench.output(id));
        }
    }

    @Test
    void timesAndAttributesOfFilesTravelToo() throws Exception {
        assumeTrue(HostTool.find("python3").isPresent(), "python3 is not installed");
        try (StageBench bench = StageBench.open()) {
            Path program = Files.writeString(bench.work.resolve("meta.py"), """
                    import os, time
                    for each in '/tmp/file', '/dev/shm/file':
                        open(each, 'w').close()
                        os.setxattr(each, 'user.k', b'v')
                        os.utime(each, ns=(1, 1700000000987654321))
                    open('ready', 'w').close()
                    while not os.path.exists('go'): time.sleep(.05)
                    for each in '/tmp/file', '/dev/shm/file':
                        print(os.stat(each).st_mtime_ns, os.listxattr(each))
                    """);
            StageId id = bench.script("python3 " + program.getFileName() + " 2>&1 || touch ready")
                    .id();
            StageBench.until("the files", SOON, () -> Files.exists(bench.work.resolve("ready")));
            assumeTrue(bench.output(id).isEmpty(), () -> "a tmpfs with user attributes (Linux 6.6) is needed");
            twice(bench, id);
            Files.createFile(bench.work.resolve("go"));
            assertEquals(0, bench.engine.await(id));
            String expected = "1700000000987654321 ['user.k']";
            assertEquals(List.of(expected, expected), bench.output(id));
        }
    }

    @Test
    void twoStagesDoNotSeeEachOthers() throws Exception {
        try (StageBench bench = StageBench.open()) {
            for (int i = 0; i < 2; i++) {
                StageId id = bench.script("ls -A /tmp /dev/shm; echo x > /tmp/same; echo y > /dev/shm/same")
                        .id();
                assertEquals(0, bench.engine.await(id));
                assertEquals(lines(List.of("/dev/shm:", "", "/tmp:"), hostFolders()), bench.output(id));
            }
        }
    }

    /** As Jenkins does it: the workspace, its control folder beside it, and the agent's own folder are below /tmp. */
    @Test
    void aWorkspaceBelowTmpIsTheHosts() throws Exception {
        Path agent = Files.createTempDirectory(Path.of("/tmp"), "preemptible agent");
        try (StageBench bench = StageBench.open(null, agent.resolve("stages home"))) {
            Path workspace = Files.createDirectories(agent.resolve("workspace/a job"));
            StageId id = bench.engine
                    .start(new StageSpec(StageId.create("test"), "test", workspace, List.of(), null))
                    .id();
            Path control = Files.createDirectories(agent.resolve("workspace/a job@tmp/durable-1"));
            Path secret = Files.writeString(control.resolve("secret"), "from outside");
            Path own = Files.createTempFile(Path.of("/tmp"), "preemptible", "host");
            Process process = enter(
                    bench,
                    id,
                    workspace,
                    "mkfifo /tmp/fifo; cat '" + secret + "' > seen; ls " + own + " 2> /dev/null;"
                            + " nohup sh -c 'echo begun > begun; read line < /tmp/fifo; echo $line > \"" + control
                            + "/result\"' > /dev/null 2>&1 < /dev/null &");
            assertEquals("", new String(process.getInputStream().readAllBytes()), "the host's file in /tmp");
            assertTrue(process.waitFor(20, TimeUnit.SECONDS));
            Files.delete(own);
            StageBench.until("the background", SOON, () -> Files.exists(workspace.resolve("begun")));
            assertEquals("from outside", Files.readString(workspace.resolve("seen")));
            twice(bench, id);
            enter(bench, id, workspace, "echo again > /tmp/fifo").waitFor();
            StageBench.until("the result", SOON, () -> StageBench.lines(control.resolve("result")) == 1);
            assertEquals("again", Files.readString(control.resolve("result")).trim());
            bench.engine.kill(id);
        } finally {
            StageFolder.delete(agent);
        }
    }

    @Test
    void aCommandWithItsFoldersBelowTmpKeepsItsOutput() throws Exception {
        Path below = Files.createTempDirectory(Path.of("/tmp"), "preemptible test");
        try (StageBench bench = StageBench.open(null, below.resolve("home"))) {
            Path work = Files.createDirectory(below.resolve("work"));
            StageId id = bench.engine
                    .start(new StageSpec(
                            StageId.create("test"),
                            "test",
                            work,
                            List.of(
                                    "/bin/sh",
                                    "-c",
                                    "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; ls /tmp; exit 3"),
                            null))
                    .id();
            StageBench.until(
                    "output",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(id).output()) == 1);
            twice(bench, id);
            Files.createFile(work.resolve("go"));
            assertEquals(3, bench.engine.await(id));
            assertEquals(
                    lines(List.of("one", "two"), hostFolders(below.getFileName().toString())), bench.output(id));
        } finally {
            StageFolder.delete(below);
        }
    }

    @Test
    void aFolderThatTheStageDoesNotSeeIsTold() throws Exception {
        Path below = Files.createTempDirectory(Path.of("/tmp"), "preemptible");
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.start().id();
            List<String> command = new ArrayList<>(bench.engine.enterCommand(id).words());
            command.add("pwd");
            Process process = new ProcessBuilder(command)
                    .directory(below.toFile())
                    .redirectErrorStream(true)
                    .start();
            String words = new String(process.getInputStream().readAllBytes());
            assertEquals(125, process.waitFor(), words);
            assertTrue(words.contains("does not see " + below), words);
            command.set(command.size() - 1, "mktemp");
            ProcessBuilder other = new ProcessBuilder(command).directory(bench.work.toFile());
            other.environment().put("TMPDIR", below.toString());
            String made = new String(other.start().getInputStream().readAllBytes());
            assertTrue(made.startsWith(below + "/"), "a TMPDIR of the host's is made in the stage's own: " + made);
        } finally {
            StageFolder.delete(below);
        }
    }

    /** What is in a stage's /tmp of the host's, sorted as by ls: these folders, and one of HOME's where HOME is below /tmp. */
    private static List<String> hostFolders(String... folders) {
        Path tmp = Path.of("/tmp");
        Path home = Path.of(System.getenv("HOME")).toAbsolutePath();
        List<String> all = new ArrayList<>(List.of(folders));
        if (home.startsWith(tmp) && !home.equals(tmp)) {
            all.add(tmp.relativize(home).getName(0).toString());
        }
        all.sort(String.CASE_INSENSITIVE_ORDER);
        return all;
    }

    private static List<String> lines(List<String> first, List<String> last) {
        List<String> all = new ArrayList<>(first);
        all.addAll(last);
        return all;
    }

    private static Process enter(StageBench bench, StageId id, Path folder, String script) throws IOException {
        List<String> command = new ArrayList<>(bench.engine.enterCommand(id).words());
        command.addAll(List.of("/bin/sh", "-c", script));
        return new ProcessBuilder(command).directory(folder.toFile()).start();
    }
}
