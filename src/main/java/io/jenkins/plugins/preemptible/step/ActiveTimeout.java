package io.jenkins.plugins.preemptible.step;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.model.AbstractDescribableImpl;
import hudson.model.Descriptor;
import hudson.model.Item;
import hudson.util.FormValidation;
import hudson.util.ListBoxModel;
import io.jenkins.plugins.preemptible.config.StepFields;
import java.io.Serializable;
import java.util.concurrent.TimeUnit;
import org.kohsuke.stapler.AncestorInPath;
import org.kohsuke.stapler.DataBoundConstructor;
import org.kohsuke.stapler.DataBoundSetter;
import org.kohsuke.stapler.QueryParameter;
import org.kohsuke.stapler.verb.POST;

/**
 * For how long a stage may have an executor: {@code preemptible(activeTimeout: [time: 30, unit: 'MINUTES'])}.
 *
 * <p>The time of its suspensions does not count, while the {@code timeout} step counts it. The unit is MINUTES by default,
 * as there.
 */
public final class ActiveTimeout extends AbstractDescribableImpl<ActiveTimeout> implements Serializable {

    private static final long serialVersionUID = 1L;

    private final int time;
    private TimeUnit unit = TimeUnit.MINUTES;

    @DataBoundConstructor
    public ActiveTimeout(int time) {
        this.time = time;
    }

    public int getTime() {
        return time;
    }

    @NonNull
    public TimeUnit getUnit() {
        return unit;
    }

    @DataBoundSetter
    public void setUnit(@NonNull TimeUnit unit) {
        this.unit = unit;
    }

    /** More than 0 when it is a time at all. */
    long millis() {
        return unit.toMillis(time);
    }

    @Override
    public String toString() {
        return time + " " + unit;
    }

    /** For the Snippet Generator. */
    @Extension
    public static final class DescriptorImpl extends Descriptor<ActiveTimeout> {

        @NonNull
        @Override
        public String getDisplayName() {
            return Messages.ActiveTimeout_displayName();
        }

        @POST
        public FormValidation doCheckTime(@AncestorInPath Item item, @QueryParameter String value) {
            return StepFields.checkActiveTime(item, value);
        }

        @POST
        public ListBoxModel doFillUnitItems() {
            ListBoxModel items = new ListBoxModel();
            for (TimeUnit unit : new TimeUnit[] {TimeUnit.SECONDS, TimeUnit.MINUTES, TimeUnit.HOURS, TimeUnit.DAYS}) {
                items.add(unit.name(), unit.name());
            }
            items.forEach(item -> item.selected = TimeUnit.MINUTES.name().equals(item.value));
            return items;
        }
    }
}
