package io.jenkins.plugins.preemptible.move;

import io.jenkins.plugins.preemptible.engine.policy.MovePace;

/** Earlier moves that tests need, and that would take too long. */
public final class MadeUpMoves {

    private MadeUpMoves() {}

    /** From now on a small move is expected to take that long. */
    public static void take(long millis) {
        do {
            MoveCosts.took(
                    0, Math.max(0, Math.round(2 * millis - MoveCosts.pace().fixedMillis())));
        } while (Math.abs(MoveCosts.pace().fixedMillis() - millis) > 1);
    }

    /** What is expected before the first move. */
    public static void forget() {
        take((long) MovePace.DEFAULT.fixedMillis());
    }
}
