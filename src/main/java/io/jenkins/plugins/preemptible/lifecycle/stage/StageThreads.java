package io.jenkins.plugins.preemptible.lifecycle.stage;

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
 *   <li>What waits for an agent names it, and only so much of it is under way for one agent: whatever an agent does or
 *       does not answer, threads are left for all others.
 *   <li>Runs as SYSTEM: the stage's owner need not be allowed to schedule what the plugin schedules for it.
 *   <li>What escapes from a task is logged, never lost.
 * </ol>
 */
public final class StageThreads {

    private static final Logger LOGGER = Logger.getLogger(StageThreads.class.getName());
    /** More stages than this at once wait their turn: dumps compete for the same disks. */
    private static final int MOST_AT_ONCE = 32;

    /** Dumps on one agent compete for its disk. */
    private static final int MOST_ON_AN_AGENT = 4;

    private static final int MOST_OTHERS_ON_AN_AGENT = 8;

    /** What ends soon must not wait for dumps and restores. */
    private static final int MOST_SHORT_AT_ONCE = 16;

    private static final ExecutorService LONG = pool(MOST_AT_ONCE, "preemptible stages");
    private static final ExecutorService SHORT = pool(MOST_SHORT_AT_ONCE, "preemptible stages, short work");

    /** An agent that hangs must not keep the others from being asked what others wait for. */
    private static final ExecutorService ASKING = pool(MOST_SHORT_AT_ONCE, "preemptible stages, questions");

    private static final ExecutorService QUEUE = pool(1, "preemptible stages, looks at the queue");

    /** Of its own, since Jenkins holds its queue's lock for long where many items wait. */
    private static final ExecutorService ENQUEUEING = pool(1, "preemptible stages, into the queue");

    /** Of its own, so that lines are written in the order in which they were handed over. */
    private static final ExecutorService TELLING = pool(1, "preemptible stages, lines in build logs");

    /** Images are made while their stages' executors have other work: nobody waits for them. */
    private static final ExecutorService SEALING = pool(MOST_AT_ONCE, "preemptible stages, sealing");

    private static final PerAgent SUSPENDING_ON = new PerAgent(MOST_ON_AN_AGENT);
    private static final PerAgent LONG_ON = new PerAgent(MOST_OTHERS_ON_AN_AGENT);
    private static final PerAgent SHORT_ON = new PerAgent(MOST_ON_AN_AGENT);
    private static final PerAgent ASKING_ON = new PerAgent(MOST_ON_AN_AGENT);
    private static final PerAgent SEALING_ON = new PerAgent(MOST_ON_AN_AGENT);

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

    /** The same for what waits for an agent. */
    public static void submitFor(String agent, String what, Work work) {
        run(LONG, LONG_ON, agent, what, work);
    }

    /** Suspends, with only so much of it on one agent at a time that its disk and memory stand it. */
    public static void submitOn(String agent, String what, Work work) {
        run(LONG, SUSPENDING_ON, agent, what, work);
    }

    /** Runs work that may take minutes and that nobody waits for: images of stages whose executors are gone. */
    public static void sealOn(String agent, String what, Work work) {
        run(SEALING, SEALING_ON, agent, what, work);
    }

    /** Runs work that takes a moment and that others wait for. */
    public static void soon(String what, Work work) {
        run(SHORT, what, work);
    }

    /** The same for what waits for an agent. */
    public static void soonFor(String agent, String what, Work work) {
        run(SHORT, SHORT_ON, agent, what, work);
    }

    /** Runs short work after a delay. */
    public static void schedule(String what, long delayMillis, Work work) {
        Timer.get().schedule(() -> soon(what, work), delayMillis, TimeUnit.MILLISECONDS);
    }

    /** The same for what waits for an agent. */
    public static void scheduleFor(String agent, String what, long delayMillis, Work work) {
        Timer.get().schedule(() -> soonFor(agent, what, work), delayMillis, TimeUnit.MILLISECONDS);
    }

    /** Puts something into Jenkins' queue, one work after the other: nobody else waits for the queue's lock. */
    public static void enqueue(String what, Work work) {
        run(ENQUEUEING, what, work);
    }

    /** Writes to build logs, one work after the other. */
    public static void tell(String what, Work work) {
        run(TELLING, what, work);
    }

    /** Runs what nobody waits for. */
    public static void ask(String what, Work work) {
        run(ASKING, what, work);
    }

    /** Asks an agent something that nobody waits for. */
    public static void askFor(String agent, String what, Work work) {
        run(ASKING, ASKING_ON, agent, what, work);
    }

    /** The same after a delay. */
    public static void askFor(String agent, String what, long delayMillis, Work work) {
        Timer.get().schedule(() -> askFor(agent, what, work), delayMillis, TimeUnit.MILLISECONDS);
    }

    /** The name of the agent of a stage; of one that has ended the empty name, which is the built-in node's. */
    public static String agentOf(String stageId) {
        StageRecord stage = StageRegistry.get().find(stageId);
        return stage == null ? "" : stage.node;
    }

    /** Runs a look at the queue after a delay, one at a time; it must not ask any agent. */
    public static void scheduleLook(String what, long delayMillis, Work work) {
        Timer.get().schedule(() -> run(QUEUE, what, work), delayMillis, TimeUnit.MILLISECONDS);
    }

    private static void run(ExecutorService pool, PerAgent lanes, String agent, String what, Work work) {
        lanes.begin(
                agent,
                () -> run(pool, what, () -> {
                    try {
                        work.run();
                    } finally {
                        lanes.done(agent);
                    }
                }));
    }

    private static void run(ExecutorService pool, String what, Work work) {
        pool.execute(() -> {
            try {
                work.run();
            } catch (InterruptedException x) {
                Thread.currentThread().interrupt();
            } catch (Exception | Error x) {
                // Also an Error: remoting throws what an agent says that it has thrown.
                LOGGER.log(Level.WARNING, x, () -> what + " failed");
            }
        });
    }
}
