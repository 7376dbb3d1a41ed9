package io.jenkins.plugins.preemptible.engine.image.archive;

import io.jenkins.plugins.preemptible.engine.image.ImageException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;

/**
 * A few threads that work ahead, whose results are taken in the order in which the work was given.
 *
 * <ol>
 *   <li>{@link #inOrder} makes a line: work goes in at one end, results come out at the other.
 *   <li>A line holds two pieces of work for each thread; a caller that gives more takes the oldest result first, so
 *       memory stays the same however much work there is.
 *   <li>The caller's signal to stop is checked with each piece.
 * </ol>
 *
 * A line belongs to one thread; the threads behind it may serve several lines.
 */
final class Workers implements AutoCloseable {

    /** To hash so much takes less than to hand it to another thread and to be woken for the result. */
    static final int SMALL_BYTES = 128 << 10;

    private final ExecutorService threads;
    private final int depth;
    private final Object subject;
    private final BooleanSupplier cancelled;

    /** @param subject what a message about a cancelled piece of work names */
    Workers(int count, Object subject, BooleanSupplier cancelled) {
        this.threads = Executors.newFixedThreadPool(count, work -> {
            Thread thread = new Thread(work, "image-worker");
            thread.setDaemon(true);
            return thread;
        });
        this.depth = 2 * count;
        this.subject = subject;
        this.cancelled = cancelled == null ? () -> false : cancelled;
    }

    /** How many pieces of work a line holds at most. */
    int depth() {
        return depth;
    }

    /** Takes a result. */
    interface Taker<T> {
        void take(T result) throws IOException;
    }

    <T> Line<T> inOrder(Taker<T> taker) {
        return new Line<>(taker);
    }

    void checkCancelled() throws ImageException {
        if (cancelled.getAsBoolean()) {
            throw new ImageException(ImageException.Reason.CANCELLED, subject, null, null);
        }
    }

    /** Pieces of work whose results keep their order. */
    final class Line<T> {
        private final Taker<T> taker;
        private final Deque<Future<T>> pending = new ArrayDeque<>();

        private Line(Taker<T> taker) {
            this.taker = taker;
        }

        void give(Callable<T> work) throws IOException {
            checkCancelled();
            while (pending.size() >= depth) {
                takeOldest();
            }
            pending.add(threads.submit(work));
        }

        /** Gives a result that is there, in its place among the others. */
        void put(T result) throws IOException {
            checkCancelled();
            while (pending.size() >= depth) {
                takeOldest();
            }
            if (pending.isEmpty()) {
                taker.take(result);
            } else {
                pending.add(CompletableFuture.completedFuture(result));
            }
        }

        /** Takes what is left. */
        void finish() throws IOException {
            while (!pending.isEmpty()) {
                takeOldest();
            }
        }

        private void takeOldest() throws IOException {
            T result;
            try {
                result = pending.remove().get();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("interrupted");
            } catch (ExecutionException e) {
                if (e.getCause() instanceof IOException io) {
                    throw io;
                }
                throw new IOException(e.getCause());
            }
            taker.take(result);
        }
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
