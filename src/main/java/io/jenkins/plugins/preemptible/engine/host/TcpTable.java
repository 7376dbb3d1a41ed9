package io.jenkins.plugins.preemptible.engine.host;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * The kernel's table of TCP sockets, {@code /proc/PID/net/tcp} and {@code tcp6}.
 *
 * <ol>
 *   <li>It has every socket that listens or is connected, of any user; a closed one is in no table.
 *   <li>An IPv4 address that an IPv6 socket has is given as IPv4, so that both ends of a connection compare.
 *   <li>What cannot be read is left out.
 * </ol>
 *
 * Safe for any thread; each call reads anew.
 */
public final class TcpTable {

    private static final String MAPPED = "0000000000000000FFFF0000";

    private TcpTable() {}

    /**
     * One socket.
     *
     * @param inode 0 for one that belongs to no process any more
     * @param state as {@code net/tcp_states.h} numbers them
     * @param local address and port in the kernel's hexadecimal form, see {@link #address}
     * @param unsent bytes that were written and not acknowledged by the peer
     * @param unread bytes to be read, or of a listening socket connections to be accepted
     */
    public record Row(long inode, int state, String local, String remote, long unsent, long unread) {}

    /** The rows of the network namespace that a process is in. */
    public static List<Row> of(long pid) {
        List<Row> rows = new ArrayList<>();
        for (String table : List.of("tcp", "tcp6")) {
            try {
                Path file = Path.of("/proc", Long.toString(pid), "net", table);
                rows.addAll(parse(new String(Files.readAllBytes(file), StandardCharsets.US_ASCII).lines()));
            } catch (IOException e) {
                // The process has ended, or the host has no IPv6.
            }
        }
        return rows;
    }

    /** The rows of one of these files; its first line has the names of the columns. */
    // sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode …
    public static List<Row> parse(Stream<String> table) {
        return table.skip(1)
                .map(l -> l.trim().split(" +"))
                .filter(f -> f.length > 9)
                .map(f -> new Row(
                        Long.parseLong(f[9]),
                        Integer.parseInt(f[3], 16),
                        unmapped(f[1]),
                        unmapped(f[2]),
                        Long.parseLong(f[4].substring(0, f[4].indexOf(':')), 16),
                        Long.parseLong(f[4].substring(f[4].indexOf(':') + 1), 16)))
                .toList();
    }

    private static String unmapped(String text) {
        return text.startsWith(MAPPED) ? text.substring(MAPPED.length()) : text;
    }

    public static int port(String hexadecimal) {
        return Integer.parseInt(hexadecimal.substring(hexadecimal.indexOf(':') + 1), 16);
    }

    /** Whether this is an address of the loopback network, which no other network namespace reaches. */
    public static boolean loopback(String hexadecimal) {
        return address(hexadecimal).matches("127\\..*|\\[0:0:0:0:0:0:0:1].*");
    }

    /** Address and port for people, such as {@code 127.0.0.1:80} or {@code [0:0:0:0:0:0:0:1]:80}. */
    public static String address(String hexadecimal) {
        String host = hexadecimal.substring(0, hexadecimal.indexOf(':'));
        byte[] bytes = new byte[host.length() / 2];
        // The kernel writes four bytes as a number of the machine; little-endian on all that CRIU runs on but s390.
        for (int i = 0; i < bytes.length; i++) {
            int at = 2 * (i / 4 * 4 + 3 - i % 4);
            bytes[i] = (byte) Integer.parseInt(host.substring(at, at + 2), 16);
        }
        try {
            String text = InetAddress.getByAddress(bytes).getHostAddress();
            return (text.contains(":") ? "[" + text + "]" : text) + ":" + port(hexadecimal);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("no address: " + Arrays.toString(bytes), e);
        }
    }
}
