package io.jenkins.plugins.preemptible.lifecycle.stage;

/**
 * The memory of one running stage, as it was seen last.
 *
 * <ol>
 *   <li>Every look at the stage and every freeze tells how much it has.
 *   <li>Two looks give the growth; memory that shrank counts as not growing.
 *   <li>Nothing is known before the first look, nor after a restart of the controller until the next.
 * </ol>
 *
 * Safe for any thread.
 */
public final class StageMemory {

    private static final long MOST_BYTES = 1L << 50;

    private long atMillis;
    private long residentBytes = -1;
    private long growthBytesPerSecond;

    StageMemory() {}

    /** @param bytes -1 = it could not be seen */
    public synchronized void seen(long nowMillis, long bytes) {
        // The agent says so, and may say anything.
        if (bytes < 0 || bytes > MOST_BYTES) {
            return;
        }
        long millis = nowMillis - atMillis;
        if (residentBytes >= 0 && millis > 0) {
            growthBytesPerSecond = Math.max(0, (bytes - residentBytes) * 1000 / millis);
        }
        residentBytes = bytes;
        atMillis = nowMillis;
    }

    /** -1 = unknown. */
    public synchronized long residentBytes() {
        return residentBytes;
    }

    public synchronized long growthBytesPerSecond() {
        return growthBytesPerSecond;
    }
}
