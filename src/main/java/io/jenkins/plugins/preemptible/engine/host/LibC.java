package io.jenkins.plugins.preemptible.engine.host;

import jnr.ffi.LibraryLoader;

/**
 * The calls into the C library that Java has no method for.
 *
 * <ol>
 *   <li>{@code kill(2)}: Java can end a process of its own, not signal any process by its id.
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
    }

    private static final class Bound {
        static final Functions C = LibraryLoader.create(Functions.class).load("c");
    }

    private LibC() {}

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
