package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Unix;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The unix sockets of a network namespace and their peers, from the kernel's socket diagnosis (sock_diag(7)).
 *
 * <p>{@code ss -xp} shows the same. Safe for any thread. The socket is closed at the end of each question; the kernel's
 * answer is waited for at most five seconds, since the caller holds the stage's lock.
 */
final class UnixDiagnosis {

    private static final int AF_UNIX = 1;
    private static final int AF_NETLINK = 16;
    private static final int SOCK_RAW_CLOEXEC = 3 | 02000000;
    private static final int NETLINK_SOCK_DIAG = 4;
    // As asm-generic has it: x86, ARM, RISC-V, s390.
    private static final int SO_RCVTIMEO = 20;
    private static final Duration ANSWER_LIMIT = TimeLimits.of(Duration.ofSeconds(5));
    private static final short SOCK_DIAG_BY_FAMILY = 20;
    private static final short REQUEST_DUMP = 0x301;
    private static final short NLMSG_ERROR = 2;
    private static final short NLMSG_DONE = 3;
    // UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_ICONS | UDIAG_SHOW_RQLEN
    private static final int SHOW = 1 | 4 | 8 | 16;
    private static final int HEADER = 16;
    // As asm-generic has it: x86, ARM, RISC-V, s390.
    private static final int SOL_SOCKET = 1;

    private UnixDiagnosis() {}

    /** All unix sockets of this process's network namespace with their peers; empty where the kernel does not tell. */
    static Optional<Map<Long, Unix>> sockets() {
        int socket = diagnosis();
        if (socket < 0) {
            return Optional.empty();
        }
        try {
            limit(socket, ANSWER_LIMIT);
            ByteBuffer request = ByteBuffer.allocate(HEADER + 24).order(ByteOrder.nativeOrder());
            request.putInt(request.capacity())
                    .putShort(SOCK_DIAG_BY_FAMILY)
                    .putShort(REQUEST_DUMP)
                    .putInt(1)
                    .putInt(0);
            // States: all; no inode; what to show; a cookie that fits every socket.
            request.put((byte) AF_UNIX).put((byte) 0).putShort((short) 0);
            request.putInt(-1).putInt(0).putInt(SHOW).putInt(-1).putInt(-1);
            if (SystemCalls.Bound.C.send(socket, request.array(), request.capacity(), 0) != request.capacity()) {
                return Optional.empty();
            }
            return Optional.of(answers(socket));
        } catch (IOException e) {
            return Optional.empty();
        } finally {
            close(socket);
        }
    }

    /** A socket of the kind that {@link #answers} reads from; below 0 where there is none. */
    static int diagnosis() {
        return SystemCalls.Bound.C.socket(AF_NETLINK, SOCK_RAW_CLOEXEC, NETLINK_SOCK_DIAG);
    }

    static void close(int socket) {
        SystemCalls.Bound.C.close(socket);
    }

    /** Limits the wait of a recv: the caller holds the stage's lock. */
    static void limit(int socket, Duration limit) {
        // struct timeval of 64-bit systems; elsewhere the kernel refuses it, and there is no limit.
        ByteBuffer time = ByteBuffer.allocate(16).order(ByteOrder.nativeOrder());
        time.putLong(limit.toSeconds()).putLong(limit.toNanosPart() / 1000);
        SystemCalls.Bound.C.setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, time.array(), time.capacity());
    }

    static Map<Long, Unix> answers(int socket) throws IOException {
        Map<Long, Unix> all = new HashMap<>();
        byte[] bytes = new byte[64 * 1024];
        while (true) {
            long length = SystemCalls.Bound.C.recv(socket, bytes, bytes.length, 0);
            if (length < HEADER) {
                throw new IOException("no answer of sock_diag");
            }
            if (parse(ByteBuffer.wrap(bytes, 0, (int) length).order(ByteOrder.nativeOrder()), all)) {
                return all;
            }
        }
    }

    /**
     * Reads the messages of one datagram.
     *
     * @return whether the last message was among them
     */
    static boolean parse(ByteBuffer messages, Map<Long, Unix> into) throws IOException {
        while (messages.remaining() >= HEADER) {
            int start = messages.position();
            int length = messages.getInt(start);
            short type = messages.getShort(start + 4);
            if (type == NLMSG_DONE) {
                return true;
            }
            if (type == NLMSG_ERROR || length < HEADER + 16 || length > messages.remaining()) {
                throw new IOException("sock_diag refused");
            }
            unix(messages, start + HEADER, start + length, into);
            messages.position(Math.min(messages.limit(), start + aligned(length)));
        }
        return false;
    }

    private static void unix(ByteBuffer in, int start, int end, Map<Long, Unix> into) {
        int type = in.get(start + 1);
        long inode = Integer.toUnsignedLong(in.getInt(start + 4));
        long peer = 0;
        String name = "";
        long unsent = 0;
        List<Long> waiting = new ArrayList<>();
        for (int at = start + 16; at + 4 <= end; ) {
            int length = Short.toUnsignedInt(in.getShort(at));
            if (length < 4 || at + length > end) {
                break;
            }
            switch (in.getShort(at + 2)) {
                case 0 -> name = name(in, at + 4, length - 4);
                case 2 -> peer = Integer.toUnsignedLong(in.getInt(at + 4));
                case 3 -> {
                    for (int i = at + 4; i + 4 <= at + length; i += 4) {
                        waiting.add(Integer.toUnsignedLong(in.getInt(i)));
                    }
                }
                // What is to be read, then what was sent and not read.
                case 4 -> unsent = Integer.toUnsignedLong(in.getInt(at + 8));
                default -> {}
            }
            at += aligned(length);
        }
        // A client that closed it before it was accepted has no inode any more.
        boolean givenUp = waiting.removeIf(client -> client == 0);
        Unix itself = new Unix(inode, type, peer, name, false, unsent, givenUp);
        into.merge(inode, itself, (expected, now) -> accepted(now, expected.peer()));
        // One that waits to be accepted has no peer of its own yet: the listening socket will give it one.
        for (long client : waiting) {
            Unix expected = new Unix(client, type, inode, "", true, 0, false);
            into.merge(client, expected, (known, none) -> accepted(known, inode));
        }
    }

    private static Unix accepted(Unix client, long listening) {
        long peer = client.peer() == 0 ? listening : client.peer();
        return new Unix(client.inode(), client.type(), peer, client.name(), true, client.unsent(), client.givenUp());
    }

    private static String name(ByteBuffer in, int at, int length) {
        byte[] name = new byte[length];
        for (int i = 0; i < length; i++) {
            name[i] = in.get(at + i);
        }
        String text = new String(name, StandardCharsets.UTF_8);
        return text.startsWith("\0") ? "@" + text.substring(1) : text.replace("\0", "");
    }

    private static int aligned(int length) {
        return (length + 3) & ~3;
    }
}
