package io.jenkins.plugins.preemptible.config;

import hudson.util.FormValidation;
import hudson.util.ListBoxModel;
import io.jenkins.plugins.preemptible.engine.policy.UndumpableStages;
import jenkins.model.GlobalConfiguration;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;
import org.kohsuke.stapler.QueryParameter;
import org.kohsuke.stapler.verb.POST;

/**
 * What the section "Preemptible stages" of the system configuration asks while somebody fills it in.
 *
 * <ol>
 *   <li>One method for each field, by Jenkins' rules for their names; for administrators only, by POST only.
 *   <li>A number is checked by the same {@link Range} as when it is set, a choice shows the words that are taken.
 *   <li>Knows no values: those are {@link PreemptibleConfiguration}'s.
 * </ol>
 */
@Restricted(NoExternalUse.class) // for the page only; public since Stapler calls it
public abstract class CheckedOnPage extends GlobalConfiguration {

    @POST
    public FormValidation doCheckBestPriority(@QueryParameter String value) {
        return Range.BEST_PRIORITY.check(value);
    }

    @POST
    public FormValidation doCheckTimeSliceMinutes(@QueryParameter String value) {
        return Range.TIME_SLICE.check(value);
    }

    @POST
    public FormValidation doCheckExemptSeconds(@QueryParameter String value) {
        return Range.EXEMPT.check(value);
    }

    @POST
    public FormValidation doCheckMostSuspensions(@QueryParameter String value) {
        return Range.MOST_SUSPENSIONS.check(value);
    }

    @POST
    public FormValidation doCheckMostSuspendedPerAgent(@QueryParameter String value) {
        return Range.MOST_SUSPENDED_PER_AGENT.check(value);
    }

    @POST
    public FormValidation doCheckMostSuspended(@QueryParameter String value) {
        return Range.MOST_SUSPENDED.check(value);
    }

    @POST
    public FormValidation doCheckAgeingMinutes(@QueryParameter String value) {
        return Range.AGEING.check(value);
    }

    @POST
    public FormValidation doCheckMemoryFloorMegabytes(@QueryParameter String value) {
        return Range.MEMORY_FLOOR.check(value);
    }

    @POST
    public FormValidation doCheckImageLimitMegabytes(@QueryParameter String value) {
        return Range.IMAGE_LIMIT.check(value);
    }

    @POST
    public FormValidation doCheckDiskFloorMegabytes(@QueryParameter String value) {
        return Range.DISK_FLOOR.check(value);
    }

    @POST
    public FormValidation doCheckDiskFloorPercent(@QueryParameter String value) {
        return Range.DISK_FLOOR_PERCENT.check(value);
    }

    @POST
    public ListBoxModel doFillUndumpableItems() {
        return Choice.options(UndumpableStages.class, choice -> switch (choice) {
            case WAIT -> Messages.PreemptibleConfiguration_Undumpable_Wait();
            case RERUN -> Messages.PreemptibleConfiguration_Undumpable_Rerun();
            case NEVER_PREEMPT -> Messages.PreemptibleConfiguration_Undumpable_NeverPreempt();
        });
    }

    @POST
    public ListBoxModel doFillOwnerByItems() {
        return Choice.options(OwnerBy.class, choice -> switch (choice) {
            case USER -> Messages.PreemptibleConfiguration_OwnerBy_User();
            case FOLDER -> Messages.PreemptibleConfiguration_OwnerBy_Folder();
            case JOB -> Messages.PreemptibleConfiguration_OwnerBy_Job();
        });
    }
}
