package io.jenkins.plugins.preemptible.lifecycle;

import hudson.security.ACL;
import hudson.util.DaemonThreadFactory;
import hudson.util.NamingThreadFactory;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.security.ImpersonatingExecutorService;
import jenkins.util.ContextResettingExecutorService;
import jenkins.util.Timer;

/**
 * The threads on which stages are suspended, resumed and ended.
 *
 * <ol>
 *   <li>A pool of its own, so that a slow agent never holds Jenkins' timer or a Pipeline's thread.
 *   <li>Runs as SYSTEM: the stage's owner need not be allowed to schedule what the plugin schedules for it.
 *   <li>What escapes from a task is logged, never lost.
 * </ol>
 */
public final class StageThreads {

    private static final Logger LOGGER = Logger.getLogger(StageThreads.class.getName());
    /** More stages than this at once wait their turn: dumps compete for the same disks. */
    private static final int MOST_AT_ONCE = 16;

    private static final ExecutorService POOL = new ImpersonatingExecutorService(
            new ContextResettingExecutorService(pool()), ACL.SYSTEM2);

    private StageThreads() {}

    private static ThreadPoolExecutor pool() {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                MOST_AT_ONCE,
                MOST_AT_ONCE,
                30,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                new NamingThreadFactory(new DaemonThreadFactory(), "preemptible stages"));
        pool.allowCoreThreadTimeOut(true);
        return pool;
    }

    /** A piece of work that may fail. */
    @FunctionalInterface
    public interface Work {
        void run() throws Exception;
    }

    /** Runs the work soon, on a thread of the pool. */
    public static void submit(String what, Work work) {
        POOL.execute(() -> {
            try {
                work.run();
            } catch (InterruptedException x) {
                Thread.currentThread().interrupt();
            } catch (Exception | LinkageError x) {
                LOGGER.log(Level.WARNING, x, () -> what + " failed");
            }
        });
    }

    /** Runs the work on a thread of the pool after a delay. */
    public static void schedule(String what, long delayMillis, Work work) {
        Timer.get().schedule(() -> submit(what, work), delayMillis, TimeUnit.MILLISECONDS);
    }
}
