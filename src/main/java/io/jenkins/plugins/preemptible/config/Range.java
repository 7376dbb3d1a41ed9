package io.jenkins.plugins.preemptible.config;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.security.Permission;
import hudson.util.FormValidation;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.model.Jenkins;

/**
 * The ranges of the settings that are whole numbers.
 *
 * <ol>
 *   <li>Each has a name for people, a least and a greatest value.
 *   <li>A value outside is refused with a sentence that has the name, the value and the range.
 *   <li>The page, the setters and what is read from disk all ask here, so that none of them takes what another refuses.
 * </ol>
 */
public enum Range {
    BEST_PRIORITY(Messages::PreemptibleConfiguration_BestPriority, 0, Range.LOWEST_PRIORITY_OF_ALL),
    FOLDER_BEST_PRIORITY(Messages::PreemptibleConfiguration_BestPriority, 1, Range.LOWEST_PRIORITY_OF_ALL),
    TIME_SLICE(Messages::PreemptibleConfiguration_TimeSlice, 0, Range.WEEK_IN_MINUTES),
    EXEMPT(Messages::PreemptibleConfiguration_Exempt, 0, 86_400),
    MOST_SUSPENSIONS(Messages::PreemptibleConfiguration_MostSuspensions, 0, 1_000),
    MOST_SUSPENDED_PER_AGENT(Messages::PreemptibleConfiguration_MostSuspendedPerAgent, 0, 1_000),
    MOST_SUSPENDED(Messages::PreemptibleConfiguration_MostSuspended, 0, 100_000),
    AGEING(Messages::PreemptibleConfiguration_Ageing, 0, Range.WEEK_IN_MINUTES),
    MEMORY_FLOOR(Messages::PreemptibleConfiguration_MemoryFloor, 0, Range.TERABYTE_IN_MEGABYTES),
    IMAGE_LIMIT(Messages::PreemptibleConfiguration_ImageLimit, 0, Range.TERABYTE_IN_MEGABYTES),
    DISK_FLOOR(Messages::PreemptibleConfiguration_DiskFloor, 0, Range.TERABYTE_IN_MEGABYTES),
    DISK_FLOOR_PERCENT(Messages::PreemptibleConfiguration_DiskFloorPercent, 0, 99),
    FROZEN_ONLY_SECONDS(Messages::PreemptibleConfiguration_FrozenOnlySeconds, 30, 7_200),
    STORED_WORKSPACE(Messages::PreemptibleConfiguration_StoredWorkspace, 0, Range.TERABYTE_IN_MEGABYTES),
    FROZEN_ONLY_PERCENT(Messages::PreemptibleConfiguration_FrozenOnlyPercent, 0, 100),
    RULE_SLICE(Messages::SliceRule_Minutes, 0, Range.WEEK_IN_MINUTES),
    /** Priority Sorter lets administrators have as many priorities as they like; nobody needs more than these. */
    HIGHEST_PRIORITY(Messages::SliceRule_HighestPriority, 1, Range.LOWEST_PRIORITY_OF_ALL),
    LOWEST_PRIORITY(Messages::SliceRule_LowestPriority, 1, Range.LOWEST_PRIORITY_OF_ALL),
    LONG_STAGE(Messages::UndisturbedHours_LongMinutes, 0, Range.WEEK_IN_MINUTES),
    DEFAULT_PRIORITY(Messages::StageDefaults_Priority, 1, Range.LOWEST_PRIORITY_OF_ALL),
    DEFAULT_TIME_SLICE(Messages::StageDefaults_TimeSlice, 1, Range.WEEK_IN_MINUTES),
    STEP_TIME_SLICE(Messages::StepFields_TimeSlice, 1, Range.WEEK_IN_MINUTES),
    CHECKPOINT(Messages::StepFields_Checkpoint, 5, 1_440),
    ACTIVE_TIME(Messages::StepFields_ActiveTime, 1, Integer.MAX_VALUE),
    TRIAL_DAYS(Messages::Trial_Days, 1, 365);

    static final int LOWEST_PRIORITY_OF_ALL = 1_000;

    private static final int WEEK_IN_MINUTES = 10_080;
    private static final int TERABYTE_IN_MEGABYTES = 1_048_576;
    private static final Logger LOGGER = Logger.getLogger(Range.class.getName());

    private final Supplier<String> setting;
    private final int least;
    private final int most;

    Range(Supplier<String> setting, int least, int most) {
        this.setting = setting;
        this.least = least;
        this.most = most;
    }

    /**
     * Gives the value back.
     *
     * @throws IllegalArgumentException when it is outside, with a sentence for people
     */
    int checked(int value) {
        if (value < least || value > most) {
            throw new IllegalArgumentException(Messages.Range_Outside(
                    setting.get(), String.valueOf(value), String.valueOf(least), String.valueOf(most)));
        }
        return value;
    }

    /** The value as it was saved; the other one, with a warning in the controller's log, when it is outside. */
    int savedOr(int instead, int saved) {
        try {
            return checked(saved);
        } catch (IllegalArgumentException e) {
            LOGGER.log(
                    Level.WARNING, "{0} The saved value is not used; {1} is.", new Object[] {e.getMessage(), instead});
            return instead;
        }
    }

    /**
     * Parses a number that a user has typed.
     *
     * @throws IllegalArgumentException when it is none, or outside, with a sentence for people
     */
    public int parsed(String typed) {
        int value;
        try {
            value = Integer.parseInt(typed.trim());
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(
                    Messages.Range_NotANumber(setting.get(), typed, String.valueOf(least), String.valueOf(most)));
        }
        return checked(value);
    }

    /** What the page says to a value while it is typed; for administrators only. */
    public FormValidation check(String typed) {
        return check(typed, Jenkins.ADMINISTER);
    }

    /**
     * The same, and what another field says to it when both have values that are taken.
     *
     * @param otherTyped null = that field was not sent
     */
    FormValidation check(
            String typed,
            Range other,
            @CheckForNull String otherTyped,
            BiFunction<Integer, Integer, FormValidation> both) {
        FormValidation own = check(typed);
        return own.kind == FormValidation.Kind.OK
                        && otherTyped != null
                        && other.said(otherTyped).kind == FormValidation.Kind.OK
                ? both.apply(parsed(typed), other.parsed(otherTyped))
                : own;
    }

    /** The same for those with another permission. */
    FormValidation check(String typed, Permission needed) {
        Jenkins.get().checkPermission(needed);
        return said(typed);
    }

    /** The same for those who were let in already. */
    FormValidation said(String typed) {
        try {
            parsed(typed);
            return FormValidation.ok();
        } catch (IllegalArgumentException e) {
            return FormValidation.error(e.getMessage());
        }
    }
}
