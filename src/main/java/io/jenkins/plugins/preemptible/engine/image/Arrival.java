package io.jenkins.plugins.preemptible.engine.image;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/**
 * A file that somebody else is still writing, from its beginning to its end, so that it is read meanwhile.
 *
 * <p>What is there may be read: nobody writes it twice. It is looked at again every few milliseconds, without any agreement with
 * the one that writes, which may be another process.
 *
 * @param bytes that it is going to have
 * @param patience after how long without a further byte it counts as cut off
 */
public record Arrival(long bytes, Duration patience) {

    private static final long LOOK_MILLIS = 3;

    /** @throws IllegalArgumentException when the size is negative */
    public Arrival {
        if (bytes < 0) {
            throw new IllegalArgumentException("a file has 0 bytes or more");
        }
    }

    /**
     * Waits until there is a file of that name.
     *
     * @param cancelled asked at each look
     * @throws ImageException {@link ImageException.Reason#CANCELLED}; {@link ImageException.Reason#MISSING} when none comes
     */
    public void begin(Path file, BooleanSupplier cancelled) throws IOException {
        for (long began = System.nanoTime(); !Files.exists(file); look(cancelled)) {
            if (System.nanoTime() - began > patience.toNanos()) {
                throw new ImageException(ImageException.Reason.MISSING, file, null, null);
            }
        }
    }

    /**
     * Waits until the file reaches beyond that position.
     *
     * @param cancelled asked at each look
     * @return how far it reaches; the position itself when the file ends there
     * @throws ImageException {@link ImageException.Reason#CANCELLED}; {@link ImageException.Reason#TRUNCATED} when nothing
     *     more comes; {@link ImageException.Reason#BAD_CONTENT} when it is larger than it was to be
     */
    public long beyond(long position, FileChannel file, BooleanSupplier cancelled) throws IOException {
        long began = System.nanoTime();
        while (true) {
            long there = file.size();
            if (there > bytes) {
                throw new ImageException(
                        ImageException.Reason.BAD_CONTENT,
                        "The file",
                        "it has " + there + " bytes in place of " + bytes,
                        null);
            }
            if (there > position || position >= bytes) {
                return Math.max(there, position);
            }
            if (System.nanoTime() - began > patience.toNanos()) {
                throw new ImageException(
                        ImageException.Reason.TRUNCATED,
                        "The file",
                        "only " + there + " of " + bytes + " bytes came, and no more for " + patience.toSeconds()
                                + " s",
                        null);
            }
            look(cancelled);
        }
    }

    private static void look(BooleanSupplier cancelled) throws IOException {
        if (cancelled != null && cancelled.getAsBoolean()) {
            throw new ImageException(ImageException.Reason.CANCELLED, "The file", null, null);
        }
        try {
            Thread.sleep(LOOK_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted");
        }
    }
}
