package io.jenkins.plugins.preemptible.view;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Job;

/**
 * The name of a build, or of an item of the queue, for the user who looks.
 *
 * <ol>
 *   <li>Pages and REST of one job tell of another one, which the looking user may not be allowed to see.
 *   <li>Its name is shown to those who may read its job; others learn that there is one.
 *   <li>The look-up is in memory, and made once a request for each job. What the plugin itself does as SYSTEM, such as writing build logs, sees every name.
 * </ol>
 */
public final class ShownName {

    private ShownName() {}

    /**
     * @param name null for nobody
     * @param job full name of the job that it is of; null when it is of none, and then it is shown
     */
    @CheckForNull
    public static String of(@CheckForNull String name, @CheckForNull String job) {
        return name == null || job == null || readable(job) ? name : Messages.ShownName_hidden();
    }

    /** Whether the looking user may read the job of this full name. */
    public static boolean readable(String job) {
        return ReadableJobs.get().find(job) != null;
    }

    /**
     * Address of a build's page below Jenkins' own, found without loading the build.
     *
     * @param runId as of {@link hudson.model.Run#getExternalizableId}
     * @return null when the looking user may not read the job, or when there is none of this full name
     */
    @CheckForNull
    public static String address(String job, String runId) {
        return ReadableJobs.get().find(job) instanceof Job<?, ?> found
                ? found.getUrl() + runId.substring(job.length() + 1) + "/"
                : null;
    }
}
