package io.jenkins.plugins.preemptible.move;

import io.jenkins.plugins.preemptible.engine.policy.MovePace;
import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.util.concurrent.atomic.AtomicReference;

/**
 * What moves have cost since the controller started, and what the next one is expected to.
 *
 * <p>Safe for any thread.
 */
public final class MoveCosts {

    private static final AtomicReference<MovePace> PACE = new AtomicReference<>(MovePace.DEFAULT);

    private MoveCosts() {}

    /** A stage has moved. */
    static void took(long bytes, long millis) {
        PACE.updateAndGet(pace -> pace.after(bytes, millis));
    }

    /** What the next one is expected to cost. */
    public static MovePace pace() {
        return PACE.get();
    }

    /** How long it is expected to take until the stage runs on another agent; at least 1. */
    public static long expectedMillis(StageRecord stage) {
        SealedLuggage luggage = stage.luggage();
        long workspace = luggage == null ? 0 : luggage.archiveBytes();
        return pace().expectedMillis(stage.archiveBytes() + workspace);
    }
}
