package io.jenkins.plugins.preemptible.config;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.Util;
import hudson.model.Describable;
import hudson.model.Descriptor;
import hudson.model.Item;
import hudson.util.FormValidation;
import hudson.util.ListBoxModel;
import java.util.List;
import net.sf.json.JSONObject;
import org.kohsuke.stapler.AncestorInPath;
import org.kohsuke.stapler.DataBoundConstructor;
import org.kohsuke.stapler.DataBoundSetter;
import org.kohsuke.stapler.QueryParameter;
import org.kohsuke.stapler.verb.POST;

/**
 * What preemptible stages have that do not say it themselves: the settings of one job, one folder, or Jenkins.
 *
 * <ol>
 *   <li>Null = nothing is set here; {@link DefaultsInOrder} knows who is asked next.
 *   <li>The setters refuse what no step may say. Whether there is such a priority is checked when it is used, since
 *       Priority Sorter can change that.
 * </ol>
 *
 * Not thread-safe: an instance that is shared is no longer changed.
 */
public final class StageDefaults implements Describable<StageDefaults> {

    /** A stage with a TCP connection to the outside is not suspended. */
    public static final String REFUSE = "refuse";
    /** Such connections are cut when the stage is suspended. */
    public static final String CLOSE = "close";

    @CheckForNull
    private Integer priority;

    @CheckForNull
    private Integer timeSliceMinutes;

    @CheckForNull
    private String tcp;

    @CheckForNull
    private Boolean rerun;

    @DataBoundConstructor
    public StageDefaults() {}

    /** 1 is the highest. */
    @CheckForNull
    public Integer getPriority() {
        return priority;
    }

    /** @throws IllegalArgumentException when it is not in 1..1000 */
    @DataBoundSetter
    public void setPriority(@CheckForNull Integer priority) {
        this.priority = priority == null ? null : Range.DEFAULT_PRIORITY.checked(priority);
    }

    @CheckForNull
    public Integer getTimeSliceMinutes() {
        return timeSliceMinutes;
    }

    /** @throws IllegalArgumentException when it is not in 1..10080 */
    @DataBoundSetter
    public void setTimeSliceMinutes(@CheckForNull Integer timeSliceMinutes) {
        this.timeSliceMinutes = timeSliceMinutes == null ? null : Range.DEFAULT_TIME_SLICE.checked(timeSliceMinutes);
    }

    /** {@link #REFUSE} or {@link #CLOSE}. */
    @CheckForNull
    public String getTcp() {
        return tcp;
    }

    /** @throws IllegalArgumentException when it is another word */
    @DataBoundSetter
    public void setTcp(@CheckForNull String tcp) {
        String given = Util.fixEmptyAndTrim(tcp);
        if (given != null && !List.of(REFUSE, CLOSE).contains(given)) {
            throw new IllegalArgumentException(
                    Messages.Choice_Unknown(Messages.StageDefaults_Tcp(), given, REFUSE + ", " + CLOSE));
        }
        this.tcp = given;
    }

    @CheckForNull
    public Boolean getRerun() {
        return rerun;
    }

    @DataBoundSetter
    public void setRerun(@CheckForNull Boolean rerun) {
        this.rerun = rerun;
    }

    boolean isEmpty() {
        return priority == null && timeSliceMinutes == null && tcp == null && rerun == null;
    }

    /** The form without a choice that was left open, which Stapler would read as false; null for null. */
    public static JSONObject filledIn(@CheckForNull JSONObject form) {
        if (form != null && form.optString("rerun").isBlank()) {
            form.remove("rerun");
        }
        return form;
    }

    /** The treatments of TCP connections, for a page. */
    public static ListBoxModel connections() {
        return new ListBoxModel(
                new ListBoxModel.Option(Messages.StageDefaults_NotSet(), ""),
                new ListBoxModel.Option(Messages.StageDefaults_Refuse(), REFUSE),
                new ListBoxModel.Option(Messages.StageDefaults_Close(), CLOSE));
    }

    /** What the pages need to know of it; those of jobs and folders show its fields as their own. */
    @Extension
    public static final class DescriptorImpl extends Descriptor<StageDefaults> {

        @NonNull
        @Override
        public String getDisplayName() {
            return Messages.StageDefaults_DisplayName();
        }

        @POST
        public FormValidation doCheckPriority(@AncestorInPath Item item, @QueryParameter String value) {
            return BestPriority.check(item, value);
        }

        @POST
        public FormValidation doCheckTimeSliceMinutes(@AncestorInPath Item item, @QueryParameter String value) {
            return StepFields.check(item, Range.DEFAULT_TIME_SLICE, value);
        }

        @POST
        public ListBoxModel doFillTcpItems() {
            return connections();
        }
    }
}
