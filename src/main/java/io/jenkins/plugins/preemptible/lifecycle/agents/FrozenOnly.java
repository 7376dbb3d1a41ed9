package io.jenkins.plugins.preemptible.lifecycle.agents;

import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.FreezeOnly;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;

/**
 * How much of an agent's memory the stages hold that cannot be dumped and are frozen there, and how much they may.
 *
 * <p>Safe for any thread, takes no lock.
 */
public final class FrozenOnly {

    /** More than any agent has: where it is not known how much a stage holds, no other one is frozen in that way. */
    private static final long UNKNOWN_BYTES = 1L << 50;

    private FrozenOnly() {}

    private static FreezeOnly limits() {
        return PreemptibleConfiguration.get().limits().freezeOnly();
    }

    /** For how many milliseconds such a stage is frozen at most. */
    public static long longestMillis() {
        return limits().longestMillis();
    }

    /**
     * What such stages hold of an agent's memory.
     *
     * @param node the name of an agent, empty for the built-in node
     * @return bytes, as measured last, or when they were frozen
     */
    public static long heldBytes(String node) {
        long held = 0;
        for (StageRecord stage : StageRegistry.get().all()) {
            if (stage.thawByMillis() > 0 && stage.node().equals(node)) {
                held += bytes(stage);
            }
        }
        return held;
    }

    private static long bytes(StageRecord stage) {
        LiveStage live = LiveStage.find(stage.id());
        long seen = live == null ? -1 : live.memory().residentBytes();
        if (seen >= 0) {
            return seen;
        }
        // After a restart of the controller nothing has been seen, and a frozen stage is not looked at.
        return stage.residentBytes() >= 0 ? stage.residentBytes() : UNKNOWN_BYTES;
    }

    /** With how much memory at most this stage may be frozen in that way; 0 = not at all. */
    public static long roomBytes(StageRecord stage) {
        return stage.canOnlyBeFrozen()
                ? limits().roomBytes(Measured.of(stage.node()).totalBytes(), heldBytes(stage.node()))
                : 0;
    }
}
