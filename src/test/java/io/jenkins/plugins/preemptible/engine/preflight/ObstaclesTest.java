package io.jenkins.plugins.preemptible.engine.preflight;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.Connections;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Holder;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Inet;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Kind;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Mapping;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Member;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Mode;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.OpenFile;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Room;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Sockets;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Stranger;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Tie;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Traits;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Unix;
import io.jenkins.plugins.preemptible.engine.stage.CriuOptions;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Snapshots made by hand: what this machine's kernel and hardware do not have, and what must not be refused. */
class ObstaclesTest {

    private static final Map<String, String> OWN = Map.of("pid", "pid:[1]", "net", "net:[2]", "mnt", "mnt:[3]");
    private static final int MOUNT = 30;

    private static Member member(long pid, List<OpenFile> files, Mapping... mappings) {
        return new Member(pid, "p" + pid, 0, true, false, OWN, files, List.of(mappings), 0, Traits.PLAIN);
    }

    private static OpenFile file(int number, String link, Kind kind, Mode mode, String device) {
        return new OpenFile(number, link, kind, mode, MOUNT, link, device, 1, 0, -1, "");
    }

    private static OpenFile terminal(int number, String link, long master, String identity) {
        return new OpenFile(
                number,
                link,
                Kind.CHARACTER,
                Mode.BOTH,
                MOUNT,
                link,
                master < 0 ? "136:4" : "5:2",
                1,
                0,
                master,
                TreeSnapshot.TERMINAL + identity);
    }

    private static OpenFile socket(long inode, String protocol) {
        String link = "socket:[" + inode + "]";
        return new OpenFile(3, link, Kind.SOCKET, Mode.BOTH, -1, link, "", 1, 0, -1, protocol);
    }

    private static TreeSnapshot tree(Sockets sockets, Member... members) {
        return new TreeSnapshot(List.of(members), List.of(), Set.of(MOUNT), sockets, Map.of(), Room.ENOUGH);
    }

    private static List<FailureReason> reasons(TreeSnapshot tree) {
        return Obstacles.of(tree, Connections.REFUSE).stream()
                .map(Obstacle::reason)
                .toList();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        /dev/nvidia0 | CHARACTER | 195:0 | GPU_DEVICE
        /dev/dri/renderD128 | CHARACTER | 226:128 | GPU_DEVICE
        /dev/kfd | CHARACTER | 511:0 | GPU_DEVICE
        /dev/kvm | CHARACTER | 10:232 | KVM_DEVICE
        /dev/snd/controlC0 | CHARACTER | 116:0 | DEVICE
        /dev/ttyS0 | CHARACTER | 4:64 | DEVICE
        /dev/ttyUSB0 | CHARACTER | 188:0 | DEVICE
        /dev/sda | BLOCK | 8:0 | DEVICE
        anon_inode:kvm-vm | ANONYMOUS | | KVM_DEVICE
        anon_inode:kvm-vcpu:0 | ANONYMOUS | | KVM_DEVICE
        anon_inode:[perf_event] | ANONYMOUS | | PERF_EVENT
        anon_inode:bpf_link | ANONYMOUS | | BPF
        anon_inode:btf | ANONYMOUS | | BPF
        anon_inode:[vfio-device] | ANONYMOUS | | UNSUPPORTED
        /dmabuf:buffer | REGULAR | | DMA_BUFFER
        /secretmem (deleted) | REGULAR | | SECRET_MEMORY
        """)
    void whatThisMachineMayNotHave(String link, Kind kind, String device, FailureReason reason) {
        OpenFile open = file(5, link, kind, Mode.BOTH, device == null ? "" : device);
        List<Obstacle> obstacles = Obstacles.of(tree(Sockets.NONE, member(10, List.of(open))), Connections.REFUSE);
        assertEquals(List.of(new Obstacle(reason, 10, "p10", "descriptor 5: " + link)), obstacles);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        /dev/null | CHARACTER | 1:3
        /dev/urandom | CHARACTER | 1:9
        /dev/tty | CHARACTER | 5:0
        /dev/console | CHARACTER | 5:1
        /dev/tty1 | CHARACTER | 4:1
        /dev/pts/7 | CHARACTER | 136:7
        /a/file | REGULAR |
        /a/folder | FOLDER |
        pipe:[77] | PIPE |
        anon_inode:[eventfd] | ANONYMOUS |
        anon_inode:[eventpoll] | ANONYMOUS |
        anon_inode:inotify | ANONYMOUS |
        anon_inode:[timerfd] | ANONYMOUS |
        anon_inode:[signalfd] | ANONYMOUS |
        net:[4026531840] | OTHER |
        """)
    void whatIsCarriedOver(String link, Kind kind, String device) {
        OpenFile open = file(5, link, kind, Mode.READ, device == null ? "" : device);
        assertEquals(List.of(), reasons(tree(Sockets.NONE, member(10, List.of(open)))));
    }

