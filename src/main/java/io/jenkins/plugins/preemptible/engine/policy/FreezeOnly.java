package io.jenkins.plugins.preemptible.engine.policy;

/**
 * For how long, and with how much memory, stages that cannot be dumped stand still.
 *
 * <ol>
 *   <li>Only heeded where {@link UndumpableStages#FREEZE_ONLY} is chosen.
 *   <li>A lead before its longest time is over, such a stage has the best of all claims on its own agent.
 *   <li>A stage that was frozen in this way runs at least as long as it stood still before it is chosen again.
 * </ol>
 *
 * @param longestMillis from the freeze to the thaw, at least 1
 * @param memoryPercent of an agent's memory that all its stages frozen in this way may hold together, 0 to 100
 * @throws IllegalArgumentException when one is out of its range
 */
public record FreezeOnly(long longestMillis, int memoryPercent) {

    /** Ten minutes, and a quarter of the memory. */
    public static final FreezeOnly DEFAULT = new FreezeOnly(600_000, 25);

    private static final int LEAD_SHARE = 5;
    private static final long LONGEST_LEAD_MILLIS = 120_000;
    private static final int WHOLE = 100;

    public FreezeOnly {
        if (longestMillis < 1) {
            throw new IllegalArgumentException("The longest time frozen must be positive, but is " + longestMillis);
        }
        if (memoryPercent < 0 || memoryPercent > WHOLE) {
            throw new IllegalArgumentException(
                    "The share of the memory must be 0 to " + WHOLE + " percent, but is " + memoryPercent);
        }
    }

    /** How long before the end of the longest time a stage's claim becomes the best: a fifth, two minutes at most. */
    public long leadMillis() {
        return Math.min(longestMillis / LEAD_SHARE, LONGEST_LEAD_MILLIS);
    }

    /**
     * Whether a frozen stage has to run again soon, even if a user wants it suspended.
     *
     * @param thawByMillis by when it is to run again, in milliseconds since 1970; 0 = it may stay suspended
     */
    public boolean isUrgent(long thawByMillis, long nowMillis) {
        return thawByMillis > 0 && nowMillis >= thawByMillis - leadMillis();
    }

    /** Whether an item that needs so long ends before the stage needs its executor back; 0 = unknown counts as short. */
    boolean hasTimeFor(long expectedMillis) {
        return expectedMillis <= longestMillis - leadMillis();
    }

    /**
     * How many bytes more may be frozen in this way on an agent; 0 = none, or nobody knows.
     *
     * @param totalBytes of its memory; -1 = unknown
     * @param heldBytes by the stages that are frozen in this way
     */
    public long roomBytes(long totalBytes, long heldBytes) {
        return totalBytes < 0 ? 0 : Math.max(0, totalBytes / WHOLE * memoryPercent - heldBytes);
    }
}
