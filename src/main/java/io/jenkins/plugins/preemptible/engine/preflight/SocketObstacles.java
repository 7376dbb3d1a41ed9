package io.jenkins.plugins.preemptible.engine.preflight;

import static io.jenkins.plugins.preemptible.engine.preflight.Obstacles.obstacle;

import io.jenkins.plugins.preemptible.engine.api.Connections;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.host.TcpTable;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Inet;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Kind;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Member;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.OpenFile;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Unix;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Finds obstacles among sockets.
 *
 * <ol>
 *   <li>A protocol that CRIU does not know is one in every case.
 *   <li>A TCP connection is inside when the socket with the two addresses the other way round is the tree's as well;
 *       CRIU treats all connections of a tree alike, so inside and outside together cannot be had.
 *   <li>A unix socket's peer must be the tree's, too.
 * </ol>
 *
 * Pure. Source: CRIU 4.2.1, what its dump of sockets accepts.
 */
final class SocketObstacles {

    private static final Pattern KNOWN =
            Pattern.compile("(TCP|UDP|UDP-Lite|UDPLITE|RAW|PING)(v6)?|UNIX.*|NETLINK|PACKET");

    private SocketObstacles() {}

    static void find(TreeSnapshot tree, Connections connections, List<Obstacle> obstacles) {
        Ends ends = Ends.of(tree);
        for (Member member : tree.processes()) {
            for (OpenFile file : member.files()) {
                if (file.kind() == Kind.SOCKET) {
                    find(tree, member, file, ends, connections, obstacles);
                }
            }
        }
    }

    /**
     * The connections within the tree, for a CRIU without CAP_NET_ADMIN in the network's user namespace: tcp(7) lets it
     * neither read nor set what is on its way.
     */
    static List<Obstacle> inside(TreeSnapshot tree) {
        Ends ends = Ends.of(tree);
        List<Obstacle> obstacles = new ArrayList<>();
        for (Member member : tree.processes()) {
            for (OpenFile file : member.files()) {
                Inet tcp = file.kind() == Kind.SOCKET ? tree.sockets().inet().get(inode(file)) : null;
                if (tcp != null && tcp.connected() && ends.inside(tcp)) {
                    obstacles.add(obstacle(
                            FailureReason.TCP_INSIDE, member, "descriptor " + file.number() + ": TCP " + words(tcp)));
                }
            }
        }
        return obstacles;
    }

    /**
     * Which ends of TCP connections the tree has.
     *
     * @param sockets the inodes of all its sockets
     * @param tcp their connections, local address first
     * @param listening ports at which it listens
     * @param waiting ports at which it has connections to accept
     * @param held all connections that any process of this network has, remote address first
     * @param inside whether any connection is within the tree
     * @param outside whether any is not
     */
    record Ends(
            Set<Long> sockets,
            Set<String> tcp,
            Set<Integer> listening,
            Set<Integer> waiting,
            Set<String> held,
            boolean inside,
            boolean outside) {

        static Ends of(TreeSnapshot tree) {
            Set<Long> sockets = new HashSet<>();
            Set<String> tcp = new HashSet<>();
            for (Member member : tree.processes()) {
                for (OpenFile file : member.files()) {
                    if (file.kind() == Kind.SOCKET) {
                        sockets.add(inode(file));
                    }
                }
            }
            List<Inet> connected = sockets.stream()
                    .map(tree.sockets().inet()::get)
                    .filter(s -> s != null && s.connected())
                    .toList();
            connected.forEach(s -> tcp.add(s.local() + " " + s.remote()));
            List<Inet> servers = sockets.stream()
                    .map(tree.sockets().inet()::get)
                    .filter(s -> s != null && s.state() == Inet.LISTEN)
                    .toList();
            Set<Integer> listening = ports(servers.stream());
            Set<Integer> waiting = ports(servers.stream().filter(s -> s.unread() > 0));
            Set<String> held = tree.sockets().inet().values().stream()
                    .map(s -> s.remote() + " " + s.local())
                    .collect(Collectors.toSet());
            Ends ends = new Ends(sockets, tcp, listening, waiting, held, false, false);
            boolean inside = connected.stream().anyMatch(ends::inside);
            boolean outside = connected.stream().anyMatch(s -> !ends.inside(s));
            return new Ends(sockets, tcp, listening, waiting, held, inside, outside);
        }

        private static Set<Integer> ports(Stream<Inet> servers) {
            return servers.map(s -> TcpTable.port(s.local())).collect(Collectors.toSet());
        }

        /** Whether it asks a socket of the tree for a connection, which has not answered yet. */
        boolean beingMade(Inet socket) {
            return socket.state() == Inet.SYN_SENT
                    && socket.local().split(":")[0].equals(socket.remote().split(":")[0])
                    && listening.contains(TcpTable.port(socket.remote()));
        }

        /** Whether its other end, on this host, was closed, and no process has that any more. */
        boolean abandoned(Inet socket) {
            String host = socket.remote().split(":")[0];
            return socket.state() == Inet.CLOSE_WAIT
                    && (host.equals(socket.local().split(":")[0]) || TcpTable.loopback(socket.remote()))
                    && !held.contains(socket.local() + " " + socket.remote());
        }

        // The other end of a connection that was not accepted yet has no process yet: its obstacle is the listening
        // socket's.
        boolean inside(Inet socket) {
            return tcp.contains(socket.remote() + " " + socket.local())
                    || waiting.contains(TcpTable.port(socket.remote()));
        }
    }

