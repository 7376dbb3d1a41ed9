package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import java.io.IOException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;

/**
 * The packing of an image on a thread of its own, which can be made idle and be cancelled.
 *
 * <ol>
 *   <li>An idle thread has the lowest CPU and I/O priority, and threads that it starts inherit both (sched(7),
 *       ioprio_set(2)): zstd's workers too.
 *   <li>It ends with the packing, since a user without rights may lower a priority but not raise it again.
 *   <li>Cancelling interrupts it: the file channel that it writes to is closed, and the writer clears away.
 * </ol>
 */
record Packing(boolean idle, BooleanSupplier cancelled) {

    private static final long LOOK_MILLIS = 20;

    /** Runs it to its end, whatever happens. */
    <T> T run(Callable<T> task) throws IOException {
        FutureTask<T> future = new FutureTask<>(() -> {
            if (idle) {
                LibC.idleThread();
            }
            return task.call();
        });
        Thread thread = new Thread(future, "preemptible-packing");
        thread.setDaemon(true);
        thread.start();
        boolean gaveUp = false;
        boolean interrupted = false;
        while (true) {
            try {
                T result = future.get(LOOK_MILLIS, TimeUnit.MILLISECONDS);
                thread.join();
                return result;
            } catch (TimeoutException e) {
                if (!gaveUp && cancelled.getAsBoolean()) {
                    gaveUp = true;
                    thread.interrupt();
                }
            } catch (InterruptedException e) {
                interrupted = true;
                gaveUp = true;
                thread.interrupt();
            } catch (ExecutionException e) {
                if (gaveUp) {
                    throw new SuspendFailedException(FailureReason.GOES_ON, null, java.util.List.of(), e.getCause());
                }
                if (e.getCause() instanceof IOException io) {
                    throw io;
                }
                if (e.getCause() instanceof RuntimeException fault) {
                    throw fault;
                }
                throw new IOException(e.getCause());
            } finally {
                if (interrupted && future.isDone()) {
                    Thread.currentThread().interrupt();
                }
            }
        }
    }
}
