package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.Connections;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.preflight.Obstacle;
import io.jenkins.plugins.preemptible.engine.preflight.Preflight;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchService;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Real programs, one for each thing that ties a stage to the outside: found, named, and never stopped for it. */
@Tag("host")
class PreflightTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    @TempDir
    static Path built;

    private static Path ties;

    private StageBench bench;
    private final List<Process> outside = new ArrayList<>();

    @BeforeAll
    static void build() throws Exception {
        assumeTrue(HostTool.find("gcc").isPresent(), "gcc is not installed");
        Path source = built.resolve("ties.c");
        try (InputStream in = PreflightTest.class.getResourceAsStream("ties.c")) {
            Files.copy(in, source);
        }
        // Not below /tmp: a stage may have one of its own.
        ties = Files.createTempFile(Path.of("/var/tmp"), "preemptible-ties", "");
        ties.toFile().deleteOnExit();
        HostTool.Answer gcc = HostTool.run(
                60, List.of("gcc", "-w", "-O1", "-o", ties.toString(), source.toString(), "-lpthread", "-lrt"));
        assertTrue(gcc.ok(), gcc::text);
    }

    @BeforeEach
    void open() throws IOException {
        bench = StageBench.open();
    }

    @AfterEach
    void close() throws IOException {
        outside.forEach(Process::destroyForcibly);
        if (bench != null) {
            bench.close();
        }
    }

    private Path outside(String kind, String name) throws IOException {
        Path at = bench.folder.resolve(name);
        Path out = bench.folder.resolve(name + ".out");
        outside.add(new ProcessBuilder(ties.toString(), kind, at.toString())
                .redirectErrorStream(true)
                .redirectInput(new File("/dev/null"))
                .redirectOutput(out.toFile())
                .start());
        StageBench.until(kind + " is ready", SOON, () -> said(out, "ready"));
        return at;
    }

    private static boolean said(Path file, String word) {
        try {
            return Files.readAllLines(file).stream().anyMatch(l -> l.startsWith(word));
        } catch (IOException e) {
            return false;
        }
    }

    /** Starts a stage of one such program and waits until it has what it shall have. */
    private StageId tied(String... arguments) {
        List<String> command = new ArrayList<>(List.of(ties.toString()));
        command.addAll(List.of(arguments));
        StageId id = bench.start(command.toArray(String[]::new)).id();
        Path output = bench.engine.status(id).output();
        StageBench.until("ready", SOON, () -> said(output, "ready") || said(output, "cannot"));
        assumeTrue(
                said(output, "ready"),
                () -> "this kernel does not let it: " + String.join(" ", command) + ", " + StageBench.lines(output)
                        + " lines");
        return id;
    }

    private StageJson record(StageId id) {
        return new StageFolder(bench.folder.resolve("home/stages").resolve(id.value()))
                .read()
                .orElseThrow();
    }

    private PreflightReport look(StageId id, Connections connections, Path images) throws IOException {
        StageJson record = record(id);
        Freezer freezer = FreezerKind.at(record.freezer());
        return Preflight.of(new Preflight.Subject(
                record.init(), freezer.pids(record.init()), record.mounts(), connections, images));
    }

    private PreflightReport look(StageId id) {
        return bench.engine.preflight(id);
    }

    private static List<FailureReason> reasons(PreflightReport report) {
        return report.obstacles().stream().map(Obstacle::reason).distinct().toList();
    }

    /** Looks, and sees that nothing was frozen or stopped for it and that the stage's work goes on. */
    private Obstacle found(StageId id, FailureReason reason) throws Exception {
        Path group = FreezerKind.at(record(id).freezer()).cgroup().orElse(null);
        try (WatchService watch = FileSystems.getDefault().newWatchService()) {
            if (group != null) {
                group.register(watch, StandardWatchEventKinds.ENTRY_MODIFY);
            }
            PreflightReport report = look(id);
            assertEquals(
                    List.of(reason), reasons(report), () -> report.obstacles().toString());
            if (reason != FailureReason.ENTERING) {
                SuspendFailedException refusal = assertThrows(
                        SuspendFailedException.class, () -> bench.engine.suspend(id, bench.archive(id), bench.key));
                assertEquals(reason, refusal.reason());
                assertTrue(refusal.getMessage().contains(reason.sentence()), refusal::getMessage);
                assertFalse(Files.exists(bench.archive(id)));
            }
            assertNull(watch.poll(), "the kernel told of no change of the control group: never frozen");
            Obstacle obstacle = report.obstacles().get(0);
            if (obstacle.pid() != 0) {
                assertTrue(
                        obstacle.command().contains("preemptible-tie")
                                || obstacle.command().contains("nsenter")
                                || obstacle.command().contains("sleep")
                                || obstacle.command().equals("sh"),
                        obstacle::toString);
                assertNotNull(ProcessHandle.of(obstacle.pid()).orElse(null), obstacle::toString);
                assertEquals(Proc.stat(obstacle.pid()).orElseThrow().comm(), obstacle.command(), "no arguments");
            }
            assertFalse(obstacle.what().isBlank());
            assertFalse(Proc.tree(record(id).init().pid()).stream().anyMatch(s -> s.state() == 'T'), "none is stopped");
            assertEquals(State.RUNNING, bench.engine.status(id).state());
            Path output = bench.engine.status(id).output();
            long lines = StageBench.lines(output);
            StageBench.until("it goes on", SOON, () -> StageBench.lines(output) > lines);
            assertNull(watch.poll(), "never frozen");
            return obstacle;
        }
    }

    @ParameterizedTest(name = "{0} {1}: {2}")
    @CsvSource(textBlock = """
        traced, -, TRACED, traced by
        sigtrap, -, PENDING_TRAP, SIGTRAP
        io_uring, -, IO_URING, io_uring
        userfaultfd, -, USERFAULTFD, userfaultfd
        perf, -, PERF_EVENT, perf_event
        bpf-map, -, BPF, bpf-map
        bpf-prog, -, BPF, bpf-prog
        open, /dev/kvm, KVM_DEVICE, /dev/kvm
        open, /dev/fuse, FUSE_DEVICE, /dev/fuse
        open, /dev/net/tun, TUN_DEVICE, /dev/net/tun
        open-r, /dev/loop-control, DEVICE, /dev/loop-control
        open-r, /dev/loop0, DEVICE, /dev/loop0
        tcp-pending, -, PENDING_CONNECTION, port
        mptcp, -, MPTCP, MPTCP
        pid-ns, -, NESTED_CONTAINER, pid namespace
        user-ns, -, NESTED_CONTAINER, user namespace
        uts-ns, -, NESTED_CONTAINER, uts namespace
        ipc-ns, -, NESTED_CONTAINER, ipc namespace
        cgroup-ns, -, NESTED_CONTAINER, cgroup namespace
        time-ns, -, NESTED_CONTAINER, time namespace
        net-ns, -, NETWORK_NAMESPACE, net namespace
        fanotify, /var/tmp, FANOTIFY, fanotify
        vsock, -, SOCKET_KIND, VSOCK
        xdp, -, SOCKET_KIND, XDP
        netlink-data, -, UNREAD_NETLINK, netlink
        secretmem, -, SECRET_MEMORY, secretmem
        seccomp-notify, -, SECCOMP_NOTIFY, seccomp
        landlock, -, LANDLOCK, landlock
        mq, -, MESSAGE_QUEUE, /pfq
        zombie-leader, -, DEAD_LEADER, main thread
        fsopen, -, MOUNT_HANDLE, fscontext
        open-tree, -, OUTSIDE_FILE, descriptor
        packet-pipe, -, UNSUPPORTED, packet mode
        semaphore, -, LINKED_ELSEWHERE, mapped /dev/shm/
        pending-data, /tmp/pending, PENDING_CONNECTION, unix socket
        given-up, /tmp/given-up, PENDING_CONNECTION, closed before it was accepted
        corked, -, CORKED_SOCKET, UDP socket
        unread-datagram, -, UNREAD_DATAGRAMS, UDP socket
        unread-inotify, /tmp/watched, UNREAD_INOTIFY, inotify
        covered, /tmp/at, COVERED_FILE, /tmp/at/file
        covered-folder, /tmp/at, COVERED_FILE, /tmp/at/first
        covered-mount, /tmp/at, COVERED_FILE, /tmp/at/file
        """)
    void ofItself(String kind, String argument, FailureReason reason, String what) throws Exception {
        assumeTrue(!argument.startsWith("/dev/") || Files.exists(Path.of(argument)), () -> "there is no " + argument);
        Obstacle obstacle = found(tied(kind, argument), reason);
        assertTrue(obstacle.what().contains(what), obstacle::toString);
    }

    @Test
    void aTerminalWhoseFileSystemWasUnmounted() throws Exception {
        StageId id = bench.script(
                        "mkdir pts; mount -t devpts -o newinstance,ptmxmode=0666 none pts && exec 3<>pts/ptmx;"
                                + " umount -l pts; while :; do echo tick; sleep 0.05; done")
                .id();
        StageBench.until(
                "it ticks", SOON, () -> StageBench.lines(bench.engine.status(id).output()) > 0);
        Obstacle obstacle = found(id, FailureReason.COVERED_FILE);
        assertTrue(obstacle.what().endsWith("descriptor 3: /ptmx"), obstacle::toString);
    }

    @Test
    void ownMountOfTheKernelsFormats() throws Exception {
        assumeTrue(Proc.self("mountinfo").stream().noneMatch(l -> l.contains(" - binfmt_misc ")), "the host has one");
        Obstacle obstacle = found(tied("formats", "/tmp/formats"), FailureReason.UNSUPPORTED);
        assertTrue(obstacle.what().endsWith("binfmt_misc at /tmp/formats"), obstacle::toString);
    }

    @ParameterizedTest(name = "{0} {1}: {2}")
    @CsvSource(textBlock = """
        stream, serve-stream, UNIX_SOCKET_OUTSIDE
        seqpacket, serve-seqpacket, UNIX_SOCKET_OUTSIDE
        dgram, serve-dgram, UNIX_SOCKET_OUTSIDE
        take, give-socket, UNIX_SOCKET_OUTSIDE
        take, give-pipe, PIPE_OUTSIDE
        take, give-memfd, SHARED_MEMORY_OUTSIDE
        take-map, give-memfd, SHARED_MEMORY_OUTSIDE
        take, give-pidfd, PIDFD_OUTSIDE
        take, give-file, OUTSIDE_FILE
        take, give-pty, TERMINAL_OUTSIDE
        fifo, hold-fifo, FIFO_OUTSIDE
        """)
    void withSomebodyOutside(String kind, String server, FailureReason reason) throws Exception {
        found(tied(kind, outside(server, "at").toString()), reason);
    }

    @Test
    void aConnectionToTheOutside() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
            StageId id = tied("tcp", Integer.toString(server.getLocalPort()));
            Obstacle obstacle = found(id, FailureReason.CONNECTED_TCP);
            assertTrue(obstacle.what().endsWith("to 127.0.0.1:" + server.getLocalPort()), obstacle::toString);
            PreflightReport cut = look(id, Connections.CLOSE, bench.folder);
            assertEquals(List.of(), cut.obstacles());
            assertTrue(cut.options().tcpClose());
            assertFalse(cut.options().tcpEstablished());
        }
    }

    @Test
    void aProcessThatLeftItsControlGroup() throws Exception {
        StageId probe = tied("none");
        Path group = FreezerKind.at(record(probe).freezer()).cgroup().orElse(null);
        assumeTrue(group != null, "stages have no control groups here");
        found(tied("cgroup-escape", group.getParent().toString()), FailureReason.ESCAPED);
    }

    @Test
    void processesFromOutsideInTheStage() throws Exception {
        StageId id = tied("none");
        long init = record(id).init().pid();
        outside.add(new ProcessBuilder("nsenter", "--target", Long.toString(init), "--pid", "sleep", "60").start());
        StageBench.until(
                "it entered", SOON, () -> outside.get(0).children().findAny().isPresent());
        found(id, FailureReason.ESCAPED);
        outside.get(0).children().forEach(ProcessHandle::destroyForcibly);
        outside.get(0).waitFor();
        List<String> enter = new ArrayList<>(bench.engine.enterCommand(id).words());
        enter.addAll(List.of("sleep", "60"));
        // Not where the tests were started from: a folder below the host's /tmp is not the stage's.
        Process entering =
                new ProcessBuilder(enter).directory(bench.work.toFile()).start();
        outside.add(entering);
        StageBench.until("it enters", SOON, () -> entering.children().findAny().isPresent());
        found(id, FailureReason.ENTERING);
    }

    /** The preflight of a stage that runs cannot see them. */
    @Test
    void whatComesWhenTheStageIsFrozen() throws Exception {
        Path watched = Files.createDirectory(bench.work.resolve("watched"));
        StageId id = tied("watching", watched.toString());
        bench.engine.freeze(id, FreezeRequest.plain());
        Files.createFile(watched.resolve("new"));
        SuspendFailedException refusal = assertThrows(
                SuspendFailedException.class,
                () -> bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.THAW));
        assertEquals(FailureReason.UNREAD_INOTIFY, refusal.reason(), refusal::getMessage);
        assertEquals(State.RUNNING, bench.engine.status(id).state());
        assertFalse(Files.exists(bench.archive(id)));
    }

    @Test
    void noRoomForTheImage() throws Exception {
        Path disk = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-disk");
        HostTool.Answer mounted =
                HostTool.run(10, List.of("mount", "-t", "tmpfs", "-o", "size=8m", "none", disk.toString()));
        try {
            assumeTrue(mounted.ok(), () -> "no tmpfs can be mounted: " + mounted.text());
            StageId id = tied("memory", "32");
            PreflightReport report = look(id, Connections.REFUSE, disk.resolve("images"));
            assertEquals(
                    List.of(FailureReason.NO_SPACE),
                    reasons(report),
                    () -> report.obstacles().toString());
            assertTrue(
                    report.obstacles().get(0).what().startsWith(disk + ": the image may take "),
                    () -> report.obstacles().toString());
            assertTrue(look(id).ok(), "on the other disk there is room");
        } finally {
            if (mounted.ok()) {
                StageBench.until(
                        "the disk is free",
                        SOON,
                        () -> HostTool.run(10, List.of("umount", disk.toString()))
                                .ok());
            }
            Files.delete(disk);
        }
    }

    @Test
    void whatCriuCarriesOverIsNoLeak() throws Exception {
        Path at = Files.createDirectory(bench.folder.resolve("own"));
        List<String> kinds = List.of(
                "none",
                "open /dev/null",
                "open /dev/full",
                "open /dev/kmsg",
                "open-r /dev/urandom",
                "open /dev/ptmx",
                "tcp-listen",
                "unix-inside",
                "pending " + at.resolve("listening"),
                "fifo-inside " + at.resolve("fifo"),
                "memfd",
                "half-pipe",
                "mount-ns",
                "mount-ns-file " + at.resolve("own"),
                "uncovered " + at.resolve("mounted"),
                "packet",
                "raw",
                "udp",
                "netlink",
                "netlink-groups",
                "uevent",
                "pidfd-self",
                "pidfd-dead",
                "seccomp",
                "lease " + at.resolve("lease"),
                "ns-file /proc/self/ns/net",
                "mount " + at.resolve("mount"),
                "chroot " + at,
                "unlinked-cwd " + at.resolve("gone"),
                "deleted " + at.resolve("deleted") + " 1000",
                "tmpfile " + at,
                "pty",
                "half-pty",
                "aio",
                "inotify",
                "sysv",
                "anon-shared",
                "threads-files",
                "landlock-self",
                "open-r /proc/self/mem",
                "shared-anonymous-file");
        String script = IntStream.range(0, kinds.size())
                        .mapToObj(i -> "'" + ties + "' " + kinds.get(i).replaceFirst(" (/.*?)( \\d+)?$", " '$1'$2")
                                + " >'"
                                + bench.work.resolve(i + " " + kinds.get(i).split(" ")[0]) + "' 2>&1 &\n")
                        .collect(Collectors.joining())
                + "wait";
        StageId id = bench.script(script).id();
        StageBench.until(
                "all are ready",
                SOON,
                () -> outputs().size() == kinds.size()
                        && outputs().stream().allMatch(f -> said(f, "ready") || said(f, "cannot")));
        PreflightReport report = look(id);
        assertEquals(List.of(), report.obstacles());
        assertFalse(report.options().tcpClose()
                || report.options().tcpEstablished()
                || report.options().linkRemap());
        bench.engine.suspend(id, bench.archive(id), bench.key);
        bench.engine.resume(bench.archive(id), bench.key);
        List<Path> working = outputs().stream().filter(f -> said(f, "ready")).toList();
        assertTrue(working.size() > 30, "most of them work on this kernel");
        List<Long> before = working.stream().map(StageBench::lines).toList();
        StageBench.until("all go on", SOON, () -> {
            for (int i = 0; i < working.size(); i++) {
                if (StageBench.lines(working.get(i)) <= before.get(i)) {
                    return false;
                }
            }
            return true;
        });
    }

    private List<Path> outputs() {
        try (var files = Files.list(bench.work)) {
            return files.toList();
        } catch (IOException e) {
            return List.of();
        }
    }

    @Test
    void connectionsInsideAndDeletedFilesChooseOptions() throws Exception {
        PreflightReport inside = look(tied("tcp-inside"));
        assertEquals(List.of(), inside.obstacles());
        assertTrue(inside.options().tcpEstablished());
        StageId sparse = tied("deleted", bench.folder.resolve("large").toString(), "3000000000");
        assertEquals(List.of(), look(sparse).obstacles(), "a file of holes needs no room");
        PreflightReport linked =
                look(tied("deleted-linked", bench.folder.resolve("linked").toString()));
        assertEquals(List.of(FailureReason.LINKED_ELSEWHERE), reasons(linked));
        assertTrue(linked.options().linkRemap());
    }

    @Test
    void aStageOfManyProcessesThatComeAndGo() throws Exception {
        StageId id = bench.script("i=0; while [ $i -lt 200 ]; do i=$((i+1)); sleep 60 & done; echo ready;"
                        + " while :; do /bin/true; (/bin/true); done")
                .id();
        StageBench.until(
                "all are there", SOON, () -> said(bench.engine.status(id).output(), "ready"));
        for (int i = 0; i < 20; i++) {
            PreflightReport report = look(id);
            assertEquals(List.of(), report.obstacles());
        }
        bench.engine.kill(id);
        assertEquals(
                List.of(),
                Preflight.of(new Preflight.Subject(
                                new io.jenkins.plugins.preemptible.engine.host.HostProcess(4194303, 1, Proc.bootId()),
                                List.of(4194303L),
                                List.of(),
                                null,
                                bench.folder))
                        .obstacles());
    }
}
