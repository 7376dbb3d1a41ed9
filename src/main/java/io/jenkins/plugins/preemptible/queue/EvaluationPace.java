package io.jenkins.plugins.preemptible.queue;

import java.util.TreeSet;

/**
 * When the next evaluation is due, so that all of them together take no more than a small share of one processor.
 *
 * <ol>
 *   <li>A request names a moment; an evaluation serves all whose moment has come when it begins. One that begins earlier
 *       does not: what the asker knows of may not show in the queue by then.
 *   <li>Evaluations begin {@value #GAP_MILLIS} ms apart at least, and have {@value #SHARE_PERCENT} % of the time, saved up
 *       to {@value #SAVED_MILLIS} ms: after a quiet while the first ones come when they are asked for.
 *   <li>When that is used up, the next one comes when it has been saved again, after {@value #LONGEST_PAUSE_MILLIS} ms at
 *       the latest.
 * </ol>
 *
 * All times are milliseconds of one clock that never goes back. Safe for any thread.
 */
final class EvaluationPace {

    static final int SHARE_PERCENT = 4;
    static final long SAVED_MILLIS = 400;
    static final long LONGEST_PAUSE_MILLIS = 5_000;
    static final long GAP_MILLIS = 50;

    /** Moments so near to each other are one. */
    private static final long NEAR_MILLIS = 20;

    private static final long NEVER = Long.MAX_VALUE;

    /** When the timer rings next; {@link #NEVER} when it was not set. */
    private long set = NEVER;
    /** The moments that were asked for and not served. */
    private final TreeSet<Long> wanted = new TreeSet<>();
    /** Milliseconds of a processor that may be used now; negative when too many were. */
    private double saved = SAVED_MILLIS;

    private long savedAt;
    private long begunAt;

    EvaluationPace(long nowMillis) {
        savedAt = nowMillis;
        begunAt = nowMillis - GAP_MILLIS;
    }

    /**
     * Requests an evaluation.
     *
     * @return the moment for which a timer has to be set; -1 when one is set that is early enough
     */
    synchronized long want(long dueMillis, long nowMillis) {
        // What is due at once waits for nobody: what is asked for meanwhile has the next one.
        wanted.add(dueMillis <= nowMillis ? nowMillis : (dueMillis + NEAR_MILLIS - 1) / NEAR_MILLIS * NEAR_MILLIS);
        return set(nowMillis);
    }

    private long set(long nowMillis) {
        long at = Math.max(wanted.first(), allowed(nowMillis));
        // A timer that does not ring any more: the controller was stopped and started again in one JVM.
        boolean lost = set != NEVER && nowMillis - set > LONGEST_PAUSE_MILLIS;
        if (at >= set && !lost) {
            return -1;
        }
        set = at;
        return at;
    }

    private long allowed(long nowMillis) {
        saved = Math.min(SAVED_MILLIS, saved + (nowMillis - savedAt) * SHARE_PERCENT / 100.0);
        savedAt = nowMillis;
        long pause = saved >= 0 ? 0 : Math.min(LONGEST_PAUSE_MILLIS, (long) (-saved * 100 / SHARE_PERCENT));
        return Math.max(begunAt + GAP_MILLIS, nowMillis + pause);
    }

    /** The timer rings. @return false when nothing is to be done: another one has served it */
    synchronized boolean begin(long setMillis, long nowMillis) {
        if (set != setMillis) {
            return false;
        }
        set = NEVER;
        begunAt = nowMillis;
        wanted.headSet(nowMillis, true).clear();
        return true;
    }

    /**
     * The evaluation is over.
     *
     * @param usedMillis of a processor
     * @return the moment for which a timer has to be set; -1 when none is wanted, or one is set
     */
    synchronized long end(double usedMillis, long nowMillis) {
        allowed(nowMillis);
        saved -= usedMillis;
        return wanted.isEmpty() ? -1 : set(nowMillis);
    }
}
