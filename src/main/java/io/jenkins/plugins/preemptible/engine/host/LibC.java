package io.jenkins.plugins.preemptible.engine.host;

import java.util.Map;
import jnr.ffi.LibraryLoader;
import jnr.ffi.Memory;
import jnr.ffi.Pointer;
import jnr.ffi.Runtime;

/**
 * The calls into the C library that Java has no method for.
 *
 * <ol>
 *   <li>Java can end a process of its own, but not signal any process by its id, nor set priorities and limits.
 *   <li>The library is bound once, at the first call.
 *   <li>A failed call returns false and never throws: the process may have ended meanwhile.
 * </ol>
 *
 * Safe for any thread.
 */
public final class LibC {

    /** signal(7). */
    public static final int SIGKILL = 9;

    public static final int SIGCONT = 18;
    public static final int SIGSTOP = 19;

    /** The functions as the library names them. */
    public interface Functions {
        int kill(int pid, int signal);

        int setpriority(int which, int who, int priority);

        int prlimit(int pid, int resource, Pointer next, Pointer previous);

        long syscall(long number, long which, long who, long value);

        int sched_setaffinity(int task, long size, Pointer mask);

        int setsockopt(int descriptor, int level, int option, Pointer value, int size);

        int close(int descriptor);
    }

    private static final class Bound {
        static final Functions C = LibraryLoader.create(Functions.class).load("c");
    }

    private static final int PRIO_PROCESS = 0;
    private static final int LOWEST_PRIORITY = 19;
    private static final int RLIMIT_FSIZE = 1;
    private static final int IOPRIO_WHO_PROCESS = 1;
    private static final long IOPRIO_IDLE = 3L << 13;
    /** ioprio_set(2) has no function in the C library; by Java's name of the architecture. */
    private static final Map<String, Long> IOPRIO_SET = Map.of("amd64", 251L, "aarch64", 30L, "riscv64", 30L);

    private static final Map<String, Long> IOPRIO_GET = Map.of("amd64", 252L, "aarch64", 31L, "riscv64", 31L);
    /** The same on every architecture. */
    private static final long PIDFD_OPEN = 434;

    private static final long PIDFD_GETFD = 438;
    private static final int IPPROTO_TCP = 6;
    private static final int TCP_REPAIR = 19;

    private LibC() {}

    /** Gives the calling thread, and those that it starts from now on, the lowest CPU and I/O priority. */
    public static void idleThread() {
        // On Linux both count for a thread alone, and 0 means the calling one.
        Bound.C.setpriority(PRIO_PROCESS, 0, LOWEST_PRIORITY);
        Long number = IOPRIO_SET.get(System.getProperty("os.arch"));
        if (number != null) {
            Bound.C.syscall(number, IOPRIO_WHO_PROCESS, 0, IOPRIO_IDLE);
        }
    }

    /**
     * Gives a process the usual CPU priority again, as far as this user may.
     *
     * @return whether the kernel took it
     */
    public static boolean normalPriority(long pid) {
        return Bound.C.setpriority(PRIO_PROCESS, (int) pid, 0) == 0;
    }

    /**
     * Lets every further write of a process into a file fail (EFBIG); it gets SIGXFSZ as well, unless it ignores that.
     *
     * @return whether the kernel took it
     */
    public static boolean forbidWriting(long pid) {
        Pointer limit = Memory.allocateDirect(Runtime.getRuntime(Bound.C), 16);
        limit.putLong(0, 0);
        limit.putLong(8, 0);
        return Bound.C.prlimit((int) pid, RLIMIT_FSIZE, limit, null) == 0;
    }

    /** The class and level of a task's I/O priority as ioprio_get(2) has them, 0 for none of its own, -1 when unknown. */
    public static long ioPriority(long task) {
        Long number = IOPRIO_GET.get(System.getProperty("os.arch"));
        return number == null ? -1 : Bound.C.syscall(number, IOPRIO_WHO_PROCESS, task, 0);
    }

    /**
     * Sets the I/O priority of a task.
     *
     * @return whether the kernel took it
     */
    public static boolean setIoPriority(long task, long priority) {
        Long number = IOPRIO_SET.get(System.getProperty("os.arch"));
        return number != null && Bound.C.syscall(number, IOPRIO_WHO_PROCESS, task, priority) == 0;
    }

    /**
     * Binds a task to processors.
     *
     * @param mask a bit for each processor, the lowest byte first; a multiple of 8 bytes
     * @return whether the kernel took it
     */
    public static boolean setAffinity(long task, byte[] mask) {
        Pointer bits = Memory.allocateDirect(Runtime.getRuntime(Bound.C), mask.length);
        bits.put(0, mask, 0, mask.length);
        return Bound.C.sched_setaffinity((int) task, mask.length, bits) == 0;
    }

    /**
     * Puts a TCP connection of another process into repair mode: from then on the kernel says nothing to its peer, not
     * at its end either.
     *
     * @param descriptor its number in that process
     * @return whether the kernel took it: not for other sockets, nor for one that listens
     */
    public static boolean repairSocket(long pid, int descriptor) {
        long process = Bound.C.syscall(PIDFD_OPEN, pid, 0, 0);
        if (process < 0) {
            return false;
        }
        try {
            long socket = Bound.C.syscall(PIDFD_GETFD, process, descriptor, 0);
            if (socket < 0) {
                return false;
            }
            try {
                Pointer on = Memory.allocateDirect(Runtime.getRuntime(Bound.C), Integer.BYTES);
                on.putInt(0, 1);
                return Bound.C.setsockopt((int) socket, IPPROTO_TCP, TCP_REPAIR, on, Integer.BYTES) == 0;
            } finally {
                Bound.C.close((int) socket);
            }
        } finally {
            Bound.C.close((int) process);
        }
    }

    /**
     * Sends a signal.
     *
     * @param pid of one process, greater than 1: process groups, everybody and init are refused
     * @return whether the kernel took it
     */
    public static boolean kill(long pid, int signal) {
        if (pid <= 1 || pid > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("no process id to signal: " + pid);
        }
        return Bound.C.kill((int) pid, signal) == 0;
    }
}
