package io.jenkins.plugins.preemptible.engine.image;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/**
 * An archive that somebody else is still writing, from its beginning to its end, so that it is read meanwhile.
 *
 * <p>What is there may be read: nobody writes it twice. It is looked at again every few milliseconds, without any agreement with
 * the one that writes, which may be another process. It ends where its tail tells its own length; nobody need know that before.
 *
 * @param patience after how long without a further byte it counts as cut off
 */
public record Arrival(Duration patience) {

    private static final long LOOK_MILLIS = 3;

    /**
     * How far it may be read.
     *
     * @param bytes from the beginning of the file; what may be the tail is left out
     * @param whole whether that is all in front of the tail
     */
    public record Reach(long bytes, boolean whole) {}

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
     * Waits until it can be read beyond that position, or has come to its end.
     *
     * @param position 0 or more; {@link Long#MAX_VALUE} to wait for the end
     * @param cancelled asked at each look
     * @throws ImageException {@link ImageException.Reason#CANCELLED}; {@link ImageException.Reason#TRUNCATED} when nothing
     *     more comes
     */
    public Reach beyond(long position, FileChannel file, BooleanSupplier cancelled) throws IOException {
        long began = System.nanoTime();
        for (long seen = -1; true; look(cancelled)) {
            long there = file.size();
            if (there != seen) {
                boolean whole = ArchiveFormat.endsWithTail(file, there);
                long bytes = Math.max(0, there - ArchiveFormat.TAIL_BYTES);
                if (whole || bytes > position) {
                    return new Reach(bytes, whole);
                }
                seen = there;
                began = System.nanoTime();
            }
            if (System.nanoTime() - began > patience.toNanos()) {
                throw new ImageException(
                        ImageException.Reason.TRUNCATED,
                        "The file",
                        "only " + there + " bytes came, and no more for " + patience.toSeconds() + " s",
                        null);
            }
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
