package io.jenkins.plugins.preemptible.engine.preflight;

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
import java.util.stream.Stream;
import jnr.ffi.LibraryLoader;
import jnr.ffi.types.size_t;
import jnr.ffi.types.ssize_t;

/**
 * What only system calls tell: the peers of unix sockets, protocol and options of a socket, the type of a file system.
 *
 * <ol>
 *   <li>Peers come from the kernel's socket diagnosis (sock_diag(7)), as {@code ss -xp} has them.
 *   <li>A socket's protocol is the attribute {@code system.sockprotoname} of its descriptor, as lsof reads it.
 *   <li>What a kernel or a sandbox does not answer is empty; CRIU's log has to do then.
 * </ol>
 *
 * Safe for any thread; nothing stays open.
 */
final class SystemCalls {

    private static final int AF_UNIX = 1;
    private static final int AF_NETLINK = 16;
    private static final int SOCK_RAW_CLOEXEC = 3 | 02000000;
    private static final int NETLINK_SOCK_DIAG = 4;
    // As asm-generic has them: x86, ARM, RISC-V, s390.
    private static final int SOL_SOCKET = 1;
    private static final int SO_RCVTIMEO = 20;
    private static final Duration ANSWER_LIMIT = Duration.ofSeconds(5);
    private static final short SOCK_DIAG_BY_FAMILY = 20;
    private static final short REQUEST_DUMP = 0x301;
    private static final short NLMSG_ERROR = 2;
    private static final short NLMSG_DONE = 3;
    // UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_ICONS | UDIAG_SHOW_RQLEN
    private static final int SHOW = 1 | 4 | 8 | 16;
    private static final int HEADER = 16;
    // statx(2): AT_FDCWD, STATX_BLOCKS, and where the blocks of 512 bytes stand in its buffer.
    private static final int CURRENT_FOLDER = -100;
    private static final int BLOCKS = 0x400;
    private static final int BLOCKS_AT = 48;
    // The same for STATX_MNT_ID of Linux 5.8; AT_NO_AUTOMOUNT and AT_STATX_DONT_SYNC: no server is asked.
    private static final int MOUNT = 0x1000;
    private static final int MOUNT_AT = 144;
    private static final int AS_IT_IS = 0x800 | 0x4000;

    /** kcmp(2) has no function in the C library; by Java's name of the architecture. */
    private static final Map<String, Long> KCMP = Map.of("amd64", 312L, "aarch64", 272L, "riscv64", 272L);

    private static final long KCMP_FS = 3;

    /** pidfd_open(2) and pidfd_getfd(2), of the same numbers on every architecture. */
    private static final long PIDFD_OPEN = 434;

    private static final long PIDFD_GETFD = 438;
    // udp(7)
    private static final int SOL_UDP = 17;
    private static final int UDP_CORK = 1;
    // ioctl(2), as asm-generic has it: x86, ARM, RISC-V, s390.
    private static final int FIONREAD = 0x541B;

    /** The functions as the library names them. */
    public interface Functions {
        int socket(int domain, int type, int protocol);

        @ssize_t
        long send(int socket, byte[] bytes, @size_t long length, int flags);

        @ssize_t
        long recv(int socket, byte[] bytes, @size_t long length, int flags);

        int setsockopt(int socket, int level, int name, byte[] value, int length);

        int getsockopt(int socket, int level, int name, byte[] value, int[] length);

        int close(int descriptor);

        @ssize_t
        long getxattr(String path, String name, byte[] value, @size_t long size);

        int statfs(String path, byte[] buffer);

        long syscall(long number, long first, long second, long type);

        int ioctl(int descriptor, long request, byte[] value);

        int statx(int folder, String path, int flags, int mask, byte[] buffer);
    }

    private static final class Bound {
        static final Functions C = LibraryLoader.create(Functions.class).load("c");
    }

    private SystemCalls() {}

    /** The protocol of the socket behind a descriptor's link, such as {@code MPTCP}; empty when it is not told. */
    static String protocol(String descriptor) {
        byte[] value = new byte[64];
        long length = Bound.C.getxattr(descriptor, "system.sockprotoname", value, value.length);
        return length <= 0
                ? ""
                : new String(value, 0, (int) length, StandardCharsets.US_ASCII)
                        .replace("\0", "")
                        .trim();
    }