    private static long inode(OpenFile file) {
        return inode(file.link());
    }

    static long inode(String link) {
        return Long.parseLong(link.replaceAll("[^0-9]", ""));
    }

    private static void find(
            TreeSnapshot tree,
            Member member,
            OpenFile file,
            Ends ends,
            Connections connections,
            List<Obstacle> obstacles) {
        String name = "descriptor " + file.number() + ": ";
        String protocol = file.detail();
        if (protocol.equals(TreeSnapshot.CORKED)) {
            obstacles.add(obstacle(FailureReason.CORKED_SOCKET, member, name + "UDP socket"));
            return;
        }
        if (!protocol.isEmpty() && !KNOWN.matcher(protocol).matches()) {
            boolean multipath = protocol.startsWith("MPTCP");
            obstacles.add(obstacle(
                    multipath ? FailureReason.MPTCP : FailureReason.SOCKET_KIND, member, name + protocol + " socket"));
            return;
        }
        long inode = inode(file);
        if (tree.sockets().netlinkUnread().getOrDefault(inode, 0L) > 0) {
            obstacles.add(obstacle(FailureReason.UNREAD_NETLINK, member, name + "netlink socket"));
        }
        if (tree.sockets().udpUnread().getOrDefault(inode, 0L) > 0) {
            obstacles.add(obstacle(FailureReason.UNREAD_DATAGRAMS, member, name + "UDP socket"));
        }
        Inet tcp = tree.sockets().inet().get(inode);
        if (tcp != null) {
            tcp(tcp, ends, connections).ifPresent(r -> obstacles.add(obstacle(r, member, name + "TCP " + words(tcp))));
        }
        Unix unix = tree.sockets().unix().get(inode);
        if (unix != null && unix.stuck()) {
            obstacles.add(
                    obstacle(FailureReason.PENDING_CONNECTION, member, name + "unix socket with data sent already"));
        }
        if (unix != null && unix.givenUp()) {
            obstacles.add(obstacle(
                    FailureReason.PENDING_CONNECTION,
                    member,
                    name + "unix socket with a connection that was closed before it was accepted"));
        }
        if (unix != null && unix.peer() != 0 && !ends.sockets().contains(unix.peer())) {
            Unix peer = tree.sockets().unix().get(unix.peer());
            boolean named = peer != null && !peer.name().isEmpty();
            // A datagram socket with a name is only connected to again, as after a restart of its daemon.
            if (!named || unix.type() != Unix.DATAGRAM || !OptionsChoice.externalDatagrams()) {
                obstacles.add(obstacle(
                        FailureReason.UNIX_SOCKET_OUTSIDE,
                        member,
                        name + "unix socket to " + (named ? peer.name() : "a socket without a name")));
            }
        }
    }

    private static Optional<FailureReason> tcp(Inet socket, Ends ends, Connections connections) {
        if (socket.state() == Inet.LISTEN) {
            return socket.unread() > 0 ? Optional.of(FailureReason.PENDING_CONNECTION) : Optional.empty();
        }
        if (!socket.connected() || ends.inside(socket)) {
            return Optional.empty();
        }
        if (ends.beingMade(socket)) {
            return Optional.of(FailureReason.PENDING_CONNECTION);
        }
        if (connections == Connections.REFUSE) {
            return Optional.of(ends.abandoned(socket) ? FailureReason.ABANDONED_TCP : FailureReason.CONNECTED_TCP);
        }
        return ends.inside() ? Optional.of(FailureReason.MIXED_CONNECTIONS) : Optional.empty();
    }

    private static String words(Inet socket) {
        return socket.state() == Inet.LISTEN
                ? "port " + TcpTable.port(socket.local())
                : "from port " + TcpTable.port(socket.local()) + " to " + TcpTable.address(socket.remote());
    }
}
