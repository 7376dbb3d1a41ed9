package io.jenkins.plugins.preemptible.engine.live;

import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/** A pass of the mirror on a thread of its own, while the stage stands still and CRIU writes its image. */
final class MirrorPass {

    private final FutureTask<Long> files;

    private MirrorPass(FutureTask<Long> files) {
        this.files = files;
    }

    /**
     * Begins it.
     *
     * @param processes of the stage, which stand still
     * @param mostBytes it is given up when it would copy more
     */
    static MirrorPass begin(Mirror mirror, List<Proc.Stat> processes, long mostBytes) throws IOException {
        Set<Long> written = SharedWrites.inodes(processes);
        FutureTask<Long> files = new FutureTask<>(() -> mirror.pass(written, mostBytes, () -> false));
        Thread thread = new Thread(files, "preemptible-mirror");
        thread.setDaemon(true);
        thread.start();
        return new MirrorPass(files);
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
