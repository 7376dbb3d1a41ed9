package io.jenkins.plugins.preemptible.lifecycle.stage;

/** Time slices shorter than the minute that users may ask for, so that a test need not wait for it. */
public final class TimeSlices {

    private TimeSlices() {}

    /** Gives the running stages of a build a time slice of their own. */
    public static void set(String runId, long millis) {
        for (StageRecord stage : StageRegistry.get().all()) {
            if (stage.runId.equals(runId)) {
                StageRegistry.get().update(stage.id, s -> s.timeSliceMillis = millis);
            }
        }
    }
}
