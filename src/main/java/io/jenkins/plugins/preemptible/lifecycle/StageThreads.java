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
 *   <li>Pools of its own, so that a slow agent never holds Jenkins' timer or a Pipeline's thread: one for what takes
 *       long, one for what others wait for, one for questions that nobody waits for. Looks at the queue, which ask no
 *       agent, have a thread to themselves.
 *   <li>Runs as SYSTEM: the stage's owner need not be allowed to schedule what the plugin schedules for it.
 *   <li>What escapes from a task is logged, never lost.
 * </ol>
 */
public final class StageThreads {

    private static final Logger LOGGER = Logger.getLogger(StageThreads.class.getName());
    /** More stages than this at once wait their turn: dumps compete for the same disks. */
    private static final int MOST_AT_ONCE = 16;

    private static final int MOST_ON_AN_AGENT = 4;

    /** What ends soon must not wait for dumps and restores. */
    private static final int MOST_SHORT_AT_ONCE = 8;

    private static final ExecutorService LONG = pool(MOST_AT_ONCE, "preemptible stages");
    private static final ExecutorService SHORT = pool(MOST_SHORT_AT_ONCE, "preemptible stages, short work");

    /** An agent that hangs must not keep the others from being asked what others wait for. */
    private static final ExecutorService ASKING = pool(MOST_SHORT_AT_ONCE, "preemptible stages, questions");

    private static final ExecutorService QUEUE = pool(1, "preemptible stages, looks at the queue");

    /** Images are made while their stages' executors are somebody else's: nobody waits for them. */
    private static final ExecutorService SEALING = pool(MOST_AT_ONCE, "preemptible stages, sealing");

    private static final PerAgent ON_AGENTS = new PerAgent(MOST_ON_AN_AGENT);

    private StageThreads() {}

    private static ExecutorService pool(int most, String name) {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                most,
                most,
                30,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                new NamingThreadFactory(new DaemonThreadFactory(), name));
        pool.allowCoreThreadTimeOut(true);
        return new ImpersonatingExecutorService(new ContextResettingExecutorService(pool), ACL.SYSTEM2);
    }

    /** A piece of work that may fail. */
    @FunctionalInterface
    public interface Work {
        void run() throws Exception;
    }

    /** Runs work that may take minutes: suspensions, restores, endings. */
    public static void submit(String what, Work work) {
        run(LONG, what, work);
    }

    /** The same, with only so much of it on one agent at a time that its disk and memory stand it. */
    public static void submitOn(String agent, String what, Work work) {
        ON_AGENTS.begin(agent, () -> submit(what, () -> {
            try {
                work.run();
            } finally {
                ON_AGENTS.done(agent);
            }
        }));
    }

    /** Runs work that may take minutes and that nobody waits for: images of stages whose executors are gone. */
    static void seal(String what, Work work) {
        run(SEALING, what, work);
    }

    /** Runs work that takes a moment and that others wait for. */
    public static void soon(String what, Work work) {
        run(SHORT, what, work);
    }

    /** Runs short work after a delay. */
    public static void schedule(String what, long delayMillis, Work work) {
        Timer.get().schedule(() -> soon(what, work), delayMillis, TimeUnit.MILLISECONDS);
    }

    /** Asks an agent something that nobody waits for. */
    static void ask(String what, Work work) {
        run(ASKING, what, work);
    }

    /** The same after a delay. */
    static void ask(String what, long delayMillis, Work work) {
        Timer.get().schedule(() -> ask(what, work), delayMillis, TimeUnit.MILLISECONDS);
    }

    /** Runs a look at the queue after a delay, one at a time; it must not ask any agent. */
    public static void scheduleLook(String what, long delayMillis, Work work) {
        Timer.get().schedule(() -> run(QUEUE, what, work), delayMillis, TimeUnit.MILLISECONDS);
    }

    private static void run(ExecutorService pool, String what, Work work) {
        pool.execute(() -> {
            try {
                work.run();
            } catch (InterruptedException x) {
                Thread.currentThread().interrupt();
            } catch (Exception | LinkageError x) {
                LOGGER.log(Level.WARNING, x, () -> what + " failed");
            }
        });
    }
}
