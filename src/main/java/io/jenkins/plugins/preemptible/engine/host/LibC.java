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
 *   <li>A failed call is told as false, never as an exception: the process may have ended meanwhile.
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
