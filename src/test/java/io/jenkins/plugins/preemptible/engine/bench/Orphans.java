package io.jenkins.plugins.preemptible.engine.bench;

import java.util.Collection;
import jnr.ffi.LibraryLoader;
import jnr.ffi.Pointer;

/**
 * Takes in the processes whose parents a dump has ended, and reaps them: a host's first process may take its time, and
 * until then their process ids cannot be restored.
 *
 * <ol>
 *   <li>While open, orphans below this JVM become its children (prctl(2), PR_SET_CHILD_SUBREAPER).
 *   <li>They are waited for by their ids, so that Java's own children stay Java's.
 *   <li>Closed, orphans go where they went before.
 * </ol>
 */
final class Orphans implements AutoCloseable {

    /** The functions as the C library names them. */
    public interface Functions {
        int prctl(int option, long value, long none, long nor, long these);

        int waitpid(int pid, Pointer status, int options);
    }

    private static final int PR_SET_CHILD_SUBREAPER = 36;
    private static final Functions C = LibraryLoader.create(Functions.class).load("c");

    private Orphans() {}

    static Orphans adopted() {
        C.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        return new Orphans();
    }

    /** Waits for processes that were ended. One that is another's child is left to that one. */
    void reap(Collection<Long> pids) {
        for (long pid : pids) {
            C.waitpid((int) pid, null, 0);
        }
    }

    @Override
    public void close() {
        C.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    }
}
