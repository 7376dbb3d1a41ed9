package io.jenkins.plugins.preemptible.queue.snapshot;

import hudson.model.Job;
import hudson.model.Queue;
import hudson.model.queue.SubTask;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * How long items will run, by what their jobs' earlier builds took.
 *
 * <ol>
 *   <li>A job's own estimate, which Jenkins makes from its last successful builds.
 *   <li>A node block has that of its whole build, which is the most that it may need.
 *   <li>Asked anew once a minute: it has to load builds.
 * </ol>
 *
 * Never under the queue's lock. Safe for any thread.
 */
final class Durations {

    private static final long KEPT_MILLIS = 60_000;
    private static final int MOST = 10_000;

    private record Known(long millis, long sinceMillis) {}

    private static final Map<String, Known> BY_JOB = new ConcurrentHashMap<>();

    private Durations() {}

    /** @return milliseconds, 0 = unknown */
    static long of(SubTask task) {
        Queue.Task owner = task.getOwnerTask();
        return owner instanceof Job ? of((Job<?, ?>) owner, System.currentTimeMillis()) : 0;
    }

    private static long of(Job<?, ?> job, long now) {
        if (BY_JOB.size() > MOST) {
            BY_JOB.clear();
        }
        Known known = BY_JOB.get(job.getFullName());
        if (known == null || now - known.sinceMillis > KEPT_MILLIS) {
            known = new Known(Math.max(0, job.getEstimatedDuration()), now);
            BY_JOB.put(job.getFullName(), known);
        }
        return known.millis;
    }
}
