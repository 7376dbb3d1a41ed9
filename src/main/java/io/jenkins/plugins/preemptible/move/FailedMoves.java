package io.jenkins.plugins.preemptible.move;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.event.StageRefused;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Which agents a stage could not go to lately, so that another one is tried first.
 *
 * <p>In memory only: after a restart of the controller each is tried anew. Safe for any thread.
 */
final class FailedMoves {

    private static final long PAUSE_NANOS = TimeUnit.MINUTES.toNanos(10);
    private static final long HELD_OFF_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final int MOST = 10_000;

    private static final Map<String, Failed> FAILED = new ConcurrentHashMap<>();

    private enum Why {
        /** The agent itself stood against it: another attempt would come to the same. */
        REFUSED,
        /** A connection or the archive did not do its part. */
        FAILED,
        /** Another plugin keeps the stage off that agent at the moment. */
        HELD_OFF
    }

    private record Failed(long untilNanos, Why why) {}

    private FailedMoves() {}

    /** @param refused whether the agent, and not a connection or the archive, stood against it */
    static void add(StageRecord stage, String agent, boolean refused) {
        add(stage, agent, refused ? Why.REFUSED : Why.FAILED, PAUSE_NANOS);
    }

    /** Another plugin keeps the stage off that agent at the moment. */
    static void heldOff(StageRecord stage, String agent) {
        add(stage, agent, Why.HELD_OFF, HELD_OFF_NANOS);
    }

    private static void add(StageRecord stage, String agent, Why why, long pauseNanos) {
        long now = System.nanoTime();
        FAILED.values().removeIf(each -> now - each.untilNanos > 0);
        if (FAILED.size() < MOST) {
            FAILED.put(key(stage, agent), new Failed(now + pauseNanos, why));
        }
    }

    /** The same, and counts it. @param reason of {@code MoveObstacle} or {@code FailureReason}; empty for another one */
    static void refused(StageRecord stage, String agent, String reason, String sentence) {
        add(stage, agent, !reason.isEmpty());
        StageListener.fire(listener -> listener.onRefused(
                new StageRefused(stage.ref(), System.currentTimeMillis(), StageRefused.Phase.MOVE, reason, sentence)));
    }

    static boolean contain(StageRecord stage, String agent) {
        return found(stage, agent) != null;
    }

    /** Whether the agent itself stood against it. */
    static boolean containRefusal(StageRecord stage, String agent) {
        return is(stage, agent, Why.REFUSED);
    }

    /** Whether a connection or the archive did not do its part. */
    static boolean containFailure(StageRecord stage, String agent) {
        return is(stage, agent, Why.FAILED);
    }

    private static boolean is(StageRecord stage, String agent, Why why) {
        Failed failed = found(stage, agent);
        return failed != null && failed.why == why;
    }

    @CheckForNull
    private static Failed found(StageRecord stage, String agent) {
        Failed failed = FAILED.get(key(stage, agent));
        return failed == null || System.nanoTime() - failed.untilNanos >= 0 ? null : failed;
    }

    /** Somebody wants it there now. */
    static void forget(StageRecord stage, String agent) {
        FAILED.remove(key(stage, agent));
    }

    private static String key(StageRecord stage, String agent) {
        return stage.id() + "/" + stage.suspensions() + "/" + agent;
    }
}
