package io.jenkins.plugins.preemptible.engine.preflight;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import jnr.ffi.LibraryLoader;
import jnr.ffi.types.size_t;
import jnr.ffi.types.ssize_t;

/**
 * What only system calls tell: protocol and options of a socket, the type of a file system, and more of the kind.
 *
 * <ol>
 *   <li>A socket's protocol is the attribute {@code system.sockprotoname} of its descriptor, as lsof reads it.
 *   <li>What a kernel or a sandbox does not answer is empty. Then CRIU finds the obstacle at the dump.
 * </ol>
 *
 * Safe for any thread; nothing stays open.
 */
final class SystemCalls {

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

    static final class Bound {
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
}
