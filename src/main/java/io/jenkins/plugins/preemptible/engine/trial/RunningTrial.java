package io.jenkins.plugins.preemptible.engine.trial;

import io.jenkins.plugins.preemptible.engine.api.TrialResult;
import io.jenkins.plugins.preemptible.engine.api.TrialVerdict;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.BooleanSupplier;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * A trial on a thread of its own, beside the packing of the same image.
 *
 * <ol>
 *   <li>{@link #begin} returns at once; {@link #result} waits.
 *   <li>{@link #close} gives it up and returns when nothing of it is left: the image may be removed then.
 *   <li>The log says once for each cause why images are not tried.
 * </ol>
 *
 * For one thread, besides the trial's own.
 */
public final class RunningTrial implements AutoCloseable {

    private static final Logger LOG = Logger.getLogger(RunningTrial.class.getName());
    /** The causes that the log has. */
    private static final Set<String> TOLD = ConcurrentHashMap.newKeySet();

    private final FutureTask<TrialResult> trial;
    private final Thread thread;
    private volatile boolean givenUp;

    private RunningTrial(ImageTrial.Subject subject, BooleanSupplier cancelled) {
        trial = new FutureTask<>(() -> ImageTrial.run(subject, () -> {
            givenUp = givenUp || cancelled.getAsBoolean();
            return givenUp;
        }));
        thread = new Thread(trial, "preemptible-trial");
        thread.setDaemon(true);
    }

    /** @param cancelled asked repeatedly; true gives it up */
    public static RunningTrial begin(ImageTrial.Subject subject, BooleanSupplier cancelled) {
        RunningTrial running = new RunningTrial(subject, cancelled);
        running.thread.start();
        return running;
    }

    /** Whether it has ended already, so that the image must not be counted on; see {@link TrialResult#refuses}. */
    public boolean refuses() {
        return trial.isDone() && now().refuses();
    }

    /** Waits for its end. */
    public TrialResult result() throws InterruptedException {
        thread.join();
        TrialResult result = now();
        if (result.verdict() == TrialVerdict.NOT_TRIED && !givenUp) {
            LOG.log(
                    TOLD.add(result.why()) ? Level.WARNING : Level.FINE,
                    "An image was not tried, and its suspension continues as if it could be restored: {0}",
                    result.why());
        }
        return result;
    }

    private TrialResult now() {
        boolean interrupted = Thread.interrupted();
        try {
            return trial.get();
        } catch (ExecutionException e) {
            return TrialResult.notTried(String.valueOf(e.getCause()));
        } catch (InterruptedException e) {
            throw new IllegalStateException("it has ended", e);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void close() {
        givenUp = true;
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
