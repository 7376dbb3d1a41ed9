package io.jenkins.plugins.preemptible.event;

import edu.umd.cs.findbugs.annotations.CheckForNull;

/**
 * A stage has given its executor away.
 *
 * @param startedMillis when the stage began, in milliseconds since 1970
 * @param atMillis when the executor was free, in milliseconds since 1970
 * @param tookMillis from the request until the executor was free
 * @param reason constant of {@link io.jenkins.plugins.preemptible.engine.policy.Reason}
 * @param sentence the same for people
 * @param preemptor for whom, by a name that not everybody may see; null when for nobody in particular
 * @param preemptorJob full name of the preemptor's job, whose readers may see that name; null when it has none
 * @param processes how many were frozen
 * @param residentBytes of their memory
 * @param memoryOnly no image of it will be made
 */
public record StageSuspended(
        StageRef stage,
        long startedMillis,
        long atMillis,
        long tookMillis,
        String reason,
        String sentence,
        @CheckForNull String preemptor,
        @CheckForNull String preemptorJob,
        int processes,
        long residentBytes,
        boolean memoryOnly) {}
