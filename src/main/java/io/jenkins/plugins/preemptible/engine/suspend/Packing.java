package io.jenkins.plugins.preemptible.engine.suspend;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;

/**
 * The packing of an image on a thread of its own, which can be made idle and be cancelled.
 *
 * <ol>
 *   <li>An idle thread has the lowest CPU and I/O priority, and threads that it starts inherit both (sched(7),
 *       ioprio_set(2)): the workers that compress, too. It ends with the packing, since a user without rights may lower
 *       a priority but not raise it again.
 *   <li>Cancelling interrupts it: the file channel that it writes to is closed, and the writer clears away.
 *   <li>A thread that waits inside the kernel, such as in fsync on a slow disk, does not notice that. It is abandoned
 *       after a while; what it still writes is removed, and the same file is not packed into before that thread has
 *       ended.
 * </ol>
 *
 * @param cancelled asked repeatedly during the packing
 * @param patience how long a cancelled packing is waited for
 */
public record Packing(Path archive, boolean idle, BooleanSupplier cancelled, Duration patience) {

    private static final long POLL_MILLIS = 20;
    private static final Duration PATIENCE = TimeLimits.of(Duration.ofSeconds(10));
    /** The archives that abandoned threads may still write; itself the monitor of all access to it. */
    private static final Set<Path> LEFT = new HashSet<>();

    public Packing(Path archive, boolean idle, BooleanSupplier cancelled) {
        this(archive, idle, cancelled, PATIENCE);
    }

    /** The packing; it asks whether it was given up, and then ends without an archive. */
    public interface Task<T> {
        T run(BooleanSupplier givenUp) throws Exception;
    }

    /**
     * Runs it to its end, or until it was cancelled.
     *
     * @throws SuspendFailedException {@link FailureReason#GOES_ON} when it was cancelled or this thread was
     *     interrupted; no archive is left then, and none appears later
     * @throws SuspendFailedException {@link FailureReason#STAGE_BUSY} when an abandoned packing into the same archive
     *     has not ended yet
     */
    public <T> T run(Task<T> task) throws IOException {
        refuseLeft();
        AtomicBoolean givenUp = new AtomicBoolean();
        AtomicBoolean written = new AtomicBoolean();
        FutureTask<T> future = new FutureTask<>(() -> {
            if (idle) {
                LibC.idleThread();
            }
            T result = task.run(givenUp::get);
            written.set(true);
            return result;
        });
        Thread thread = new Thread(() -> runAndClear(future, written), "preemptible-packing");
        thread.setDaemon(true);
        thread.start();
        boolean interrupted = false;
        long end = 0;
        try {
            while (end == 0 || System.nanoTime() - end < 0) {
                try {
                    T result = future.get(POLL_MILLIS, TimeUnit.MILLISECONDS);
                    thread.join();
                    return result;
                } catch (TimeoutException e) {
                    if (end != 0 || !cancelled.getAsBoolean()) {
                        continue;
                    }
                } catch (InterruptedException e) {
                    interrupted = true;
                } catch (ExecutionException e) {
                    if (end != 0) {
                        throw goesOn(e.getCause());
                    }
                    throw failure(e.getCause());
                }
                if (end == 0) {
                    end = System.nanoTime() + patience.toNanos();
                    givenUp.set(true);
                    thread.interrupt();
                }
            }
            leave(future, written);
            throw goesOn(null);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void refuseLeft() {
        synchronized (LEFT) {
            if (LEFT.contains(archive)) {
                throw new SuspendFailedException(
                        FailureReason.STAGE_BUSY,
                        "the disk still works on what was packed into " + archive + " before");
            }
        }
    }

    // Either this removes the archive, or the caller that leaves the thread behind finds that it has ended.
    private void runAndClear(FutureTask<?> future, AtomicBoolean written) {
        future.run();
        synchronized (LEFT) {
            if (LEFT.contains(archive)) {
                remove(written);
                LEFT.remove(archive);
            }
        }
    }

    private void leave(FutureTask<?> future, AtomicBoolean written) {
        synchronized (LEFT) {
            if (future.isDone()) {
                remove(written);
            } else {
                LEFT.add(archive);
            }
        }
    }

    // An older archive under that name is left alone.
    private void remove(AtomicBoolean written) {
        try {
            if (written.get()) {
                Files.deleteIfExists(archive);
            }
        } catch (IOException e) {
            // The stage keeps running and its record names no archive: the file is useless.
        }
    }

    private static SuspendFailedException goesOn(Throwable why) {
        return new SuspendFailedException(FailureReason.GOES_ON, null, List.of(), why);
    }

    private static IOException failure(Throwable cause) {
        if (cause instanceof RuntimeException fault) {
            throw fault;
        }
        return cause instanceof IOException io ? io : new IOException(cause);
    }
}
