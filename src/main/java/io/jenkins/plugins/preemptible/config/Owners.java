package io.jenkins.plugins.preemptible.config;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Cause;
import hudson.model.Item;
import hudson.model.Queue;
import hudson.model.Run;
import java.util.List;

/**
 * Says whose a build or a waiting item is, among whose equals executor time is shared.
 *
 * <ol>
 *   <li>An item that is part of a build, as of {@code node} in a Pipeline, has the build's owner.
 *   <li>A user is looked for in the causes, those of upstream builds included; where there is none (a timer, a push,
 *       an anonymous user), the job is the owner.
 *   <li>Each owner begins with what it is ({@code user:}, {@code folder:}, {@code job:}), so that no two kinds meet.
 * </ol>
 *
 * Any thread, but not under the queue's lock: asking a waiting item for its build may load that.
 *
 * @param by what the administrator chose
 */
public record Owners(OwnerBy by) {

    private static final String USER = "user:";
    private static final String FOLDER = "folder:";
    private static final String JOB = "job:";

    /** With the choice that counts now. */
    public static Owners get() {
        return new Owners(PreemptibleConfiguration.get().ownerBy());
    }

    /** The owner of a build; never null or empty. */
    public String ofRun(Run<?, ?> run) {
        return of(run.getParent(), run.getCauses());
    }

    /** The owner of an item of the queue; empty when it belongs to no job, as a task of some other plugin. */
    public String ofItem(Queue.Item item) {
        if (item.task.getOwnerExecutable() instanceof Run<?, ?> run) {
            return ofRun(run);
        }
        return item.task.getOwnerTask() instanceof Item job ? of(job, item.getCauses()) : "";
    }

    /** The owner after a job was moved: another one when it is that job, or the folder that it was in. */
    public static String moved(String owner, String fromJob, String toJob) {
        if (owner.equals(JOB + fromJob)) {
            return JOB + toJob;
        }
        return owner.equals(FOLDER + folderOf(fromJob)) ? FOLDER + folderOf(toJob) : owner;
    }

    private static String folderOf(String job) {
        return job.substring(0, Math.max(0, job.lastIndexOf('/')));
    }

    private String of(Item part, List<Cause> causes) {
        // One configuration of a matrix belongs to the matrix.
        Item job = part instanceof Queue.Task task && task.getOwnerTask() instanceof Item whole ? whole : part;
        String user = by == OwnerBy.USER ? userOf(causes) : null;
        if (user != null) {
            return USER + user;
        }
        return by == OwnerBy.FOLDER ? FOLDER + job.getParent().getFullName() : JOB + job.getFullName();
    }

    /** The first one, depth first, as Jenkins shows the causes; it bounds how deep it keeps them. */
    @CheckForNull
    private static String userOf(List<Cause> causes) {
        for (Cause cause : causes) {
            String user = null;
            if (cause instanceof Cause.UserIdCause byUser) {
                user = byUser.getUserId();
            } else if (cause instanceof Cause.UpstreamCause upstream) {
                user = userOf(upstream.getUpstreamCauses());
            }
            if (user != null) {
                return user;
            }
        }
        return null;
    }
}