    /** The id of the mount to which a path leads, as {@code mountinfo} has it; empty where that is not told. */
    static Optional<Long> mountId(String path) {
        try {
            byte[] buffer = new byte[256];
            int code = Bound.C.statx(CURRENT_FOLDER, path, AS_IT_IS, MOUNT, buffer);
            ByteBuffer told = ByteBuffer.wrap(buffer).order(ByteOrder.nativeOrder());
            return code == 0 && (told.getInt(0) & MOUNT) != 0 ? Optional.of(told.getLong(MOUNT_AT)) : Optional.empty();
        } catch (UnsatisfiedLinkError e) {
            return Optional.empty();
        }
    }

    /** Whether a process's UDP socket collects a datagram (UDP_CORK); false where the kernel does not tell. */
    static boolean corked(long pid, long descriptor) {
        return number(
                        pid,
                        descriptor,
                        (copy, value) -> Bound.C.getsockopt(copy, SOL_UDP, UDP_CORK, value, new int[] {value.length}))
                != 0;
    }

    /** How many bytes wait to be read from a process's descriptor (FIONREAD); 0 where the kernel does not tell. */
    static int unread(long pid, long descriptor) {
        return number(pid, descriptor, (copy, value) -> Bound.C.ioctl(copy, FIONREAD, value));
    }

    private interface Asking {
        /** Has the kernel put one int into {@code value}; 0 where it did. */
        int ask(int copy, byte[] value);
    }

    private static int number(long pid, long descriptor, Asking asking) {
        int process = (int) Bound.C.syscall(PIDFD_OPEN, pid, 0, 0);
        int copy = process < 0 ? -1 : (int) Bound.C.syscall(PIDFD_GETFD, process, descriptor, 0);
        byte[] value = new byte[Integer.BYTES];
        boolean told = copy >= 0 && asking.ask(copy, value) == 0;
        Stream.of(copy, process).filter(d -> d >= 0).forEach(Bound.C::close);
        return told ? ByteBuffer.wrap(value).order(ByteOrder.nativeOrder()).getInt() : 0;
    }

    /** Whether two processes share root, working folder and umask (CLONE_FS); false where the kernel does not tell. */
    static boolean shareFolder(long pid, long other) {
        Long number = KCMP.get(System.getProperty("os.arch"));
        return number != null && Bound.C.syscall(number, pid, other, KCMP_FS) == 0;
    }

    /** The type of the file system that a file is on, as statfs(2) numbers them. */
    static Optional<Long> fileSystem(String path) {
        byte[] buffer = new byte[256];
        return Bound.C.statfs(path, buffer) == 0
                ? Optional.of(
                        ByteBuffer.wrap(buffer).order(ByteOrder.nativeOrder()).getLong())
                : Optional.empty();
    }

    /** How many bytes a file really takes, holes left out; {@code otherwise} where that is not told. */
    static long allocated(String descriptor, long otherwise) {
        try {
            byte[] buffer = new byte[256];
            return Bound.C.statx(CURRENT_FOLDER, descriptor, 0, BLOCKS, buffer) == 0
                    ? ByteBuffer.wrap(buffer).order(ByteOrder.nativeOrder()).getLong(BLOCKS_AT) * 512
                    : otherwise;
        } catch (UnsatisfiedLinkError e) {
            // A C library from before 2018.
            return otherwise;
        }
    }

    /** All unix sockets of this process's network namespace with their peers; empty where the kernel does not tell. */
    static Optional<Map<Long, Unix>> unixSockets() {
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
            if (Bound.C.send(socket, request.array(), request.capacity(), 0) != request.capacity()) {
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
        return Bound.C.socket(AF_NETLINK, SOCK_RAW_CLOEXEC, NETLINK_SOCK_DIAG);
    }

    static void close(int socket) {
        Bound.C.close(socket);
    }

    /** Lets a recv end without an answer: it is waited for under the stage's lock. */
    static void limit(int socket, Duration limit) {
        // struct timeval of 64-bit systems; elsewhere the kernel refuses it, and there is no limit.
        ByteBuffer time = ByteBuffer.allocate(16).order(ByteOrder.nativeOrder());
        time.putLong(limit.toSeconds()).putLong(limit.toNanosPart() / 1000);
        Bound.C.setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, time.array(), time.capacity());
    }

    static Map<Long, Unix> answers(int socket) throws IOException {
        Map<Long, Unix> all = new HashMap<>();
        byte[] bytes = new byte[64 * 1024];
        while (true) {
            long length = Bound.C.recv(socket, bytes, bytes.length, 0);
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
        // Who closed it before it was accepted has no inode any more.
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
