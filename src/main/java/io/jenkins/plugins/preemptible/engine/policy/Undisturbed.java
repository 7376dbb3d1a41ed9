package io.jenkins.plugins.preemptible.engine.policy;

import java.time.Instant;
import java.time.LocalTime;
import java.time.ZoneId;
import java.util.Objects;

/**
 * The hours of the day in which long stages are not suspended.
 *
 * <ol>
 *   <li>From {@code from} on and before {@code to}, as the clocks of {@code zone} show it; it may go over midnight.
 *   <li>A stage is long when it began at least {@code longMillis} ago, suspended or not since then.
 *   <li>The same hour for both ends is the whole day.
 * </ol>
 *
 * @param longMillis milliseconds, at least 0
 */
public record Undisturbed(LocalTime from, LocalTime to, ZoneId zone, long longMillis) {

    public Undisturbed {
        Objects.requireNonNull(from);
        Objects.requireNonNull(to);
        Objects.requireNonNull(zone);
        Snapshot.notNegative("run of a long stage", longMillis);
    }

    /** Whether a stage that began then is left alone now. */
    boolean protects(long startedMillis, long nowMillis) {
        if (nowMillis - startedMillis < longMillis) {
            return false;
        }
        LocalTime now = Instant.ofEpochMilli(nowMillis).atZone(zone).toLocalTime();
        boolean afterFrom = !now.isBefore(from);
        boolean beforeTo = now.isBefore(to);
        return from.isBefore(to) ? afterFrom && beforeTo : afterFrom || beforeTo;
    }
}
