package io.jenkins.plugins.preemptible.view;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Item;
import hudson.model.ItemGroup;
import hudson.security.ACL;
import hudson.security.ACLContext;
import hudson.security.AccessControlled;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import java.util.Locale;
import jenkins.model.Jenkins;

/**
 * What one build's log calls another build, which not every reader of that log may be allowed to see.
 *
 * <ol>
 *   <li>A log is written once for all readers, and who they are cannot be listed. So a name is written only where it
 *       follows that each of them may read the other job; else neutral words are.
 *   <li>It follows for the same job; for a job that anonymous users may read; and for one with the very same access
 *       control list, as all jobs have where permissions are given globally only. The folders around the other job have
 *       to pass too, but for those that are around the log's own job.
 *   <li>That two jobs are in the same folder says nothing: either may have permissions of its own.
 * </ol>
 *
 * Decided with the permissions of the moment; a line that is written stays. Any thread; looks at items in memory, with
 * full rights. For pages and REST see {@link ShownName}.
 */
public final class LoggedName {

    private LoggedName() {}

    /**
     * The preemptor, for the log of its victim.
     *
     * @param name null for nobody
     * @param job full name of the job that it is of; null when it is of none
     * @param readersJob full name of the job whose build's log it is
     * @param reason why the victim gives way, as a sentence; null when that is not known
     */
    @CheckForNull
    public static String ofPreemptor(
            @CheckForNull String name, @CheckForNull String job, String readersJob, @CheckForNull String reason) {
        if (name == null || mayName(job, readersJob)) {
            return name;
        }
        return Reason.HIGHER_PRIORITY_WAITS.sentence().equals(reason)
                ? Messages.LoggedName_HigherPriority()
                : Messages.LoggedName_Preemptor();
    }

    /** A name is left as it is, neutral words begin with a capital letter. */
    public static String atBeginning(String preemptor) {
        boolean neutral = preemptor.equals(Messages.LoggedName_HigherPriority())
                || preemptor.equals(Messages.LoggedName_Preemptor());
        return neutral ? preemptor.substring(0, 1).toUpperCase(Locale.ROOT) + preemptor.substring(1) : preemptor;
    }

    /**
     * Whether every reader of the one job's builds may know of the other job.
     *
     * @param job full name; null when it is of none, and then nobody knows who may see it
     * @param readersJob full name of the job whose builds' logs are read
     */
    public static boolean mayName(@CheckForNull String job, String readersJob) {
        if (job == null || job.equals(readersJob)) {
            return job != null;
        }
        try (ACLContext system = ACL.as2(ACL.SYSTEM2)) {
            Item named = Jenkins.get().getItemByFullName(job);
            Item readers = Jenkins.get().getItemByFullName(readersJob);
            return named != null && readers != null && everyReaderSees(named, readers);
        }
    }

    private static boolean everyReaderSees(Item named, Item readers) {
        if (!isAround(named, readers) && !isPublic(named) && named.getACL() != readers.getACL()) {
            return false;
        }
        ItemGroup<? extends Item> around = named.getParent();
        return !(around instanceof Item folder) || everyReaderSees(folder, readers);
    }

    private static boolean isAround(Item folder, Item job) {
        return job.getFullName().startsWith(folder.getFullName() + "/");
    }

    private static boolean isPublic(AccessControlled item) {
        return item.getACL().hasPermission2(Jenkins.ANONYMOUS2, Item.READ);
    }
}