    @Test
    void mappings() {
        assertEquals(
                List.of(FailureReason.GPU_DEVICE, FailureReason.DEVICE, FailureReason.SECRET_MEMORY),
                reasons(tree(
                        Sockets.NONE,
                        member(
                                1,
                                List.of(),
                                new Mapping("/dev/nvidia0", true, "0:5 1", 4096),
                                new Mapping("/dev/mem", true, "0:5 2", 4096),
                                new Mapping("/secretmem (deleted)", true, "0:9 3", 4096),
                                new Mapping("/dev/shm/named", true, "0:7 4", 4096),
                                new Mapping("/dev/zero (deleted)", true, "0:1 5", 4096),
                                new Mapping("/SYSV00000000 (deleted)", true, "0:1 6", 4096),
                                new Mapping("/usr/lib/old.so (deleted)", false, "8:1 7", 4096)))));
        Mapping linked = new Mapping("/dev/shm/sem.a (deleted)", true, "0:7 8", 4096, 1);
        assertEquals(
                List.of(FailureReason.LINKED_ELSEWHERE), reasons(tree(Sockets.NONE, member(1, List.of(), linked))));
    }

    @Test
    void aMappingIsReadAsTheKernelWritesIt() {
        String line = "7f00-9f00 rw-s 00000000 fe:01 1234                       /memfd:a b (deleted)";
        assertEquals(
                new Mapping("/memfd:a b (deleted)", true, "254:1 1234", 0x2000),
                FileReader.mapping(line, line.indexOf('/')).orElseThrow());
        String code = "7f00-9f00 r-xp 00000000 fe:01 1234                       /usr/bin/sh";
        assertTrue(FileReader.mapping(code, code.indexOf('/')).isEmpty());
    }

    @Test
    void holdersOutside() {
        OpenFile pipe = file(1, "pipe:[9]", Kind.PIPE, Mode.WRITE, "");
        OpenFile slave = terminal(0, "/dev/pts/4", -1, "0:24 4");
        OpenFile master = terminal(8, "/dev/ptmx", 4, "0:24 4");
        OpenFile sameNumber = terminal(7, "/dev/pts/4", -1, "0:99 4");
        Map<String, List<Holder>> holders = Map.of(
                "pipe:[9]",
                List.of(new Holder(99, "tee", Mode.READ)),
                TreeSnapshot.TERMINAL + "0:24 4",
                List.of(new Holder(98, "sshd", Mode.BOTH)));
        TreeSnapshot tree = new TreeSnapshot(
                List.of(member(1, List.of(pipe, slave))), List.of(), Set.of(MOUNT), Sockets.NONE, holders, Room.ENOUGH);
        List<Obstacle> obstacles = Obstacles.of(tree, Connections.REFUSE);
        assertEquals(
                List.of(FailureReason.PIPE_OUTSIDE, FailureReason.TERMINAL_OUTSIDE),
                obstacles.stream().map(Obstacle::reason).toList());
        assertEquals(
                "descriptor 1: pipe:[9], also held by process 99 tee",
                obstacles.get(0).what());
        TreeSnapshot inside = new TreeSnapshot(
                List.of(member(1, List.of(slave, master, sameNumber))),
                List.of(),
                Set.of(MOUNT),
                Sockets.NONE,
                holders,
                Room.ENOUGH);
        assertEquals(List.of(), Obstacles.of(inside, Connections.REFUSE));
    }

    @Test
    void aFileOfAnotherMount() {
        OpenFile foreign = new OpenFile(3, "/a/file", Kind.REGULAR, Mode.READ, MOUNT + 1, "8:1 5", "", 1, 0, -1, "");
        assertEquals(List.of(FailureReason.OUTSIDE_FILE), reasons(tree(Sockets.NONE, member(1, List.of(foreign)))));
        assertEquals(
                List.of(FailureReason.MESSAGE_QUEUE),
                reasons(tree(Sockets.NONE, member(1, List.of(foreign.as(OpenFile.QUEUE))))));
    }

