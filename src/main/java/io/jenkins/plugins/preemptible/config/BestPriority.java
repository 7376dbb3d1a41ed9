package io.jenkins.plugins.preemptible.config;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.ExtensionList;
import hudson.ExtensionPoint;
import hudson.model.Item;
import hudson.model.ItemGroup;
import hudson.model.Run;
import hudson.security.AccessControlled;
import hudson.util.FormValidation;
import io.jenkins.plugins.preemptible.priority.Priorities;
import jenkins.model.Jenkins;

/**
 * The best priority that the steps of some jobs may ask for, and who has set it.
 *
 * <ol>
 *   <li>The nearest folder around a job that sets one counts, else the global configuration.
 *   <li>A step may always ask for less than its build has; that needs no limit.
 *   <li>A step gets more than its build has up to the limit only. A limit that is worse than the build's priority takes
 *       nothing away: a {@code node} block would have that priority as well.
 * </ol>
 *
 * A lower number is a higher priority. Any thread; looks at items in memory only.
 *
 * @param priority at least 1
 * @param folder full name of the folder that sets it; null when the global configuration does
 */
public record BestPriority(int priority, @CheckForNull String folder) {

    /** Where folders have such a setting; there is one only where the Folders plugin is installed. */
    public abstract static class OfFolder implements ExtensionPoint {
        /** What this folder sets itself; null when it sets none. */
        @CheckForNull
        protected abstract Integer setBy(ItemGroup<?> folder);
    }

    /** The one that counts for the jobs of this folder, or of Jenkins itself. */
    public static BestPriority in(ItemGroup<?> jobs) {
        for (ItemGroup<?> group = jobs; group instanceof Item; group = ((Item) group).getParent()) {
            for (OfFolder folders : ExtensionList.lookup(OfFolder.class)) {
                Integer set = folders.setBy(group);
                if (set != null) {
                    return new BestPriority(set, group.getFullName());
                }
            }
        }
        int set = PreemptibleConfiguration.get().getBestPriority();
        return new BestPriority(set == 0 ? Priorities.get().ordinary() : set, null);
    }

    /**
     * The priority of a stage that starts in this build: what its step asks for, as far as its folder allows.
     *
     * <p>May load builds: not under the queue's lock.
     *
     * @param priorities those of the build and of stages whose step asks for none
     * @param asked null when the step asks for none
     */
    public static int ofStage(Priorities priorities, Run<?, ?> run, @CheckForNull Integer asked) {
        return asked == null
                ? priorities.ofStageByDefault(run)
                : in(run.getParent().getParent()).granted(asked, priorities.ofBuild(run));
    }

    /** What a step gets that asks for some priority in a build that has another one. */
    public int granted(int asked, int ofBuild) {
        return asked >= ofBuild ? asked : Math.max(asked, Math.min(ofBuild, priority));
    }

    /** For the build log, when a step gets another priority than it asks for. */
    public String sentence(int asked, int granted) {
        return "This stage asks for priority " + asked + " and gets " + granted + ": " + who()
                + " lets no step ask for better than " + priority
                + (granted < priority ? ", and the build itself has " + granted : "") + ". Ask for " + granted
                + ", or ask an administrator to change that limit.";
    }

    /** Who has set it, within a sentence. */
    String who() {
        return folder == null ? Messages.BestPriority_Global() : Messages.BestPriority_Folder(folder);
    }

    /**
     * What a page says to a stage's priority while it is typed; for those who may see the item.
     *
     * @param item the job or folder whose page it is; null = Jenkins itself
     */
    public static FormValidation check(@CheckForNull Item item, String typed) {
        checkRead(item);
        if (typed.isBlank()) {
            return FormValidation.ok();
        }
        int lowest = Priorities.get().lowest();
        int asked;
        try {
            asked = Integer.parseInt(typed.trim());
        } catch (NumberFormatException e) {
            asked = 0;
        }
        if (asked < 1 || asked > lowest) {
            return FormValidation.error(Messages.BestPriority_Outside(typed.trim(), lowest));
        }
        ItemGroup<?> jobs =
                item instanceof ItemGroup<?> folder ? folder : item == null ? Jenkins.get() : item.getParent();
        String warning = in(jobs).warning(asked);
        return warning == null ? FormValidation.ok() : FormValidation.warning(warning);
    }

    static void checkRead(@CheckForNull Item item) {
        AccessControlled seen = item == null ? Jenkins.get() : item;
        seen.checkPermission(item == null ? Jenkins.READ : Item.READ);
    }

    /** What the step's page says to a number that steps get only in builds that have it themselves; null to others. */
    @CheckForNull
    private String warning(int asked) {
        return asked < priority ? Messages.BestPriority_Better(asked, priority, who()) : null;
    }
}
