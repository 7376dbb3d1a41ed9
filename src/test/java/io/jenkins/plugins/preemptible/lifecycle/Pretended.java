package io.jenkins.plugins.preemptible.lifecycle;

import java.util.function.Consumer;

/** Facts about the stages of a build that a test cannot wait for. */
public final class Pretended {

    private Pretended() {}

    /** They were suspended that much longer ago. */
    public static void suspendedEarlier(String runId, long millis) {
        change(runId, stage -> stage.suspendedSinceMillis -= millis);
    }

    /** The last look has found something that cannot be dumped; the next one, seconds later, will not. */
    public static void cannotBeDumped(String runId) {
        change(runId, stage -> stage.leak = "A test says so");
    }

    private static void change(String runId, Consumer<StageRecord> change) {
        for (StageRecord stage : StageRegistry.get().all()) {
            if (stage.runId.equals(runId)) {
                StageRegistry.get().update(stage.id, change);
            }
        }
    }
}
