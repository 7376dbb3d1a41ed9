package io.jenkins.plugins.preemptible.simulation;

import hudson.model.Job;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.config.Owners;
import io.jenkins.plugins.preemptible.engine.simulation.workload.PastJob;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.function.BooleanSupplier;
import jenkins.model.Jenkins;

/**
 * This controller's newest builds that have ended, as a history to be replayed.
 *
 * <ol>
 *   <li>Newest first over all jobs, each job's builds loaded only as far as they are wanted.
 *   <li>At most so many, and only until the time for it is up: what was read by then is the history.
 *   <li>What of a build held an executor is told by {@link ExecutorUse}.
 * </ol>
 *
 * Loads builds from disk: for a thread that may wait, under no lock. Sees what the caller may read.
 *
 * @param jobs what held an executor, in any order
 * @param builds that were read
 * @param cut there were more within the time asked for
 */
record FinishedBuilds(List<PastJob> jobs, int builds, boolean cut) {

    /** The builds of one job, of which the newest was not yet taken. */
    private record Cursor(Run<?, ?> newest, Iterator<? extends Run<?, ?>> older) {}

    /**
     * Reads them.
     *
     * @param sinceMillis builds that are older are not wanted, since 1970
     * @param most builds
     * @param timeIsUp asked before each build
     */
    static FinishedBuilds read(long sinceMillis, int most, Owners owners, BooleanSupplier timeIsUp) {
        PriorityQueue<Cursor> cursors = new PriorityQueue<>(
                Comparator.comparingLong((Cursor cursor) -> cursor.newest().getTimeInMillis())
                        .reversed());
        boolean cut = false;
        for (Job<?, ?> job : Jenkins.get().allItems(Job.class)) {
            if (timeIsUp.getAsBoolean()) {
                cut = true;
                break;
            }
            add(cursors, job.getBuilds().iterator(), sinceMillis);
        }
        List<PastJob> jobs = new ArrayList<>();
        int builds = 0;
        while (!cursors.isEmpty()) {
            if (builds == most || timeIsUp.getAsBoolean()) {
                cut = true;
                break;
            }
            Cursor cursor = cursors.poll();
            if (!cursor.newest().isBuilding()) {
                builds++;
                jobs.addAll(ExecutorUse.of(cursor.newest(), owners));
            }
            add(cursors, cursor.older(), sinceMillis);
        }
        return new FinishedBuilds(jobs, builds, cut);
    }

    private static void add(PriorityQueue<Cursor> cursors, Iterator<? extends Run<?, ?>> builds, long sinceMillis) {
        if (builds.hasNext()) {
            Run<?, ?> newest = builds.next();
            if (newest.getTimeInMillis() >= sinceMillis) {
                cursors.add(new Cursor(newest, builds));
            }
        }
    }
}
