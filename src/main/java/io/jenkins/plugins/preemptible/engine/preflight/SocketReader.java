package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Inet;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Kind;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Member;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Sockets;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Unix;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Reads the socket tables of a stage's network namespace.
 *
 * <ol>
 *   <li>Which tables, the protocols of the tree's sockets say; a tree without sockets costs nothing.
 *   <li>TCP and netlink come from {@code /proc/PID/net}, unix sockets and their peers from {@link SystemCalls}.
 *   <li>An IPv4 address that an IPv6 socket shows is written as IPv4, so that both ends of a connection compare.
 * </ol>
 */
final class SocketReader {

    private static final String MAPPED = "0000000000000000FFFF0000";

    private SocketReader() {}

    static Sockets read(long init, List<Member> members, ProcView proc) {
        Set<String> protocols = members.stream()
                .flatMap(m -> m.files().stream())
                .filter(f -> f.kind() == Kind.SOCKET)
                .map(TreeSnapshot.OpenFile::detail)
                .collect(Collectors.toSet());
        if (protocols.isEmpty()) {
            return Sockets.NONE;
        }
        Path net = ProcFiles.of(init).resolve("net");
        Map<Long, Inet> inet = new HashMap<>();
        if (any(protocols, "TCP")) {
            Stream.of("tcp", "tcp6").forEach(t -> inet(proc.lines(net.resolve(t)), inet));
        }
        Map<Long, Long> netlink = any(protocols, "NETLINK")
                ? netlink(proc.lines(net.resolve("netlink")))
                : Map.of();
        // The diagnosis speaks of the network that this process is in.
        boolean same = proc.link(ProcFiles.of(init).resolve("ns/net"))
                .equals(proc.link(Path.of("/proc/self/ns/net")));
        Optional<Map<Long, Unix>> unix =
                same && any(protocols, "UNIX") ? SystemCalls.unixSockets() : Optional.empty();
        return new Sockets(Map.copyOf(inet), Map.copyOf(unix.orElse(Map.of())), netlink, unix.isPresent());
    }

    private static boolean any(Set<String> protocols, String beginning) {
        return protocols.stream().anyMatch(p -> p.startsWith(beginning));
    }

    // sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode …
    static void inet(Stream<String> table, Map<Long, Inet> into) {
        table.skip(1).map(l -> l.trim().split(" +")).filter(f -> f.length > 9).forEach(f -> {
            long inode = Long.parseLong(f[9]);
            if (inode != 0) {
                into.put(inode, new Inet(
                        inode,
                        Integer.parseInt(f[3], 16),
                        address(f[1]),
                        address(f[2]),
                        Long.parseLong(f[4].substring(f[4].indexOf(':') + 1), 16)));
            }
        });
    }

    private static String address(String text) {
        return text.startsWith(MAPPED) ? text.substring(MAPPED.length()) : text;
    }

    // sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode
    static Map<Long, Long> netlink(Stream<String> table) {
        Map<Long, Long> unread = new HashMap<>();
        table.skip(1).map(l -> l.trim().split(" +")).filter(f -> f.length > 9).forEach(f ->
                unread.put(Long.valueOf(f[9]), Long.valueOf(f[4])));
        return Map.copyOf(unread);
    }
}
