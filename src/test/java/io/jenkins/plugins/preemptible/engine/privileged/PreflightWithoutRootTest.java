package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What the preflight of a user sees of stages in a user namespace of root's: as much as root's own, but what is told here. */
@Tag("host")
class PreflightWithoutRootTest {

    private static PrivilegedHost host;
    private static Path ties;

    @BeforeAll
    static void install() throws Exception {
        Optional<Criu> criu = new CriuSearch().usable();
        assumeTrue(criu.isPresent(), "no CRIU works on this host");
        assumeTrue(HostTool.find("gcc").isPresent(), "gcc is not installed");
        host = PrivilegedHost.open(criu.get().program());
        Path source = host.base.resolve("ties.c");
        try (InputStream in =
                PrivilegedHost.class.getResourceAsStream("/io/jenkins/plugins/preemptible/engine/ties.c")) {
            Files.copy(in, source);
        }
        ties = host.base.resolve("ties");
        HostTool.Answer gcc = HostTool.run(
                60, List.of("gcc", "-w", "-O1", "-o", ties.toString(), source.toString(), "-lpthread", "-lrt"));
        assertTrue(gcc.ok(), gcc::text);
        Files.setPosixFilePermissions(ties, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    @AfterAll
    static void remove() throws Exception {
        if (host != null) {
            host.close();
        }
    }

    /** What came of each, by what was asked for. */
    private static Map<String, String> live(String folder, List<String> kinds) {
        List<String> words = new ArrayList<>(List.of(ties.toString(), "with-key"));
        List<String> arguments =
                new ArrayList<>(List.of(host.one.home().resolve(folder).toString(), ties.toString()));
        arguments.addAll(kinds);
        words.addAll(host.javaCommand(TiesOfAUser.class, arguments.toArray(String[]::new)));
        PrivilegedHost.Result seen = host.call(host.one, Map.of(), new byte[0], words);
        System.err.println(seen.err());
        assertEquals(0, seen.code(), seen.all());
        assertTrue(seen.out().contains("left=0"), seen.all());
        return seen.out()
                .lines()
                .filter(l -> l.contains("="))
                .collect(Collectors.toMap(l -> l.substring(0, l.indexOf('=')), l -> l.substring(l.indexOf('=') + 1)));
    }

    /** What a kernel does not let a user do is left out. */
    private static void assertSeen(String folder, Map<String, String> expected) {
        Map<String, String> seen = live(folder, List.copyOf(expected.keySet()));
        expected.forEach((kind, words) -> {
            String its = seen.get(kind);
            assertTrue(
                    its.equals("CANNOT") || (its.startsWith(words) && !its.contains("archive only")),
                    () -> kind + ": " + its + ", not " + words);
        });
        assertTrue(seen.values().stream().filter("CANNOT"::equals).count() < 3, seen::toString);
    }

    @Test
    void whatTiesAStageIsFoundBeforeItIsStopped() {
        assertSeen(
                "alone",
                Map.ofEntries(
                        Map.entry("traced", "[TRACED] process"),
                        Map.entry("io_uring", "[IO_URING] process"),
                        Map.entry("tcp-pending", "[PENDING_CONNECTION"),
                        Map.entry("tcp", "[CONNECTED_TCP] process"),
                        Map.entry("tcp-inside", "[TCP_INSIDE] process"),
                        Map.entry("mptcp", "[MPTCP] process"),
                        Map.entry("user-ns", "[NESTED_CONTAINER] process"),
                        Map.entry("vsock", "[SOCKET_KIND] process"),
                        Map.entry("netlink-data", "[UNREAD_NETLINK] process"),
                        Map.entry("secretmem", "[SECRET_MEMORY] process"),
                        Map.entry("seccomp-notify", "[SECCOMP_NOTIFY] process"),
                        Map.entry("landlock", "[LANDLOCK] process"),
                        Map.entry("mq", "[MESSAGE_QUEUE] process"),
                        Map.entry("zombie-leader", "[DEAD_LEADER] process"),
                        Map.entry("packet-pipe", "[UNSUPPORTED] process"),
                        Map.entry("pending-data /tmp/pending", "[PENDING_CONNECTION] process"),
                        Map.entry("deleted-linked /var/tmp/" + host.one.name(), "[LINKED_ELSEWHERE] process")));
    }

    /** From inside of the user namespace nobody outside can be seen: the engine looks for them itself. */
    @Test
    void whatIsHeldOutsideIsFound() {
        assertSeen(
                "outside",
                Map.of(
                        "serve-stream > stream", "[UNIX_SOCKET_OUTSIDE] process",
                        "serve-dgram > dgram", "[UNIX_SOCKET_OUTSIDE] process",
                        "give-socket > take", "[UNIX_SOCKET_OUTSIDE] process",
                        "give-pipe > take", "[PIPE_OUTSIDE] process",
                        "give-memfd > take", "[SHARED_MEMORY_OUTSIDE] process",
                        "give-memfd > take-map", "[SHARED_MEMORY_OUTSIDE] process",
                        "give-pidfd > take", "[PIDFD_OUTSIDE] process",
                        "give-file > take", "[OUTSIDE_FILE] process",
                        "hold-fifo > fifo", "[FIFO_OUTSIDE] process"));
    }

    @Test
    void whatIsCarriedOverGoesOn() {
        assertSeen(
                "free",
                Map.of(
                        "tcp-listen",
                        "RESUMED",
                        "close:tcp",
                        "RESUMED",
                        "unix-inside",
                        "RESUMED",
                        "deleted /var/tmp/" + host.one.name() + "d 100000",
                        "RESUMED",
                        "memory 32",
                        "RESUMED"));
    }

    /** The caller has a key in its session keyring, and a stage would find it there. */
    @Test
    void noStageHasTheKeysOfItsCaller() {
        assertSeen("keys", Map.of("no-key", "RESUMED"));
    }

    /** /proc/PID/map_files is for the initial user namespace alone, so only CRIU finds this; the stage goes on. */
    @Test
    void aNamedSemaphoreIsFoundByCriuAlone() {
        assertSeen("semaphore", Map.of("semaphore", "COVERED_FILE"));
    }
}
