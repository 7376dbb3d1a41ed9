package io.jenkins.plugins.preemptible.move;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Computer;
import io.jenkins.plugins.preemptible.agent.Awaited;
import io.jenkins.plugins.preemptible.lifecycle.Restorer.NotMovedException;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * One attempt to bring a stage to another agent, which may hang although it counts as online.
 *
 * <ol>
 *   <li>Until the agent is asked to restore the stage, {@link #takeBack} ends the attempt at once, whatever it waits for. The
 *       agents are asked by another thread, which does nothing more once it is interrupted.
 *   <li>From {@link #restoring} on the stage may run there, and nothing can be taken back.
 *   <li>A step that takes long is told in the build log, once.
 * </ol>
 *
 * Used by the thread of the resume; {@link #takeBack} by any.
 */
public final class MoveUnderWay implements AutoCloseable {

    private static final Logger LOGGER = Logger.getLogger(MoveUnderWay.class.getName());

    /** A thread that waits for an answer ends at once, one that writes to a full connection does not. */
    private static final long END_MILLIS = TimeUnit.SECONDS.toMillis(5);

    /** By the stages' ids. */
    private static final Map<String, MoveUnderWay> ALL = new ConcurrentHashMap<>();

    private final String stageId;
    private final String agent;
    private final Consumer<String> log;
    private final ExecutorService threads;
    private final long tellMillis;
    /** The step that is waited for, in words. */
    private volatile String step = "";

    private boolean restoring;

    @CheckForNull
    private String takenBackBy;

    @CheckForNull
    private Future<?> work;

    private MoveUnderWay(String stageId, String agent, Consumer<String> log, ExecutorService threads, long tellMillis) {
        this.stageId = stageId;
        this.agent = agent;
        this.log = log;
        this.threads = threads;
        this.tellMillis = tellMillis;
    }

    /**
     * Begins one; under the stage's operation lock, so there is one at a time.
     *
     * @param agent its name for people
     * @param log takes lines for the build log
     */
    static MoveUnderWay begin(String stageId, String agent, Consumer<String> log) {
        return begin(stageId, agent, log, Computer.threadPoolForRemoting, tellMillis());
    }

    static MoveUnderWay begin(
            String stageId, String agent, Consumer<String> log, ExecutorService threads, long tellMillis) {
        MoveUnderWay move = new MoveUnderWay(stageId, agent, log, threads, tellMillis);
        ALL.put(stageId, move);
        return move;
    }

    /** For how long a step may take until the build log tells of it. */
    static long tellMillis() {
        // Longer than a step of a stage of usual size; shorter for tests.
        return Long.getLong(MoveUnderWay.class.getName() + ".tellMillis", TimeUnit.SECONDS.toMillis(20));
    }

    /** What {@link #takeBack} found. */
    public enum TakenBack {
        /** The stage is on no way to another agent. */
        NOTHING,
        /** The attempt ends; the stage stays on its own agent, and nothing of it was changed there. */
        DONE,
        /** The agent was asked to restore it: it may run there. */
        TOO_LATE
    }

    /** Takes back the stage's move to another agent, if one is under way. Returns at once. */
    public static TakenBack takeBack(String stageId, String by) {
        MoveUnderWay move = ALL.get(stageId);
        return move == null ? TakenBack.NOTHING : move.takeBack(by);
    }

    private synchronized TakenBack takeBack(String by) {
        if (restoring) {
            return TakenBack.TOO_LATE;
        }
        takenBackBy = by;
        if (work != null) {
            work.cancel(true);
        }
        return TakenBack.DONE;
    }

    /** The step that begins now, in words that follow the agent's name and a colon; by the thread that takes it. */
    void step(String words) {
        step = words;
    }

    /**
     * Asks agents on another thread and waits for the end of that.
     *
     * @throws NotMovedException when it was taken back
     */
    void bring(Work bringing) throws IOException, InterruptedException {
        run(() -> {
            bringing.run();
            return null;
        });
        notTakenBack();
    }

    /**
     * Has the same done by one more thread, while the caller asks agents for something else; before {@link #restoring}. Giving it
     * up waits for its end, as long as an agent that works may need.
     */
    Awaited<Void> beside(Work bringing) {
        CountDownLatch ended = new CountDownLatch(1);
        Future<?> answer = threads.submit(() -> {
            try {
                bringing.run();
                return null;
            } finally {
                ended.countDown();
            }
        });
        return new Awaited<>() {
            @Override
            public Void get() throws IOException, InterruptedException {
                try {
                    answer.get();
                    return null;
                } catch (ExecutionException x) {
                    throw failure(x.getCause());
                }
            }

            @Override
            public void giveUp() {
                answer.cancel(true);
                try {
                    awaitEnd(ended);
                } catch (InterruptedException x) {
                    Thread.currentThread().interrupt();
                }
            }
        };
    }

    /**
     * The agent is going to be asked to restore the stage, or was asked before.
     *
     * @throws NotMovedException when the move was taken back before
     */
    synchronized void restoring() throws NotMovedException {
        notTakenBack();
        restoring = true;
    }

    /** An agent that was asked before says that the stage is not there. */
    synchronized void notRestoring() {
        restoring = false;
    }

    /** Asks the agent on another thread, after {@link #restoring}. */
    <T> T restore(Callable<T> asking) throws IOException, InterruptedException {
        step("waits for " + agent + " to restore the stage");
        return run(asking);
    }

    private <T> T run(Callable<T> asking) throws IOException, InterruptedException {
        CountDownLatch ended = new CountDownLatch(1);
        Future<T> answer;
        synchronized (this) {
            notTakenBack();
            answer = threads.submit(() -> {
                try {
                    return asking.call();
                } finally {
                    ended.countDown();
                }
            });
            work = answer;
        }
        try {
            return await(answer);
        } catch (CancellationException x) {
            awaitEnd(ended);
            notTakenBack();
            throw x;
        } catch (InterruptedException x) {
            answer.cancel(true);
            awaitEnd(ended);
            throw x;
        } catch (ExecutionException x) {
            notTakenBack();
            throw failure(x.getCause());
        }
    }

    private void awaitEnd(CountDownLatch ended) throws InterruptedException {
        if (!ended.await(END_MILLIS, TimeUnit.MILLISECONDS)) {
            LOGGER.log(Level.FINE, "{0} has not ended what was given up: {1}", new Object[] {agent, step});
        }
    }

    private <T> T await(Future<T> answer) throws InterruptedException, ExecutionException {
        String told = null;
        while (true) {
            String begun = step;
            try {
                return answer.get(tellMillis, TimeUnit.MILLISECONDS);
            } catch (TimeoutException x) {
                if (begun.equals(step) && !begun.equals(told)) {
                    told = begun;
                    log.accept("Moving to " + agent + ": " + begun + ", for " + StageLog.time(tellMillis) + " now. "
                            + outlook());
                }
            }
        }
    }

    private synchronized String outlook() {
        return restoring
                ? "The stage may run there, so this cannot be taken back."
                : "Nothing of the stage is changed yet; preemptible-resume with the name of the stage takes the move back.";
    }

    private static IOException failure(Throwable why) throws IOException, InterruptedException {
        if (why instanceof IOException x) {
            return x;
        }
        if (why instanceof InterruptedException x) {
            throw x;
        }
        if (why instanceof RuntimeException x) {
            throw x;
        }
        if (why instanceof Error x) {
            throw x;
        }
        return new IOException(why);
    }

    private synchronized void notTakenBack() throws NotMovedException {
        if (takenBackBy != null) {
            throw new NotMovedException(
                    null,
                    "The move to " + agent + " was taken back by " + takenBackBy
                            + ", before that agent was asked to restore the stage.",
                    null);
        }
    }

    @Override
    public void close() {
        ALL.remove(stageId, this);
    }

    /** What asks agents. */
    @FunctionalInterface
    interface Work {
        void run() throws IOException, InterruptedException;
    }
}
