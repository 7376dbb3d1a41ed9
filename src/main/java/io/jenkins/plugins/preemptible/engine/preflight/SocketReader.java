package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.host.TcpTable;
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
 *   <li>TCP comes from {@link TcpTable}, netlink from {@code /proc/PID/net}, unix sockets and their peers from {@link
 *       SystemCalls}.
 *   <li>TCP sockets of others are among them: both ends of a connection are searched.
 * </ol>
 */
final class SocketReader {

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
            Stream.of("tcp", "tcp6")
                    .flatMap(t -> TcpTable.parse(proc.lines(net.resolve(t))).stream())
                    .filter(r -> r.inode() != 0)
                    .forEach(r ->
                            inet.put(r.inode(), new Inet(r.inode(), r.state(), r.local(), r.remote(), r.unread())));
        }
        Map<Long, Long> netlink = any(protocols, "NETLINK") ? netlink(proc.lines(net.resolve("netlink"))) : Map.of();
        Map<Long, Long> udp = any(protocols, "UDP") ? datagrams(init, proc) : Map.of();
        // The diagnosis speaks of the network that this process is in.
        boolean same = proc.link(ProcFiles.of(init).resolve("ns/net")).equals(proc.link(Path.of("/proc/self/ns/net")));
        Optional<Map<Long, Unix>> unix = same && any(protocols, "UNIX") ? UnixDiagnosis.sockets() : Optional.empty();
        return new Sockets(Map.copyOf(inet), Map.copyOf(unix.orElse(Map.of())), netlink, udp, unix.isPresent());
    }

    /** Bytes that UDP sockets have to be read, by inode; none where there are none. */
    static Map<Long, Long> datagrams(long init, ProcView proc) {
        // Its columns are those of TCP.
        return Stream.of("udp", "udp6", "udplite", "udplite6")
                .flatMap(t -> TcpTable.parse(
                        proc.lines(ProcFiles.of(init).resolve("net").resolve(t)))
                        .stream())
                .filter(r -> r.inode() != 0 && r.unread() > 0)
                .collect(Collectors.toUnmodifiableMap(TcpTable.Row::inode, TcpTable.Row::unread, Math::max));
    }

    private static boolean any(Set<String> protocols, String beginning) {
        return protocols.stream().anyMatch(p -> p.startsWith(beginning));
    }

    // sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode
    static Map<Long, Long> netlink(Stream<String> table) {
        Map<Long, Long> unread = new HashMap<>();
        table.skip(1)
                .map(l -> l.trim().split(" +"))
                .filter(f -> f.length > 9)
                .forEach(f -> unread.put(Long.valueOf(f[9]), Long.valueOf(f[4])));
        return Map.copyOf(unread);
    }
}
