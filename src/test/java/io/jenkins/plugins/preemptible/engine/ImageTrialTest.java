package io.jenkins.plugins.preemptible.engine;

import static io.jenkins.plugins.preemptible.engine.TrialSteps.SOON;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.TICKS;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.dumped;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.left;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.log;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.passes;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.program;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.runsOn;
import static io.jenkins.plugins.preemptible.engine.TrialSteps.start;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.TrialVerdict;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** An image is tried beside its frozen tree, with real CRIU: what comes back passes, and nothing else happens. */
@Tag("host")
class ImageTrialTest {

    @Test
    void aStageThatComesBackPassesAndNothingIsLeft() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = start(bench, "/bin/sh", "-c", TICKS);
            String before = left(bench, id);
            Checkpoint checkpoint = dumped(bench, id);
            assertEquals(TrialVerdict.PASSED, checkpoint.trial().verdict(), () -> checkpoint.trial() + log(bench, id));
            assertTrue(checkpoint.trial().millis() > 0);
            assertEquals(before, left(bench, id));
            bench.engine.commit(id);
            bench.engine.resume(bench.archive(id), bench.key);
            runsOn(bench, id);
        }
    }

    /** The trial covers /tmp, and CRIU may lie there: in a HOME below it. */
    @Test
    void criuMayLieBelowTmp() throws Exception {
        Path folder = Files.createTempDirectory(Path.of("/tmp"), "preemptible criu");
        Path criu = folder.resolve("criu");
        Files.copy(
                new CriuSearch().installed().stream().findFirst().orElse(Path.of("/bin/false")),
                criu,
                StandardCopyOption.COPY_ATTRIBUTES);
        try (StageBench bench = StageBench.openWith(new CriuSearch(List.of(criu)))) {
            passes(bench, start(bench, "/bin/sh", "-c", TICKS));
        } finally {
            StageFolder.delete(folder);
        }
    }

    /** CRIU compares a folder that it opens with the image, mode and all. */
    @Test
    void theRootOfAMountIsNotThatOfANewFolder() throws Exception {
        assumeTrue(HostProcess.isRoot(), "a mount is needed");
        try (StageBench bench = StageBench.open()) {
            String options = "mode=3775,uid=12345,gid=54321";
            HostTool.Answer mounted =
                    HostTool.run(10, List.of("mount", "-t", "tmpfs", "-o", options, "none", bench.work.toString()));
            assertTrue(mounted.ok(), mounted::text);
            try {
                passes(bench, start(bench, "/bin/sh", "-c", TICKS));
            } finally {
                HostTool.run(10, List.of("umount", "--lazy", bench.work.toString()));
            }
        }
    }

    /** Every file below a folder: kind, content, inode, times. */
    private static Map<String, String> seen(Path folder) throws Exception {
        Map<String, String> seen = new TreeMap<>();
        try (var all = Files.walk(folder)) {
            for (Path each : all.toList()) {
                Map<String, Object> a = Files.readAttributes(
                        each, "unix:ino,mode,nlink,size,lastModifiedTime,ctime,uid", LinkOption.NOFOLLOW_LINKS);
                String content = Files.isRegularFile(each, LinkOption.NOFOLLOW_LINKS)
                        ? HexFormat.of()
                                .formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(each)))
                        : "";
                seen.put(folder.relativize(each).toString(), new TreeMap<>(a) + content);
            }
        }
        return seen;
    }

    // Named and abstract sockets, a FIFO with content, locks, a file for reading and writing, a deleted one, listeners.
    private static final String HOLDS = "import fcntl, os, socket, sys, time\n"
            + "held = []\n"
            + "def unix(name, kind=socket.SOCK_STREAM):\n"
            + "    s = socket.socket(socket.AF_UNIX, kind); s.bind(name); held.append(s); return s\n"
            + "unix('named').listen(3)\n"
            + "unix(os.getcwd() + '/datagrams', socket.SOCK_DGRAM)\n"
            + "unix('/tmp/own').listen(1)\n"
            + "unix('\\0preemptible-trial-' + sys.argv[1]).listen(1)\n"
            + "os.mkfifo('fifo'); fifo = os.open('fifo', os.O_RDWR); os.write(fifo, b'content')\n"
            + "locked = open('locked', 'w+'); locked.write('x' * 100); locked.flush(); fcntl.flock(locked, fcntl.LOCK_EX)\n"
            + "posix = open('posix', 'w+'); fcntl.lockf(posix, fcntl.LOCK_EX)\n"
            + "large = open('large', 'w+b'); large.write(b'y' * 300000); large.flush()\n"
            + "gone = open('gone', 'w+b'); gone.write(b'z' * 200000); gone.flush(); os.unlink('gone')\n"
            + "open('/tmp/big', 'wb').write(b'w' * 500000); big = open('/tmp/big', 'r+b')\n"
            + "tcp = socket.socket(); tcp.bind(('127.0.0.1', 0)); tcp.listen(1)\n"
            + "client = socket.create_connection(tcp.getsockname()); server = tcp.accept()[0]\n"
            + "udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.bind(('127.0.0.1', 0))\n"
            + "print('ready', flush=True)\n"
            + "while not os.path.exists('stop'): time.sleep(0.02)\n"
            + "assert os.read(fifo, 100) == b'content', 'fifo'\n"
            + "os.set_blocking(fifo, False)\n"
            + "try: os.read(fifo, 100); raise AssertionError('fifo twice')\n"
            + "except BlockingIOError: pass\n"
            + "socket.socket(socket.AF_UNIX).connect('named')\n"
            + "socket.socket(socket.AF_UNIX).connect('\\0preemptible-trial-' + sys.argv[1])\n"
            + "large.seek(0); assert large.read() == b'y' * 300000, 'large'\n"
            + "gone.seek(0); assert gone.read() == b'z' * 200000, 'gone'\n"
            + "assert big.read() == b'w' * 500000, 'big'\n"
            + "client.sendall(b'hello'); assert server.recv(5) == b'hello', 'tcp'\n"
            + "print('right', flush=True)\n";

    @Test
    void theOriginalsFilesSocketsFifosAndLocksAreUntouched() throws Exception {
        StageBench.assumeConnections();
        assumeTrue(HostTool.find("python3").isPresent(), "python3 is not installed");
        try (StageBench bench = StageBench.open()) {
            Path script = Files.writeString(bench.work.resolve("holds.py"), HOLDS);
            StageId id = start(
                    bench,
                    "python3",
                    script.toString(),
                    bench.folder.getFileName().toString());
            bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
            Map<String, String> before = seen(bench.work);
            for (int i = 0; i < 3; i++) {
                Checkpoint checkpoint = bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN);
                assertEquals(
                        TrialVerdict.PASSED, checkpoint.trial().verdict(), () -> checkpoint.trial() + log(bench, id));
                assertFalse(checkpoint.trial().withPages());
                assertEquals(before, seen(bench.work));
                bench.engine.freeze(id, FreezeRequest.ofSuspended());
            }
            bench.engine.thaw(id);
            Files.writeString(bench.work.resolve("stop"), "");
            assertEquals(0, bench.engine.await(id), () -> "" + outputOf(bench, id));
            assertEquals(List.of("ready", "right"), bench.output(id));
        }
    }

    private static List<String> outputOf(StageBench bench, StageId id) {
        try {
            return bench.output(id);
        } catch (IOException e) {
            return List.of(e.toString());
        }
    }

    /** What is restored in another network, without the original's terminals, and must not fail for that. */
    private enum FalseAlarm {
        UDP_TO_THE_OUTSIDE("import socket, time\n"
                + "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                + "s.connect(('192.0.2.1', 9))\n"
                + "b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); b.bind((s.getsockname()[0], 0))\n"
                + "print('ready', flush=True)\nwhile True: time.sleep(0.02); print('tick', flush=True)\n"),
        BOUND_TO_AN_INTERFACE("import os, socket, time\n"
                + "name = [n for n in os.listdir('/sys/class/net') if n != 'lo' and os.path.isdir('/sys/class/net/' + n)][0]\n"
                + "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                + "s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, name.encode() + b'\\0'); s.bind(('', 0))\n"
                + "print('ready', flush=True)\nwhile True: time.sleep(0.02); print('tick', flush=True)\n"),
        A_LARGE_FILE_FOR_WRITING("import mmap, os, time\n"
                + "f = open('large', 'w+b'); f.truncate(4 << 30)\n"
                + "m = mmap.mmap(f.fileno(), 1 << 30); m[5] = 7\n"
                + "print('ready', flush=True)\nwhile True: time.sleep(0.02); print('tick', flush=True)\n"),
        A_TERMINAL("import os, time\n"
                + "master, slave = os.openpty()\n"
                + "print('ready', flush=True)\nwhile True: time.sleep(0.02); print('tick', flush=True)\n"),
        A_DELETED_FILE("import os, time\n"
                + "f = open('gone', 'w+b'); f.write(os.urandom(90 << 20)); f.flush(); os.unlink('gone')\n"
                + "print('ready', flush=True)\nwhile True: time.sleep(0.02); print('tick', flush=True)\n"),
        FILES_IN_ITS_OWN_TMP("import os, time\n"
                + "f = open('/tmp/large', 'w+b'); f.write(os.urandom(90 << 20)); f.flush()\n"
                + "os.link('/tmp/large', '/tmp/name'); os.symlink('/tmp/large', '/tmp/link'); os.mkdir('/tmp/' + 'n' * 120)\n"
                + "g = open('/tmp/' + 'n' * 120 + '/' + 'm' * 120, 'w+b'); g.write(b'x' * 200000); g.flush()\n"
                + "h = open('/dev/shm/sparse', 'w+b'); h.truncate(1 << 30); h.seek(1 << 29); h.write(b'y' * 100000); h.flush()\n"
                + "print('ready', flush=True)\nwhile True: time.sleep(0.02); print('tick', flush=True)\n");

        final String script;

        FalseAlarm(String script) {
            this.script = script;
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatIsOnlyDifferentInTheTrialIsNoFailure(FalseAlarm alarm) throws Exception {
        assumeTrue(HostTool.find("python3").isPresent(), "python3 is not installed");
        try (StageBench bench = StageBench.open()) {
            Path script = Files.writeString(bench.work.resolve("script.py"), alarm.script);
            StageId id = bench.start("python3", script.toString()).id();
            StageBench.until(
                    "output or its end",
                    SOON,
                    () -> bench.engine.status(id).exitCode() != null
                            || StageBench.lines(bench.engine.status(id).output()) > 0);
            List<String> said = bench.output(id);
            assumeTrue(said.contains("ready"), () -> "not on this host: " + said);
            passes(bench, id);
            bench.engine.commit(id);
            bench.engine.resume(bench.archive(id), bench.key);
            runsOn(bench, id);
        }
    }

    @Test
    void tmuxPasses() throws Exception {
        assumeTrue(HostTool.find("tmux").isPresent(), "tmux is not installed");
        try (StageBench bench = StageBench.open()) {
            StageId id = start(
                    bench,
                    "/bin/sh",
                    "-c",
                    "TERM=xterm tmux -S socket new-session -d 'while :; do date; sleep 0.1; done'; echo ready;"
                            + " while :; do tmux -S socket list-sessions -F x; sleep 0.05; done");
            StageBench.until("a session", SOON, () -> outputOf(bench, id).contains("x"));
            passes(bench, id);
            bench.engine.thaw(id);
            runsOn(bench, id);
        }
    }

    @Test
    void aMountOfTheHostThatIsGoneByNowIsNoFailure() throws Exception {
        Path outside = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible trial ");
        Path point = Files.createDirectories(outside.resolve("mounts/point"));
        assumeTrue(
                HostTool.run(10, List.of("mount", "-t", "tmpfs", "preemptible-test", point.toString()))
                        .ok(),
                "nothing can be mounted");
        boolean mounted = true;
        // Removed right after the dump, which takes the stage's mount away as well.
        try (StageBench bench = StageBench.openWith(program(
                outside, "\"$criu\" \"$@\"; code=$?; [ \"$1\" = dump ] && rmdir '" + point + "'; exit $code"))) {
            StageId id = start(bench, "/bin/sh", "-c", TICKS);
            mounted = !HostTool.run(10, List.of("umount", point.toString())).ok();
            assertFalse(mounted);
            passes(bench, id);
            assertFalse(Files.exists(point));
            bench.engine.commit(id);
            bench.engine.resume(bench.archive(id), bench.key);
            runsOn(bench, id);
        } finally {
            if (mounted) {
                HostTool.run(10, List.of("umount", point.toString()));
            }
            StageBench.delete(outside);
        }
    }
}
