package io.jenkins.plugins.preemptible.lifecycle;

/** Suspended stages that have waited for longer than a test can. */
public final class Ageing {

    private Ageing() {}

    /** Moves the beginning of the suspension of a build's stages into the past. */
    public static void of(String runId, long millis) {
        for (StageRecord stage : StageRegistry.get().all()) {
            if (stage.runId.equals(runId)) {
                StageRegistry.get().update(stage.id, s -> s.suspendedSinceMillis -= millis);
            }
        }
    }
}
