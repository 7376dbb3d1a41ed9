package io.jenkins.plugins.preemptible.engine.live;

import java.io.IOException;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.BooleanSupplier;

/** A pass of the mirror on a thread of its own, while the stage stands still and CRIU writes its image. */
final class MirrorPass {

    private final FutureTask<Long> files;
    private volatile boolean failed;
    private volatile boolean givenUp;

    private MirrorPass(Mirror mirror, Set<Long> written, long mostBytes, BooleanSupplier tooLong) {
        this.files = new FutureTask<>(() -> {
            boolean done = false;
            try {
                long copied = mirror.pass(written, mostBytes, () -> givenUp || tooLong.getAsBoolean());
                done = true;
                return copied;
            } finally {
                failed = !done;
            }
        });
    }

    /**
     * Begins it.
     *
     * @param written inodes of files that are copied in any case
     * @param mostBytes it is given up when it would copy more
     * @param tooLong it is given up then
     */
    static MirrorPass begin(Mirror mirror, Set<Long> written, long mostBytes, BooleanSupplier tooLong) {
        MirrorPass pass = new MirrorPass(mirror, written, mostBytes, tooLong);
        Thread thread = new Thread(pass.files, "preemptible-mirror");
        thread.setDaemon(true);
        thread.start();
        return pass;
    }

    /** Whether it has ended without a whole copy. */
    boolean failed() {
        return failed;
    }

    /** Lets it end soon: nobody wants the copy any more. */
    void giveUp() {
        givenUp = true;
    }

    /** Waits for its end, whatever that is, also when this thread is interrupted. */
    void join() {
        boolean interrupted = false;
        while (true) {
            try {
                files.get();
                break;
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

    /** How much it has copied. */
    long copiedBytes() throws IOException {
        try {
            return files.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException fault) {
                throw fault;
            }
            throw e.getCause() instanceof IOException io ? io : new IOException(e.getCause());
        }
    }
}
