package io.jenkins.plugins.preemptible.move;

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
    private static final int MOST = 10_000;

    private static final Map<String, Long> UNTIL_NANOS = new ConcurrentHashMap<>();

    private FailedMoves() {}

    static void add(StageRecord stage, String agent) {
        long now = System.nanoTime();
        UNTIL_NANOS.values().removeIf(until -> now - until > 0);
        if (UNTIL_NANOS.size() < MOST) {
            UNTIL_NANOS.put(key(stage, agent), now + PAUSE_NANOS);
        }
    }

    /** The same, and counts it. @param reason of {@code MoveObstacle} or {@code FailureReason}; empty for another one */
    static void refused(StageRecord stage, String agent, String reason, String sentence) {
        add(stage, agent);
        StageListener.fire(listener -> listener.onRefused(
                new StageRefused(stage.ref(), System.currentTimeMillis(), StageRefused.Phase.MOVE, reason, sentence)));
    }

    static boolean contain(StageRecord stage, String agent) {
        Long until = UNTIL_NANOS.get(key(stage, agent));
        return until != null && System.nanoTime() - until < 0;
    }

    /** Somebody wants it there now. */
    static void forget(StageRecord stage, String agent) {
        UNTIL_NANOS.remove(key(stage, agent));
    }

    private static String key(StageRecord stage, String agent) {
        return stage.id() + "/" + stage.suspensions() + "/" + agent;
    }
}
