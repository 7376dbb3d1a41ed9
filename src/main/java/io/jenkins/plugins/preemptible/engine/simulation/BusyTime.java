package io.jenkins.plugins.preemptible.engine.simulation;

/**
 * Executor time held in a window of time.
 *
 * <ol>
 *   <li>The window is that in which jobs arrive: before and after it, executors stand idle for want of work.
 *   <li>What lies outside of it is cut off.
 *   <li>An executor is busy whatever holds it, restores included.
 * </ol>
 */
final class BusyTime {

    private final long fromMillis;
    private final long toMillis;
    private long millis;

    BusyTime(long fromMillis, long toMillis) {
        this.fromMillis = fromMillis;
        this.toMillis = toMillis;
    }

    void add(long from, long to, int executors) {
        long length = Math.min(to, toMillis) - Math.max(from, fromMillis);
        millis += Math.max(0, length) * executors;
    }

    /** From 0 to 1; 0 for a window without length. */
    double share(int executors) {
        return toMillis == fromMillis ? 0 : (double) millis / ((double) (toMillis - fromMillis) * executors);
    }
}
