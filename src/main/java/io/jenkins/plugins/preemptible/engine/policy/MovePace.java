package io.jenkins.plugins.preemptible.engine.policy;

/**
 * How long a move of a suspended stage to another agent takes, as earlier moves have shown.
 *
 * <ol>
 *   <li>A part that does not depend on the size, such as the restore itself, and one that does. Small moves tell of the
 *       first, others of the second.
 *   <li>Each new measurement counts as much as all before it: disks and connections change.
 * </ol>
 *
 * Pure.
 *
 * @param fixedMillis at least 0
 * @param millisPerByte of image and workspace as they are stored, at least 0
 */
public record MovePace(double fixedMillis, double millisPerByte) {

    /** Before the first move: two seconds, and 50 MB/s. */
    public static final MovePace DEFAULT = new MovePace(2000, 1000 / 50e6);

    private static final long SMALL_BYTES = 16L << 20;
    /** What an expectation is cut off at, so that nothing overflows. */
    private static final double MOST_MILLIS = 1e12;

    public MovePace {
        if (!(fixedMillis >= 0) || !(millisPerByte >= 0)) {
            throw new IllegalArgumentException("negative: " + fixedMillis + ", " + millisPerByte);
        }
    }

    /** The same after one more move. */
    public MovePace after(long bytes, long millis) {
        double took = Math.max(0, Math.min(millis, MOST_MILLIS));
        return bytes < SMALL_BYTES
                ? new MovePace((fixedMillis + took) / 2, millisPerByte)
                : new MovePace(fixedMillis, (millisPerByte + Math.max(0, took - fixedMillis) / bytes) / 2);
    }

    /** @return at least 1 */
    public long expectedMillis(long bytes) {
        return (long) Math.max(1, Math.min(MOST_MILLIS, fixedMillis + millisPerByte * Math.max(0, bytes)));
    }
}
