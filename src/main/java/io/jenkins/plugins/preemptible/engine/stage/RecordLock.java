package io.jenkins.plugins.preemptible.engine.stage;

import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Optional;

/**
 * The lock under which a stage's record is changed, in any process; held for a moment only.
 *
 * <p>One change at a time in this process, for all stages: closing any descriptor of a lock file drops all locks of the
 * process on it (fcntl(2)), so no two may be open.
 */
final class RecordLock {

    private static final Object CHANGES = new Object();
    private static final Duration LIMIT = TimeLimits.of(Duration.ofSeconds(30));

    private RecordLock() {}

    /** What is done under the lock. */
    interface Change {
        Optional<StageJson> make() throws IOException;
    }

    /**
     * Waits for changes of others, then makes this one.
     *
     * @return empty when the folder has no record, or is removed meanwhile
     * @throws IOException of the change, or when another process does not release the lock within 30 seconds
     */
    static Optional<StageJson> hold(Path folder, Change change) throws IOException {
        synchronized (CHANGES) {
            if (!new StageFolder(folder).exists()) {
                return Optional.empty();
            }
            try (FileChannel channel = FileChannel.open(
                    folder.resolve("record.lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
                awaitLock(folder, channel);
                return change.make();
            } catch (NoSuchFileException e) {
                if (!Files.exists(folder)) {
                    return Optional.empty();
                }
                throw e;
            }
        }
    }

    // Also for a thread that was interrupted: what it has to write down is what it leaves behind.
    private static void awaitLock(Path folder, FileChannel channel) throws IOException {
        long end = System.nanoTime() + LIMIT.toNanos();
        boolean interrupted = false;
        try {
            while (!tryLock(channel)) {
                if (System.nanoTime() - end > 0) {
                    throw new IOException(
                            "the record in " + folder + " is being changed by a process that does not end");
                }
                try {
                    Thread.sleep(1);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static boolean tryLock(FileChannel channel) throws IOException {
        try {
            return channel.tryLock() != null;
        } catch (OverlappingFileLockException e) {
            // The engine was loaded twice into this JVM, and the other one holds it.
            return false;
        }
    }
}