    @Test
    void aTerminalWhoseFileSystemWasUnmounted() {
        Set<Integer> others = Set.of(MOUNT + 1);
        Member left = member(1, List.of(terminal(4, "/ptmx", 0, "0:50 0"), terminal(5, "/0", -1, "0:50 0")));
        assertEquals(
                List.of(FailureReason.COVERED_FILE, FailureReason.COVERED_FILE),
                reasons(new TreeSnapshot(List.of(left), List.of(), others, Sockets.NONE, Map.of(), Room.ENOUGH)));
        Member given = member(1, List.of(terminal(4, "/dev/ptmx", 0, "0:24 0")));
        assertEquals(
                List.of(FailureReason.OUTSIDE_FILE),
                reasons(new TreeSnapshot(List.of(given), List.of(), others, Sockets.NONE, Map.of(), Room.ENOUGH)));
    }

    private static Sockets inet(Inet... sockets) {
        Map<Long, Inet> all = new HashMap<>();
        for (Inet each : sockets) {
            all.put(each.inode(), each);
        }
        return new Sockets(all, Map.of(), Map.of(), Map.of(), true);
    }

    @Test
    void aConnectionWhoseOtherEndNobodyHas() {
        Inet own = new Inet(1, Inet.CLOSE_WAIT, "0100007F:1F90", "0100007F:C000", 0);
        Inet held = new Inet(2, 5, "0100007F:C000", "0100007F:1F90", 0);
        Inet far = new Inet(1, Inet.CLOSE_WAIT, "0A00000A:C001", "08080808:01BB", 0);
        Member one = member(1, List.of(socket(1, "TCP")));
        assertEquals(List.of(FailureReason.ABANDONED_TCP), reasons(tree(inet(own), one)));
        assertEquals(List.of(FailureReason.CONNECTED_TCP), reasons(tree(inet(own, held), one)));
        assertEquals(List.of(FailureReason.CONNECTED_TCP), reasons(tree(inet(far), one)));
    }

    @Test
    void connections() {
        Inet listening = new Inet(1, Inet.LISTEN, "00000000:1F90", "00000000:0000", 0);
        Inet client = new Inet(2, 1, "0100007F:C000", "0100007F:1F90", 0);
        Inet server = new Inet(3, 1, "0100007F:1F90", "0100007F:C000", 0);
        Inet far = new Inet(4, 1, "0A00000A:C001", "08080808:01BB", 0);
        Member all = member(1, List.of(socket(1, "TCP"), socket(2, "TCP"), socket(3, "TCPv6")));
        TreeSnapshot inside = tree(inet(listening, client, server), all);
        assertEquals(List.of(), reasons(inside));
        assertEquals(new CriuOptions(true, false, false, 1 << 30), OptionsChoice.of(inside, Connections.REFUSE));

        TreeSnapshot half = tree(inet(listening, client, server), member(1, List.of(socket(2, "TCP"))));
        List<Obstacle> obstacles = Obstacles.of(half, Connections.REFUSE);
        assertEquals(
                "descriptor 3: TCP from port 49152 to 127.0.0.1:8080",
                obstacles.get(0).what());
        assertEquals(List.of(), Obstacles.of(half, Connections.CLOSE));
        assertEquals(new CriuOptions(false, true, false, 1 << 30), OptionsChoice.of(half, Connections.CLOSE));

        Member both = member(1, List.of(socket(1, "TCP"), socket(2, "TCP"), socket(3, "TCPv6"), socket(4, "TCP")));
        TreeSnapshot mixed = tree(inet(listening, client, server, far), both);
        assertEquals(List.of(FailureReason.CONNECTED_TCP), reasons(mixed));
        assertEquals(
                List.of(FailureReason.MIXED_CONNECTIONS),
                Obstacles.of(mixed, Connections.CLOSE).stream()
                        .map(Obstacle::reason)
                        .toList());

        Inet asking = new Inet(2, Inet.SYN_SENT, "0100007F:C000", "0100007F:1F90", 0);
        assertEquals(
                List.of(FailureReason.PENDING_CONNECTION),
                reasons(tree(inet(listening, asking), member(1, List.of(socket(1, "TCP"), socket(2, "TCP"))))));
        Inet askingFar = new Inet(2, Inet.SYN_SENT, "0A00000A:C000", "08080808:1F90", 0);
        assertEquals(
                List.of(FailureReason.CONNECTED_TCP),
                reasons(tree(inet(listening, askingFar), member(1, List.of(socket(1, "TCP"), socket(2, "TCP"))))));

        Inet waiting = new Inet(1, Inet.LISTEN, "00000000:1F90", "00000000:0000", 1);
        assertEquals(
                List.of(FailureReason.PENDING_CONNECTION),
                reasons(tree(inet(waiting, client), member(1, List.of(socket(1, "TCP"), socket(2, "TCP"))))));
    }

