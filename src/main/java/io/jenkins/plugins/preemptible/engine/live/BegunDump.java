package io.jenkins.plugins.preemptible.engine.live;

import io.jenkins.plugins.preemptible.engine.criu.CriuException;
import io.jenkins.plugins.preemptible.engine.criu.CriuGate;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/**
 * A dump whose criu starts while the stage runs, and waits until the stage is frozen.
 *
 * <ol>
 *   <li>{@link #begin} returns when criu waits at its gate; without a gate nothing is started.
 *   <li>{@link #finish} opens its gate, or starts it, and returns when it has ended.
 *   <li>{@link #close} ends one whose gate was never opened: it has not touched the stage then.
 * </ol>
 *
 * For one thread.
 */
final class BegunDump implements AutoCloseable {

    private static final Duration START_LIMIT = Duration.ofSeconds(20);

    private final CriuGate gate;
    private final FutureTask<Void> dump;

    /** The dump itself, which may block. */
    interface Run {
        void run() throws CriuException, IOException;
    }

    private BegunDump(CriuGate gate, Run run) {
        this.gate = gate;
        this.dump = new FutureTask<>(() -> {
            run.run();
            return null;
        });
    }

    /** @param gate null when there is none */
    static BegunDump begin(CriuGate gate, Run run) throws IOException {
        BegunDump begun = new BegunDump(gate, run);
        if (gate != null) {
            Thread thread = new Thread(begun.dump, "preemptible-dump");
            thread.setDaemon(true);
            thread.start();
            long end = System.nanoTime() + START_LIMIT.toNanos();
            // One that fails at its start is told of by finish().
            while (!gate.reached() && !begun.dump.isDone() && System.nanoTime() - end < 0) {
                begun.pause();
            }
        }
        return begun;
    }

    private void pause() throws IOException {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            close();
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    void finish() throws CriuException, IOException {
        if (gate == null) {
            dump.run();
        } else {
            gate.open();
        }
        await();
        try {
            dump.get();
        } catch (InterruptedException e) {
            throw new IllegalStateException("it has ended", e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof CriuException criu) {
                throw criu;
            }
            if (e.getCause() instanceof RuntimeException fault) {
                throw fault;
            }
            throw e.getCause() instanceof IOException io ? io : new IOException(e.getCause());
        }
    }

    /** Until criu has ended; an interruption is kept for later. */
    private void await() {
        boolean interrupted = false;
        while (!dump.isDone()) {
            try {
                dump.get();
            } catch (InterruptedException e) {
                interrupted = true;
            } catch (ExecutionException e) {
                break;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() throws IOException {
        if (gate != null) {
            gate.close();
            await();
        }
    }
}
