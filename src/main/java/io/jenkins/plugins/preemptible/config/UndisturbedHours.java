package io.jenkins.plugins.preemptible.config;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.Util;
import hudson.model.AutoCompletionCandidates;
import hudson.model.Describable;
import hudson.model.Descriptor;
import hudson.util.FormValidation;
import io.jenkins.plugins.preemptible.engine.policy.Undisturbed;
import java.time.DateTimeException;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.format.ResolverStyle;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import jenkins.model.Jenkins;
import org.kohsuke.stapler.DataBoundConstructor;
import org.kohsuke.stapler.DataBoundSetter;
import org.kohsuke.stapler.QueryParameter;
import org.kohsuke.stapler.verb.POST;

/**
 * The hours of the day in which long stages run undisturbed.
 *
 * <ol>
 *   <li>From the first time of day on and before the second one; they may go over midnight.
 *   <li>As the clocks of a time zone show them, by default those of the controller.
 *   <li>A stage is long when so many minutes have passed since it began.
 * </ol>
 */
public final class UndisturbedHours implements Describable<UndisturbedHours> {

    static final int DEFAULT_LONG_MINUTES = 60;

    private static final int MOST_CANDIDATES = 20;

    private static final DateTimeFormatter TIME_OF_DAY =
            DateTimeFormatter.ofPattern("H:mm").withResolverStyle(ResolverStyle.STRICT);

    private final String from;
    private final String to;

    @CheckForNull
    private String zone;

    private int longMinutes = DEFAULT_LONG_MINUTES;

    /**
     * @param from such as {@code 08:30}
     * @param to the same
     * @throws IllegalArgumentException when one of them is no time of day
     */
    @DataBoundConstructor
    public UndisturbedHours(String from, String to) {
        this.from = time(Messages.UndisturbedHours_From(), from).toString();
        this.to = time(Messages.UndisturbedHours_To(), to).toString();
    }

    public String getFrom() {
        return from;
    }

    public String getTo() {
        return to;
    }

    /** Such as {@code Europe/Berlin}; null = that of the controller. */
    @CheckForNull
    public String getZone() {
        return zone;
    }

    /** @throws IllegalArgumentException when there is no such time zone */
    @DataBoundSetter
    public void setZone(@CheckForNull String zone) {
        String given = Util.fixEmptyAndTrim(zone);
        if (given != null) {
            zone(given);
        }
        this.zone = given;
    }

    public int getLongMinutes() {
        return longMinutes;
    }

    /** @throws IllegalArgumentException when it is not in 0..10080 */
    @DataBoundSetter
    public void setLongMinutes(int longMinutes) {
        this.longMinutes = Range.LONG_STAGE.checked(longMinutes);
    }

    /** As the policy takes them. */
    Undisturbed undisturbed() {
        return new Undisturbed(
                LocalTime.parse(from),
                LocalTime.parse(to),
                zone == null ? ZoneId.systemDefault() : ZoneId.of(zone),
                TimeUnit.MINUTES.toMillis(longMinutes));
    }

    /** Hours in the file that the page would refuse are dropped, and Jenkins says so. */
    private Object readResolve() {
        UndisturbedHours read = new UndisturbedHours(from, to);
        read.setZone(zone);
        read.setLongMinutes(longMinutes);
        return read;
    }

    private static LocalTime time(String setting, @CheckForNull String given) {
        String text = Util.fixNull(given).trim();
        try {
            return LocalTime.parse(text, TIME_OF_DAY);
        } catch (DateTimeException e) {
            // Without the cause: the page shows the innermost sentence.
            throw new IllegalArgumentException(Messages.UndisturbedHours_NotATime(setting, text));
        }
    }

    private static ZoneId zone(String given) {
        try {
            return ZoneId.of(given);
        } catch (DateTimeException e) {
            throw new IllegalArgumentException(Messages.UndisturbedHours_NotAZone(given));
        }
    }

    /** What the page needs to know of them. */
    @Extension
    public static final class DescriptorImpl extends Descriptor<UndisturbedHours> {

        @NonNull
        @Override
        public String getDisplayName() {
            return Messages.UndisturbedHours_DisplayName();
        }

        @POST
        public AutoCompletionCandidates doAutoCompleteZone(@QueryParameter String value) {
            Jenkins.get().checkPermission(Jenkins.ADMINISTER);
            AutoCompletionCandidates candidates = new AutoCompletionCandidates();
            String typed = value.trim().toLowerCase(Locale.ROOT);
            ZoneId.getAvailableZoneIds().stream()
                    .filter(zone -> zone.toLowerCase(Locale.ROOT).contains(typed))
                    .sorted()
                    .limit(MOST_CANDIDATES)
                    .forEach(candidates::add);
            return candidates;
        }

        @POST
        public FormValidation doCheckFrom(@QueryParameter String value) {
            return check(() -> time(Messages.UndisturbedHours_From(), value));
        }

        @POST
        public FormValidation doCheckTo(@QueryParameter String value, @QueryParameter String from) {
            FormValidation own = check(() -> time(Messages.UndisturbedHours_To(), value));
            return own.kind == FormValidation.Kind.OK
                            && check(() -> time(Messages.UndisturbedHours_From(), from)).kind == FormValidation.Kind.OK
                            && time("", from).equals(time("", value))
                    ? FormValidation.warning(Messages.UndisturbedHours_WholeDay())
                    : own;
        }

        @POST
        public FormValidation doCheckZone(@QueryParameter String value) {
            String given = Util.fixEmptyAndTrim(value);
            return check(() -> given == null ? null : zone(given));
        }

        @POST
        public FormValidation doCheckLongMinutes(@QueryParameter String value) {
            return Range.LONG_STAGE.check(value);
        }

        private static FormValidation check(Supplier<?> reading) {
            Jenkins.get().checkPermission(Jenkins.ADMINISTER);
            try {
                reading.get();
                return FormValidation.ok();
            } catch (IllegalArgumentException e) {
                return FormValidation.error(e.getMessage());
            }
        }
    }
}