    @Test
    void theNetlinkTableIsReadAsTheKernelWritesIt() {
        assertEquals(
                Map.of(4L, 0L, 1514L, 7L),
                SocketReader.netlink(
                        Stream.of(
                                "sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode",
                                "00000000103f8f1e 0   0          00000000 0        0        0     2        0        4       ",
                                "00000000ba746992 4   0          00000000 7        0        0     2        0        1514    ")));
    }

    @Test
    void unixSockets() {
        Map<Long, Unix> all = Map.of(
                1L,
                new Unix(1, 1, 2, ""),
                2L,
                new Unix(2, 1, 1, ""),
                3L,
                new Unix(3, 1, 4, ""),
                4L,
                new Unix(4, 1, 3, "/run/docker.sock"),
                5L,
                new Unix(5, 2, 0, ""));
        Sockets sockets = new Sockets(Map.of(), all, Map.of(), Map.of(), true);
        Unix stuck = new Unix(7, 1, 8, "", true, 5, false);
        Unix listening = new Unix(8, 1, 0, "/x");
        assertEquals(
                List.of(FailureReason.PENDING_CONNECTION),
                reasons(tree(
                        new Sockets(Map.of(), Map.of(7L, stuck, 8L, listening), Map.of(), Map.of(), true),
                        member(1, List.of(socket(7, "UNIX-STREAM"), socket(8, "UNIX-STREAM"))))));
        Member member = member(
                1,
                List.of(
                        socket(1, "UNIX-STREAM"),
                        socket(2, "UNIX-STREAM"),
                        socket(3, "UNIX-STREAM"),
                        socket(5, "UNIX")));
        List<Obstacle> obstacles = Obstacles.of(tree(sockets, member), Connections.REFUSE);
        assertEquals(
                List.of(new Obstacle(
                        FailureReason.UNIX_SOCKET_OUTSIDE, 1, "p1", "descriptor 3: unix socket to /run/docker.sock")),
                obstacles);
    }

