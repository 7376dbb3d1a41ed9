package io.jenkins.plugins.preemptible.engine.live;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The free room of the disk that a folder is on, of which a floor stays free.
 *
 * <p>The disk is asked at the first use and after each {@link #STEP} bytes. For one thread at a time.
 */
final class Room {

    static final long STEP = 16L << 20;

    private final Path folder;
    private final FileStore store;
    private final long floorBytes;
    private long unasked = STEP;
    private boolean low;

    private Room(Path folder, FileStore store, long floorBytes) {
        this.folder = folder;
        this.store = store;
        this.floorBytes = floorBytes;
    }

    /** @param folder that exists */
    static Room of(Path folder, long floorBytes) throws IOException {
        return new Room(folder, Files.getFileStore(folder), floorBytes);
    }

    /** Whether both are the same disk. */
    boolean shares(Room other) {
        return store.equals(other.store);
    }

    /**
     * To be called before so much is written.
     *
     * @throws SuspendFailedException {@link FailureReason#NO_SPACE}
     */
    void take(long bytes) {
        unasked += bytes;
        if (unasked >= STEP) {
            require(bytes);
            unasked = 0;
        }
    }

    /** Asks the disk in any case, whether so much may be written. */
    void require(long bytes) {
        if (free() - bytes < floorBytes) {
            low = true;
            throw refusal(bytes);
        }
    }

    /** Asks the disk whether less than the floor is free; once it was, the answer stays. */
    boolean isLow() {
        low |= free() < floorBytes;
        return low;
    }

    /** What {@link #isLow} has found. */
    boolean wasLow() {
        return low;
    }

    private long free() {
        try {
            return store.getUsableSpace();
        } catch (IOException e) {
            throw new UncheckedIOException("the free room of " + folder + " cannot be read", e);
        }
    }

    /** @param bytes that were to be written yet; 0 when that is not known */
    SuspendFailedException refusal(long bytes) {
        return new SuspendFailedException(
                FailureReason.NO_SPACE,
                "this agent's disk, at " + folder + ": "
                        + (bytes >> 20 == 0 ? "" : "the checkpoint may take " + (bytes >> 20) + " MB more, ")
                        + "free are " + (free() >> 20) + " MB, of which " + (floorBytes >> 20) + " MB stay free");
    }
}
