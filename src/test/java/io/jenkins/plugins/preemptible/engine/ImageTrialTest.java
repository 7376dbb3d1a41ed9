package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageRecord;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.trial.ImageTrial;
import io.jenkins.plugins.preemptible.engine.trial.RunningTrial;
import io.jenkins.plugins.preemptible.engine.trial.TrialResult;
import io.jenkins.plugins.preemptible.engine.trial.TrialVerdict;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.StandardCopyOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** An image is tried beside its frozen tree, with real CRIU: what the trial says, and that nothing else happens. */
class ImageTrialTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    private static final String TICKS = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.02; done";

    private static StageFolder folder(StageBench bench, StageId id) {
        return new StageFolder(bench.folder.resolve("home/stages").resolve(id.value()));
    }

    private static StageId start(StageBench bench, String... command) {
        StageId id = bench.start(command).id();
        StageBench.until("output", SOON, () -> StageBench.lines(bench.engine.status(id).output()) > 0);
        return id;
    }

    private static Checkpoint dumped(StageBench bench, StageId id) {
        bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
        try {
            return bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN);
        } catch (SuspendFailedException e) {
            throw new AssertionError(e.criuLines().toString(), e);
        }
    }

    private static void passes(StageBench bench, StageId id) {
        Checkpoint checkpoint = dumped(bench, id);
        assertEquals(TrialVerdict.PASSED, checkpoint.trial().verdict(), () -> checkpoint.trial() + log(bench, id));
        assertFalse(checkpoint.trial().withPages(), () -> "not without its pages" + log(bench, id));
        assertNull(checkpoint.trial().why());
    }

    private static String log(StageBench bench, StageId id) {
        try {
            return "\n" + Files.readString(folder(bench, id).logs().resolve("trial.log"));
        } catch (IOException e) {
            return "";
        }
    }

    private static void runsOn(StageBench bench, StageId id) throws IOException {
        assertEquals(State.RUNNING, bench.engine.status(id).state());
        long lines = bench.output(id).size();
        StageBench.until("more output", SOON, () -> StageBench.lines(bench.engine.status(id).output()) > lines + 2);
    }

    /** What a trial could leave: mounts, files, groups, and in these processes, without which none can be removed. */
    private static String left(StageBench bench, StageId id) throws IOException {
        // Whoever else works on this host mounts and starts what he likes.
        List<String> mounts = Proc.self("mountinfo").stream()
                .filter(l -> l.contains(" preemptible ") || l.contains(id.value()))
                .toList();
        try (var files = Files.list(folder(bench, id).path())) {
            return "mounts " + mounts + ", group of " + groupsOf(id) + ", files "
                    + files.map(p -> p.getFileName().toString()).filter(n -> n.startsWith("trial")).toList();
        }
    }

    private static long groupsOf(StageId id) throws IOException {
        try (var all = Files.walk(Path.of("/sys/fs/cgroup"), 6)) {
            return all.filter(p -> p.getFileName().toString().startsWith("preemptible-" + id + "-")).count();
        } catch (java.io.UncheckedIOException e) {
            // A group of somebody else's went away meanwhile.
            return groupsOf(id);
        }
    }

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

    /** Every file below a folder: kind, content, inode, times. */
    private static Map<String, String> seen(Path folder) throws Exception {
        Map<String, String> seen = new TreeMap<>();
        try (var all = Files.walk(folder)) {
            for (Path each : all.toList()) {
                Map<String, Object> a = Files.readAttributes(each, "unix:ino,mode,nlink,size,lastModifiedTime,ctime,uid",
                        LinkOption.NOFOLLOW_LINKS);
                String content = Files.isRegularFile(each, LinkOption.NOFOLLOW_LINKS)
                        ? HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(each)))
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
        assumeTrue(HostTool.find("python3").isPresent(), "python3 is not installed");
        try (StageBench bench = StageBench.open()) {
            Path script = Files.writeString(bench.work.resolve("holds.py"), HOLDS);
            StageId id = start(bench, "python3", script.toString(), bench.folder.getFileName().toString());
            bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
            Map<String, String> before = seen(bench.work);
            for (int i = 0; i < 3; i++) {
                Checkpoint checkpoint =
                        bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN);
                assertEquals(TrialVerdict.PASSED, checkpoint.trial().verdict(), () -> checkpoint.trial() + log(bench, id));
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
            StageBench.until("output or its end", SOON, () -> bench.engine.status(id).exitCode() != null
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
            StageId id = start(bench, "/bin/sh", "-c",
                    "TERM=xterm tmux -S socket new-session -d 'while :; do date; sleep 0.1; done'; echo ready;"
                            + " while :; do tmux -S socket list-sessions -F x; sleep 0.05; done");
            StageBench.until("a session", SOON, () -> outputOf(bench, id).contains("x"));
            passes(bench, id);
            bench.engine.thaw(id);
            runsOn(bench, id);
        }
    }

    @Test
    void aPacketSocketIsNotTriedAndSuspendedAllTheSame() throws Exception {
        assumeTrue(HostTool.find("python3").isPresent(), "python3 is not installed");
        try (StageBench bench = StageBench.open()) {
            Path script = Files.writeString(bench.work.resolve("script.py"), "import socket, time\n"
                    + "s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)\n"
                    + "while True: time.sleep(0.02); print('tick', flush=True)\n");
            StageId id = start(bench, "python3", script.toString());
            Checkpoint checkpoint = dumped(bench, id);
            assertEquals(TrialVerdict.NOT_TRIED, checkpoint.trial().verdict());
            bench.engine.commit(id);
            assertEquals(State.SUSPENDED, bench.engine.status(id).state());
        }
    }

    /** A script in the place of criu; {@code $criu} is the real one. */
    private static CriuSearch program(Path folder, String script) throws IOException {
        Path program = Files.writeString(
                folder.resolve("criu"),
                "#!/bin/sh\ncriu='" + new CriuSearch().usable().orElseThrow().program() + "'\n" + script + "\n");
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
        return new CriuSearch(List.of(program));
    }

    /** Dumps with the real criu, and empties a file that the stage has open before anything is restored. */
    private static CriuSearch spoiling(Path file, Path folder) throws IOException {
        return program(folder, "[ \"$1\" = restore ] && : > '" + file + "'\nexec \"$criu\" \"$@\"");
    }

    @ParameterizedTest
    @EnumSource
    void whatCannotBeRestoredStaysFrozenAndGoesOnFromMemory(IfDumpFails ifFails) throws Exception {
        Path outside = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible trial ");
        Path file = Files.writeString(outside.resolve("open"), "content");
        try (StageBench bench = StageBench.openWith(spoiling(file, outside))) {
            StageId id = start(bench, "/bin/sh", "-c", "exec 5<'" + file + "'; " + TICKS);
            bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
            long init = bench.engine.status(id).initPid();
            SuspendFailedException e = assertThrows(
                    SuspendFailedException.class,
                    () -> bench.engine.dump(id, bench.archive(id), bench.key, ifFails));
            assertEquals(FailureReason.NOT_RESTORABLE, e.reason(), e::toString);
            assertTrue(e.criuLines().stream().anyMatch(l -> l.contains("bad size")), () -> "" + e.criuLines());
            assertTrue(e.getMessage().contains(FailureReason.PATH_MISSING.sentence()), e::getMessage);
            assertFalse(Files.exists(bench.archive(id)));
            assertFalse(Files.exists(folder(bench, id).images()));
            if (ifFails == IfDumpFails.STAY_FROZEN) {
                assertEquals(State.SUSPENDING, bench.engine.status(id).state());
                assertEquals(Tier.FROZEN, bench.engine.resumeHere(id).orElseThrow().tier());
            }
            assertEquals(init, bench.engine.status(id).initPid());
            runsOn(bench, id);
        } finally {
            StageBench.delete(outside);
        }
    }

    @Test
    void aFileThatChangesAfterTheTrialKeepsTheTreeFromBeingKilled() throws Exception {
        try (StageBench bench = StageBench.open()) {
            Path file = Files.writeString(bench.work.resolve("open"), "content");
            StageId id = start(bench, "/bin/sh", "-c", "exec 5<open; " + TICKS);
            passes(bench, id);
            Files.writeString(file, "longer than before");
            SuspendFailedException e = assertThrows(SuspendFailedException.class, () -> bench.engine.commit(id));
            assertEquals(FailureReason.NOT_RESTORABLE, e.reason(), e::toString);
            assertTrue(e.getMessage().contains(file.toString()), e::getMessage);
            assertEquals(State.SUSPENDING, bench.engine.status(id).state());
            Files.delete(file);
            assertThrows(SuspendFailedException.class, () -> bench.engine.commit(id));
            // As the controller does: dumped anew, the deleted file is in the image.
            bench.engine.freeze(id, FreezeRequest.ofSuspended());
            Checkpoint again = bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN);
            assertEquals(TrialVerdict.PASSED, again.trial().verdict());
            bench.engine.commit(id);
            bench.engine.resume(bench.archive(id), bench.key);
            runsOn(bench, id);
        }
    }

    @Test
    void aPortThatIsTakenAfterTheTrialKeepsTheTreeFromBeingKilled() throws Exception {
        assumeTrue(HostTool.find("python3").isPresent(), "python3 is not installed");
        try (StageBench bench = StageBench.open()) {
            Path script = Files.writeString(bench.work.resolve("script.py"), "import socket, time\n"
                    + "s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
                    + "s.bind(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True)\n"
                    + "while True: time.sleep(0.02); print('tick', flush=True)\n");
            StageId id = start(bench, "python3", script.toString());
            int port = Integer.parseInt(bench.output(id).get(0));
            passes(bench, id);
            try (java.net.ServerSocket other = new java.net.ServerSocket()) {
                other.setReuseAddress(true);
                other.bind(new java.net.InetSocketAddress("127.0.0.1", port));
                SuspendFailedException e = assertThrows(SuspendFailedException.class, () -> bench.engine.commit(id));
                assertTrue(e.getMessage().contains("port " + port), e::getMessage);
                assertEquals(State.SUSPENDING, bench.engine.status(id).state());
            }
            bench.engine.commit(id);
            bench.engine.resume(bench.archive(id), bench.key);
            runsOn(bench, id);
        }
    }

    @Test
    void aTerminalThatIsOpenedAfterTheTrialKeepsTheTreeFromBeingKilled() throws Exception {
        assumeTrue(HostTool.find("python3").isPresent(), "python3 is not installed");
        try (StageBench bench = StageBench.open()) {
            Path script = Files.writeString(bench.work.resolve("script.py"), "import os, time\n"
                    + "master, slave = os.openpty(); print(os.ttyname(slave), flush=True)\n"
                    + "while True: time.sleep(0.02); print('tick', flush=True)\n");
            StageId id = start(bench, "python3", script.toString());
            Path seen = Path.of("/proc/" + bench.engine.status(id).initPid() + "/root" + bench.output(id).get(0));
            passes(bench, id);
            try (RandomAccessFile outside = new RandomAccessFile(seen.toFile(), "r")) {
                SuspendFailedException e = assertThrows(SuspendFailedException.class, () -> bench.engine.commit(id));
                assertTrue(e.getMessage().contains("terminal"), e::getMessage);
            }
            bench.engine.commit(id);
            bench.engine.resume(bench.archive(id), bench.key);
            runsOn(bench, id);
        }
    }

    @Test
    void aMountOfTheHostThatIsGoneByNowIsNoFailure() throws Exception {
        Path outside = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible trial ");
        Path point = Files.createDirectories(outside.resolve("mounts/point"));
        assumeTrue(HostTool.run(10, List.of("mount", "-t", "tmpfs", "preemptible-test", point.toString())).ok(),
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

    @Test
    void aStageThatIsKilledDuringItsTrialEnds() throws Exception {
        try (StageBench bench = StageBench.open()) {
            for (int i = 0; i < 4; i++) {
                StageId id = start(bench, "/bin/sh", "-c", TICKS);
                String before = left(bench, id).replaceAll("group of [^,]*,", "");
                bench.engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
                CompletableFuture<Checkpoint> dump = CompletableFuture.supplyAsync(
                        () -> bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN));
                StageBench.until(
                        "the trial", SOON, () -> dump.isDone() || Files.exists(folder(bench, id).trial().resolve("words")));
                Thread.sleep(i * 20);
                bench.engine.kill(id);
                assertThrows(Exception.class, () -> dump.orTimeout(60, TimeUnit.SECONDS).join());
                assertEquals(State.KILLED, bench.engine.status(id).state());
                assertEquals(before, left(bench, id).replaceAll("group of [^,]*,", ""));
                assertEquals(0, groupsOf(id));
                assertFalse(Files.exists(folder(bench, id).images()));
            }
        }
    }

    @Test
    void aTrialWhoseCriuIsKilledIsNoLoss() throws Exception {
        killedAtRandom(Integer.getInteger("preemptible.rounds", 10));
    }

    @Test
    @Tag("soak")
    void aHundredTrialsWhoseCriuIsKilledAreNoLoss() throws Exception {
        killedAtRandom(100);
    }

    private static void killedAtRandom(int rounds) throws Exception {
        Random random = new Random(7);
        try (StageBench bench = StageBench.open()) {
            StageId id = start(bench, "/bin/sh", "-c", TICKS);
            String before = left(bench, id);
            int notTried = 0;
            for (int i = 0; i < rounds; i++) {
                bench.engine.freeze(id, FreezeRequest.ofSuspended());
                CompletableFuture<Checkpoint> dump = CompletableFuture.supplyAsync(
                        () -> bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.STAY_FROZEN));
                Path noted = folder(bench, id).trial().resolve("words");
                StageBench.until("the trial", SOON, () -> dump.isDone() || Files.exists(noted));
                Thread.sleep(random.nextInt(200));
                pids(folder(bench, id)).stream()
                        .filter(p -> random.nextInt(3) > 0)
                        .forEach(p -> LibC.kill(p, LibC.SIGKILL));
                Checkpoint checkpoint = dump.orTimeout(60, TimeUnit.SECONDS).join();
                notTried += checkpoint.trial().verdict() == TrialVerdict.NOT_TRIED ? 1 : 0;
                assertEquals(before, left(bench, id), "round " + i + ", " + checkpoint.trial());
            }
            System.out.println(notTried + " of " + rounds + " trials were killed");
            bench.engine.thaw(id);
            runsOn(bench, id);
            List<String> lines = bench.output(id);
            for (int i = 0; i < lines.size(); i++) {
                assertEquals("line " + (i + 1), lines.get(i));
            }
        }
    }

    /** The processes of a trial that is under way. */
    private static List<Long> pids(StageFolder stage) {
        try {
            return FreezerKind.at(Files.readString(stage.trial().resolve("group"))).pids(null);
        } catch (IOException | RuntimeException e) {
            return List.of();
        }
    }

    @Test
    @Tag("soak")
    void aThousandTrialsLeaveNothing() throws Exception {
        int rounds = Integer.getInteger("preemptible.rounds", 1000);
        try (StageBench bench = StageBench.open()) {
            StageId id = start(bench, "/bin/sh", "-c", TICKS);
            passes(bench, id);
            StageFolder stage = folder(bench, id);
            StageRecord record = new StageFolder(stage.images()).read().orElseThrow();
            ImageTrial.Subject subject = new ImageTrial.Subject(
                    id,
                    stage.images(),
                    stage.trial(),
                    stage.logs(),
                    stage.tools(),
                    new CriuSearch().usable().orElseThrow().program(),
                    record.options(),
                    record.mounts(),
                    true);
            String before = left(bench, id);
            int threads = Thread.activeCount();
            long open = descriptors();
            List<Long> millis = new ArrayList<>();
            for (int i = 0; i < rounds; i++) {
                try (RunningTrial trial = RunningTrial.begin(subject, () -> false)) {
                    TrialResult result = trial.result();
                    assertEquals(TrialVerdict.PASSED, result.verdict(), "round " + i + ": " + result);
                    millis.add(result.millis());
                }
                if (i % 50 == 0) {
                    assertEquals(before, left(bench, id), "round " + i);
                    assertTrue(Thread.activeCount() <= threads + 1, "threads in round " + i);
                    assertTrue(descriptors() <= open + 5, "descriptors in round " + i);
                }
            }
            System.out.println(rounds + " trials, median " + millis.stream().sorted().toList().get(rounds / 2) + " ms");
            assertEquals(before, left(bench, id));
            bench.engine.thaw(id);
            runsOn(bench, id);
        }
    }

    private static long descriptors() throws IOException {
        try (var open = Files.list(Path.of("/proc/self/fd"))) {
            return open.count();
        }
    }
}
