package io.jenkins.plugins.preemptible.engine.content;

import io.jenkins.plugins.preemptible.engine.content.format.ContentException;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.FileEntry;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.InetSocket;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.OtherSocket;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.UnixSocket;
import io.jenkins.plugins.preemptible.engine.content.format.Message;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The sockets of an image, with the words that {@code ss} and netstat(8) have for them.
 *
 * <ol>
 *   <li>Addresses are the words of the kernel's structures, in network order, so they lie in memory as they are.
 *   <li>Two ends of a pair of unix sockets know each other by their inodes.
 *   <li>A number without a word is shown as it is.
 * </ol>
 *
 * Source: CRIU 4.2.1, {@code images/sk-*.proto}; Linux, {@code net/tcp_states.h}, {@code linux/socket.h}.
 */
final class SocketTable {

    private static final int INET = 2;
    private static final int INET6 = 10;
    private static final int UDP = 17;

    private static final List<String> STATES = List.of(
            "",
            "ESTABLISHED",
            "SYN_SENT",
            "SYN_RECEIVED",
            "FIN_WAIT_1",
            "FIN_WAIT_2",
            "TIME_WAIT",
            "CLOSED",
            "CLOSE_WAIT",
            "LAST_ACK",
            "LISTEN",
            "CLOSING");

    private SocketTable() {}

    static List<SocketContent> of(List<Message> entries) throws ContentException {
        List<SocketContent> sockets = new ArrayList<>();
        Map<Long, String> unixNames = new HashMap<>();
        for (Message entry : entries) {
            if (FileKind.of(entry.number(FileEntry.TYPE)) == FileKind.UNIX_SOCKET) {
                FileKind.UNIX_SOCKET
                        .details(entry)
                        .ifPresent(m -> unixNames.put(m.number(UnixSocket.INODE), unixName(m)));
            }
        }
        for (Message entry : entries) {
            FileKind kind = FileKind.of(entry.number(FileEntry.TYPE));
            Message m = kind.details(entry)
                    .orElseThrow(() -> new ContentException(entry.file(), "a socket has no details", null));
            long id = entry.number(FileEntry.ID);
            sockets.add(
                    switch (kind) {
                        case INET_SOCKET -> inet(id, m);
                        case UNIX_SOCKET -> unix(id, m, unixNames);
                        case NETLINK_SOCKET ->
                            new SocketContent(
                                    id,
                                    kind,
                                    m.number(OtherSocket.NETLINK_INODE),
                                    "netlink",
                                    "protocol " + m.number(OtherSocket.NETLINK_PROTOCOL),
                                    "",
                                    "",
                                    "");
                        default ->
                            new SocketContent(
                                    id,
                                    kind,
                                    0,
                                    "packet",
                                    type(m.number(OtherSocket.PACKET_TYPE)),
                                    "",
                                    "protocol " + m.number(OtherSocket.PACKET_PROTOCOL),
                                    "");
                    });
        }
        return sockets;
    }

    private static SocketContent inet(long id, Message m) throws ContentException {
        long family = m.number(InetSocket.FAMILY);
        boolean udp = m.number(InetSocket.PROTOCOL) == UDP;
        boolean hasPeer = m.number(InetSocket.PEER_PORT) != 0;
        return new SocketContent(
                id,
                FileKind.INET_SOCKET,
                m.number(InetSocket.INODE),
                family == INET ? "inet" : family == INET6 ? "inet6" : "family " + family,
                type(m.number(InetSocket.TYPE)),
                udp && !hasPeer ? "" : state(m.number(InetSocket.STATE)),
                address(m, InetSocket.SOURCE_ADDRESS, InetSocket.SOURCE_PORT),
                hasPeer ? address(m, InetSocket.PEER_ADDRESS, InetSocket.PEER_PORT) : "");
    }

    private static String address(Message m, int field, int port) throws ContentException {
        List<Long> words = m.numbers(field);
        // IPv6 has four words; one of IPv4 may be followed by zeros.
        int count = m.number(InetSocket.FAMILY) == INET6 ? 4 : 1;
        ByteBuffer bytes = ByteBuffer.allocate(count * Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < count; i++) {
            bytes.putInt(i < words.size() ? words.get(i).intValue() : 0);
        }
        try {
            String host = InetAddress.getByAddress(bytes.array()).getHostAddress();
            return (host.contains(":") ? "[" + host + "]" : host) + ":" + m.number(port);
        } catch (UnknownHostException e) {
            throw new ContentException(m.file(), "a socket has an address of " + bytes.capacity() + " bytes", e);
        }
    }

    private static SocketContent unix(long id, Message m, Map<Long, String> names) {
        long peer = m.number(UnixSocket.PEER_INODE);
        String peerName = names.getOrDefault(peer, "");
        return new SocketContent(
                id,
                FileKind.UNIX_SOCKET,
                m.number(UnixSocket.INODE),
                "unix",
                type(m.number(UnixSocket.TYPE)),
                // An unconnected one has the state of a closed TCP socket.
                state(m.number(UnixSocket.STATE)),
                unixName(m),
                peer == 0 ? "" : peerName.isEmpty() ? "socket " + peer : peerName);
    }

    private static String unixName(Message m) {
        String name = m.text(UnixSocket.NAME);
        // An abstract name begins with a zero byte, a path may end with one.
        return name.startsWith("\0") ? "@" + name.substring(1) : name.replaceAll("\0+$", "");
    }

    private static String type(long type) {
        return switch ((int) type) {
            case 1 -> "stream";
            case 2 -> "dgram";
            case 3 -> "raw";
            case 5 -> "seqpacket";
            default -> "type " + type;
        };
    }

    private static String state(long state) {
        return state >= 0 && state < STATES.size() ? STATES.get((int) state) : "state " + state;
    }
}
