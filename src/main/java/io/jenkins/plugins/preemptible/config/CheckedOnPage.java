package io.jenkins.plugins.preemptible.config;

import hudson.util.FormValidation;
import hudson.util.ListBoxModel;
import io.jenkins.plugins.preemptible.engine.move.MoveExcludes;
import io.jenkins.plugins.preemptible.engine.policy.UndumpableStages;
import io.jenkins.plugins.preemptible.priority.Priorities;
import java.util.concurrent.TimeUnit;
import jenkins.model.GlobalConfiguration;
import jenkins.model.Jenkins;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;
import org.kohsuke.stapler.QueryParameter;
import org.kohsuke.stapler.verb.POST;

/**
 * What the section "Preemptible stages" of the system configuration asks while a user fills it in.
 *
 * <ol>
 *   <li>One method for each field, by Jenkins' rules for their names; for administrators only, by POST only.
 *   <li>A number is checked by the same {@link Range} as when it is set, a choice shows the words that are taken.
 *   <li>Two numbers that make no sense together get a warning at one of them: both may be saved.
 *   <li>Knows no values: those are {@link PreemptibleConfiguration}'s.
 * </ol>
 */
@Restricted(NoExternalUse.class) // for the page only; public since Stapler calls it
public abstract class CheckedOnPage extends GlobalConfiguration {

    @POST
    public FormValidation doCheckBestPriority(@QueryParameter String value) {
        FormValidation own = Range.BEST_PRIORITY.check(value);
        int lowest = Priorities.get().lowest();
        return own.kind == FormValidation.Kind.OK && Range.BEST_PRIORITY.parsed(value) > lowest
                ? FormValidation.warning(Messages.PreemptibleConfiguration_NoSuchPriority(lowest))
                : own;
    }

    @POST
    public FormValidation doCheckTimeSliceMinutes(@QueryParameter String value) {
        return Range.TIME_SLICE.check(value);
    }

    @POST
    public FormValidation doCheckExemptSeconds(@QueryParameter String value, @QueryParameter String timeSliceMinutes) {
        return Range.EXEMPT.check(
                value,
                Range.TIME_SLICE,
                timeSliceMinutes,
                (exempt, slice) -> slice > 0 && exempt > TimeUnit.MINUTES.toSeconds(slice)
                        ? FormValidation.warning(Messages.PreemptibleConfiguration_ExemptLonger(slice))
                        : FormValidation.ok());
    }

    @POST
    public FormValidation doCheckMostSuspensions(@QueryParameter String value) {
        return Range.MOST_SUSPENSIONS.check(value);
    }

    @POST
    public FormValidation doCheckMostSuspendedPerAgent(
            @QueryParameter String value, @QueryParameter String mostSuspended) {
        return Range.MOST_SUSPENDED_PER_AGENT.check(
                value,
                Range.MOST_SUSPENDED,
                mostSuspended,
                (perAgent, inAll) -> inAll > 0 && perAgent > inAll
                        ? FormValidation.warning(Messages.PreemptibleConfiguration_MoreThanAll(inAll))
                        : FormValidation.ok());
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
            case FREEZE_ONLY -> Messages.PreemptibleConfiguration_Undumpable_FreezeOnly();
        });
    }

    @POST
    public FormValidation doCheckFrozenOnlySeconds(@QueryParameter String value) {
        return Range.FROZEN_ONLY_SECONDS.check(value);
    }

    @POST
    public FormValidation doCheckFrozenOnlyPercent(@QueryParameter String value, @QueryParameter String undumpable) {
        FormValidation own = Range.FROZEN_ONLY_PERCENT.check(value);
        boolean none = own.kind == FormValidation.Kind.OK && Range.FROZEN_ONLY_PERCENT.parsed(value) == 0;
        return none && Choice.word(UndumpableStages.FREEZE_ONLY).equals(undumpable)
                ? FormValidation.warning(Messages.PreemptibleConfiguration_FrozenOnlyNone())
                : own;
    }

    @POST
    public FormValidation doCheckStoredWorkspaceMegabytes(@QueryParameter String value) {
        return Range.STORED_WORKSPACE.check(value);
    }

    @POST
    public FormValidation doCheckMoveExcludes(@QueryParameter String value) {
        Jenkins.get().checkPermission(Jenkins.ADMINISTER);
        try {
            MoveExcludes.parse(value);
            return FormValidation.ok();
        } catch (IllegalArgumentException x) {
            return FormValidation.error(x.getMessage());
        }
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