    @Test
    void theDiagnosisOfUnixSockets() throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(400).order(ByteOrder.nativeOrder());
        // A listening socket with a path and one connection waiting; a client without a peer; the end.
        message(bytes, 1, 100, new int[][] {{0, 'a', 'b'}, {3, 200}});
        message(bytes, 1, 200, new int[][] {});
        message(bytes, 2, 300, new int[][] {{2, 400}});
        bytes.putInt(16)
                .putShort((short) 3)
                .putShort((short) 0)
                .putInt(0)
                .putInt(0)
                .flip();
        Map<Long, Unix> read = new HashMap<>();
        assertTrue(UnixDiagnosis.parse(bytes, read));
        assertEquals(
                Map.of(
                        100L, new Unix(100, 1, 0, "ab"),
                        200L, new Unix(200, 1, 100, "", true, 0, false),
                        300L, new Unix(300, 2, 400, "")),
                read);
        ByteBuffer refusal = ByteBuffer.allocate(36).order(ByteOrder.nativeOrder());
        refusal.putInt(36).putShort((short) 2).position(36).flip();
        assertThrows(IOException.class, () -> UnixDiagnosis.parse(refusal, new HashMap<>()));
        assertFalse(UnixDiagnosis.parse(ByteBuffer.allocate(0), read));
    }

    /** Attributes: the first number is the type, then a name's letters or inodes. */
    private static void message(ByteBuffer into, int type, int inode, int[][] attributes) {
        int start = into.position();
        into.position(start + 16);
        into.put((byte) 1)
                .put((byte) type)
                .put((byte) 1)
                .put((byte) 0)
                .putInt(inode)
                .putLong(0);
        for (int[] attribute : attributes) {
            int each = attribute[0] == 0 ? 1 : 4;
            into.putShort((short) (4 + each * (attribute.length - 1))).putShort((short) attribute[0]);
            for (int i = 1; i < attribute.length; i++) {
                if (each == 1) {
                    into.put((byte) attribute[i]);
                } else {
                    into.putInt(attribute[i]);
                }
            }
            into.position(into.position() + 3 & ~3);
        }
        into.putInt(start, into.position() - start).putShort(start + 4, (short) 20);
    }

    @Test
    void processesAndNamespaces() {
        Map<String, String> other = new HashMap<>(OWN);
        other.put("net", "net:[9]");
        other.put("mnt", "mnt:[9]");
        other.put("pid", "pid:[9]");
        Member init = member(1, List.of());
        Member contained = new Member(2, "bwrap", 0, true, false, other, List.of(), List.of(), 0, Traits.PLAIN);
        Member zombie = new Member(3, "gone", 0, true, false, Map.of(), List.of(), List.of(), 0, Traits.PLAIN);
        Member odd = new Member(4, "odd", 77, false, true, OWN, List.of(), List.of(), 0, Traits.PLAIN);
        TreeSnapshot tree = new TreeSnapshot(
                List.of(init, contained, zombie, odd),
                List.of(new Stranger(5, "nsenter", Tie.IN_GROUP), new Stranger(6, "sleep", Tie.IN_NAMESPACE)),
                Set.of(MOUNT),
                Sockets.NONE,
                Map.of(),
                Room.ENOUGH);
        List<Obstacle> obstacles = Obstacles.of(tree, Connections.REFUSE);
        assertEquals(
                List.of(
                        FailureReason.ESCAPED,
                        FailureReason.NESTED_CONTAINER,
                        FailureReason.NETWORK_NAMESPACE,
                        FailureReason.TRACED,
                        FailureReason.DEAD_LEADER,
                        FailureReason.ESCAPED,
                        FailureReason.ENTERING),
                obstacles.stream().map(Obstacle::reason).toList());
        assertEquals(
                List.of(6L, 2L, 2L, 4L, 4L, 4L, 5L),
                obstacles.stream().map(Obstacle::pid).toList());
        assertEquals(
                List.of(),
                Obstacles.of(
                        new TreeSnapshot(
                                List.of(),
                                List.of(),
                                Set.of(),
                                Sockets.NONE,
                                Map.of(),
                                new Room("/home/images", 1, 0, 0)),
                        Connections.REFUSE));
    }

    private static Member with(Traits traits) {
        return new Member(7, "p7", 0, true, false, OWN, List.of(), List.of(), 0, traits);
    }

    @Test
    void whatCriuWouldLoseWithoutAWord() {
        assertEquals(List.of(), reasons(tree(Sockets.NONE, with(new Traits("", 0x0040000, 0, false)))));
        assertEquals(
                List.of(new Obstacle(FailureReason.PERSONALITY, 7, "p7", "personality 0x60000")),
                Obstacles.of(tree(Sockets.NONE, with(new Traits("", 0x0060000, 0, false))), Connections.REFUSE));
        assertEquals(
                List.of(new Obstacle(FailureReason.SHARED_FOLDER, 7, "p7", "shared with process 6")),
                Obstacles.of(tree(Sockets.NONE, with(new Traits("", 0, 6, false))), Connections.REFUSE));
        assertEquals(
                List.of(new Obstacle(FailureReason.OTHER_USER, 7, "p7", "user 1000, group 1000")),
                Obstacles.of(
                        tree(Sockets.NONE, with(new Traits("user 1000, group 1000", 0, 0, false))),
                        Connections.REFUSE));
        assertEquals(
                List.of(FailureReason.EVENTFD_SEMAPHORE),
                reasons(tree(
                        Sockets.NONE,
                        member(
                                1,
                                List.of(handle("anon_inode:[eventfd]", "eventfd-count: 3\neventfd-semaphore: 1\n"))))));
        assertEquals(
                List.of(),
                reasons(tree(
                        Sockets.NONE,
                        member(
                                1,
                                List.of(handle("anon_inode:[eventfd]", "eventfd-count: 3\neventfd-semaphore: 0\n"))))));
    }

    private static OpenFile handle(String link, String info) {
        return new OpenFile(
                4, link, Kind.ANONYMOUS, Mode.BOTH, MOUNT, link, "", 1, 0, -1, FileReader.handleDetail(link, info));
    }

    @Test
    void aWatchOnADeletedFile() {
        OpenFile watch = handle("anon_inode:inotify", """
                pos:	0
                inotify wd:2 ino:60932 sdev:fe00001 mask:fff ignored_mask:0 fhandle-bytes:8 f_handle:32
                inotify wd:1 ino:6092d sdev:fe00001 mask:fff ignored_mask:0 fhandle-bytes:8 f_handle:2d
                """);
        OpenFile deleted =
                new OpenFile(3, "/x (deleted)", Kind.REGULAR, Mode.BOTH, MOUNT, "254:1 395565", "", 0, 0, -1, "");
        OpenFile other =
                new OpenFile(3, "/x (deleted)", Kind.REGULAR, Mode.BOTH, MOUNT, "254:2 395565", "", 0, 0, -1, "");
        assertEquals(List.of(), reasons(tree(Sockets.NONE, member(1, List.of(watch, other)))));
        assertEquals(
                List.of(new Obstacle(FailureReason.DELETED_WATCH, 2, "p2", "descriptor 4: anon_inode:inotify")),
                Obstacles.of(
                        tree(Sockets.NONE, member(1, List.of(deleted)), member(2, List.of(watch))),
                        Connections.REFUSE));
        Mapping mapped = new Mapping("/x (deleted)", false, "254:1 395565", 4096);
        assertEquals(
                List.of(FailureReason.DELETED_WATCH), reasons(tree(Sockets.NONE, member(1, List.of(watch), mapped))));
    }

    @Test
    void room() {
        List<Obstacle> full =
                Obstacles.of(roomOf(new Room("/home/images", 10 << 20, 5 << 20, Long.MAX_VALUE)), Connections.REFUSE);
        assertEquals(FailureReason.NO_SPACE, full.get(0).reason());
        assertEquals(
                "/home/images: the image may take 10 MB, free are 5 MB",
                full.get(0).what());
        assertEquals(
                List.of(FailureReason.NO_MEMORY),
                reasons(roomOf(new Room("/home/images", 10 << 20, 50 << 20, 5 << 20))));
        assertEquals(List.of(), reasons(roomOf(new Room("/home/images", 10 << 20, 50 << 20, 50 << 20))));
    }

    private static TreeSnapshot roomOf(Room room) {
        return new TreeSnapshot(List.of(member(1, List.of())), List.of(), Set.of(MOUNT), Sockets.NONE, Map.of(), room);
    }

    @Test
    void deletedFiles() {
        List<OpenFile> files = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            files.add(
                    new OpenFile(i, "/x (deleted)", Kind.REGULAR, Mode.BOTH, MOUNT, "8:1 1", "", 0, 3L << 30, -1, ""));
        }
        TreeSnapshot large = tree(Sockets.NONE, member(1, files));
        assertEquals(List.of(), reasons(large));
        long limit = OptionsChoice.of(large, Connections.REFUSE).ghostLimitBytes();
        assertTrue(limit >= 6L << 30 && limit <= (6L << 30) + (1 << 20), () -> "" + limit);
        assertEquals(3L << 30, RoomReader.memory(large.processes()), "one file, however many descriptors");
        OpenFile linked = new OpenFile(1, "/x (deleted)", Kind.REGULAR, Mode.BOTH, MOUNT, "8:1 1", "", 1, 100, -1, "");
        TreeSnapshot remap = tree(Sockets.NONE, member(1, List.of(linked)));
        assertTrue(OptionsChoice.of(remap, Connections.REFUSE).linkRemap());
        assertEquals(List.of(FailureReason.LINKED_ELSEWHERE), reasons(remap));
    }

    /** A process chooses its own name, and a file's name is anybody's. */
    @Test
    void namesAreCleaned() {
        Obstacle obstacle = new Obstacle(FailureReason.PERSONALITY, 7, "p\u0000\ufffe", "\u001b[2Jx");
        assertEquals("p ?", obstacle.command());
        assertEquals(" [2Jx", obstacle.what());
    }
}
