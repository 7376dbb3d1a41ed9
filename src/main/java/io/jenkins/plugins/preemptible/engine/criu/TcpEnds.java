package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.content.TcpConnections;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.TcpTable;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * One end of a TCP connection, as a dump or an image has it.
 *
 * @param local address and port, such as {@code 127.0.0.1:80} or {@code [0:0:0:0:0:0:0:1]:80}
 * @param remote likewise
 * @param idle whether the kernel has nothing to send for it, no end of the connection either
 */
record TcpEnds(String local, String remote, boolean idle) {

    private static final String SOCKET = "socket:[";
    private static final int ESTABLISHED = 1;
    private static final int CLOSED = 7;
    private static final int LISTENING = 10;

    /** Those of a frozen tree's own sockets; a closed one is not among them. */
    static List<TcpEnds> ofTree(long init) {
        Set<String> sockets = new HashSet<>();
        Proc.tree(init).forEach(s -> sockets(s.pid(), sockets));
        // The kernel takes milliseconds for its tables, of a host that has no connection too.
        if (sockets.isEmpty()) {
            return List.of();
        }
        return TcpTable.of(init).stream()
                .filter(r -> r.inode() != 0 && r.state() != LISTENING && r.state() != CLOSED)
                .filter(r -> sockets.contains(SOCKET + r.inode() + "]"))
                .map(r -> new TcpEnds(
                        TcpTable.address(r.local()),
                        TcpTable.address(r.remote()),
                        r.state() == ESTABLISHED && r.unsent() == 0))
                .toList();
    }

    /** All that a restore makes again, closed ones too. */
    static List<TcpEnds> ofImage(Path images) throws IOException {
        return TcpConnections.of(images).stream()
                .map(s -> new TcpEnds(s.local(), s.peer(), true))
                .toList();
    }

    private static void sockets(long pid, Set<String> into) {
        try (DirectoryStream<Path> open = Files.newDirectoryStream(Path.of("/proc/" + pid + "/fd"))) {
            for (Path file : open) {
                String target = Files.readSymbolicLink(file).toString();
                if (target.startsWith(SOCKET)) {
                    into.add(target);
                }
            }
        } catch (IOException | DirectoryIteratorException e) {
            // A process that is gone has no connection.
        }
    }

    TcpEnds reversed() {
        return new TcpEnds(remote, local, idle);
    }

    boolean six() {
        return local.startsWith("[");
    }

    /** As an element of a set of nftables: both addresses with their ports. */
    String words() {
        return words(local) + " . " + words(remote);
    }

    private static String words(String end) {
        int colon = end.lastIndexOf(':');
        return end.substring(0, colon).replace("[", "").replace("]", "") + " . " + end.substring(colon + 1);
    }
}
