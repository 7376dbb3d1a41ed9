package io.jenkins.plugins.preemptible.config;

import hudson.BulkChange;
import hudson.Extension;
import hudson.ExtensionList;
import hudson.model.PersistentDescriptor;
import hudson.util.FormValidation;
import io.jenkins.plugins.preemptible.engine.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.policy.Limits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.model.GlobalConfiguration;
import jenkins.model.Jenkins;
import net.sf.json.JSONObject;
import org.jenkinsci.Symbol;
import org.kohsuke.stapler.DataBoundSetter;
import org.kohsuke.stapler.QueryParameter;
import org.kohsuke.stapler.StaplerRequest2;
import org.kohsuke.stapler.verb.POST;

/**
 * What the administrator allows: the section "Preemptible stages" of the system configuration.
 *
 * <ol>
 *   <li>Set on the page or by Configuration as Code ({@code unclassified: preemptible:}), and saved at every change.
 *   <li>A value out of its range is refused with a sentence that names the setting, the value and the range; the
 *       settings then stay as they were.
 *   <li>{@link #limits()} gives them to the policy, in the policy's units.
 * </ol>
 *
 * <p>Readers take no lock, since {@link #limits()} is asked for under the queue's lock while a change may be writing
 * its file. A decision may therefore see one setting of a change and not yet the other.
 */
@Extension
@Symbol("preemptible")
public final class PreemptibleConfiguration extends GlobalConfiguration implements PersistentDescriptor {

    /** A week, in minutes: a longer slice is as good as none. */
    static final int MOST_MINUTES = 10_080;

    /** A day, in seconds. */
    static final int MOST_SECONDS = 86_400;

    static final int MOST_SUSPENSIONS = 1_000;

    /** A terabyte, in megabytes. */
    static final int MOST_MEGABYTES = 1_048_576;

    /** As the engine's own. */
    static final int DEFAULT_MEMORY_FLOOR_MEGABYTES = (int) (FreezeRequest.DEFAULT_MEMORY_FLOOR >> 20);

    private static final Logger LOGGER = Logger.getLogger(PreemptibleConfiguration.class.getName());

    private volatile boolean enabled = true;
    private volatile int timeSliceMinutes;
    private volatile int exemptSeconds;
    private volatile int mostSuspensions;
    private volatile int memoryFloorMegabytes = DEFAULT_MEMORY_FLOOR_MEGABYTES;

    /** The one that Jenkins holds. */
    public static PreemptibleConfiguration get() {
        return ExtensionList.lookupSingleton(PreemptibleConfiguration.class);
    }

    @Override
    public String getDisplayName() {
        return Messages.PreemptibleConfiguration_DisplayName();
    }

    /** Whether stages may be suspended. What is suspended already goes on in any case. */
    public boolean isEnabled() {
        return enabled;
    }

    @DataBoundSetter
    public void setEnabled(boolean enabled) {
        this.enabled = enabled;
        save();
    }

    /** After how many minutes of running a stage gives way to its equals; 0 = never. */
    public int getTimeSliceMinutes() {
        return timeSliceMinutes;
    }

    /** @throws IllegalArgumentException when it is not in 0..10080 */
    @DataBoundSetter
    public void setTimeSliceMinutes(int timeSliceMinutes) {
        this.timeSliceMinutes =
                inRange(Messages.PreemptibleConfiguration_TimeSlice(), timeSliceMinutes, MOST_MINUTES);
        save();
    }

    /** For how many seconds after a start or a resume a stage is not suspended; 0 = it may be at any time. */
    public int getExemptSeconds() {
        return exemptSeconds;
    }

    /** @throws IllegalArgumentException when it is not in 0..86400 */
    @DataBoundSetter
    public void setExemptSeconds(int exemptSeconds) {
        this.exemptSeconds = inRange(Messages.PreemptibleConfiguration_Exempt(), exemptSeconds, MOST_SECONDS);
        save();
    }

    /** How often one stage is suspended at most; 0 = no limit. */
    public int getMostSuspensions() {
        return mostSuspensions;
    }

    /** @throws IllegalArgumentException when it is not in 0..1000 */
    @DataBoundSetter
    public void setMostSuspensions(int mostSuspensions) {
        this.mostSuspensions =
                inRange(Messages.PreemptibleConfiguration_MostSuspensions(), mostSuspensions, MOST_SUSPENSIONS);
        save();
    }

    /**
     * How many megabytes (of 2^20 bytes) of an agent's memory have to be free beside a frozen stage, so that its
     * executor is given away before its image is sealed; 0 = always given away at once.
     */
    public int getMemoryFloorMegabytes() {
        return memoryFloorMegabytes;
    }

    /** @throws IllegalArgumentException when it is not in 0..1048576 */
    @DataBoundSetter
    public void setMemoryFloorMegabytes(int memoryFloorMegabytes) {
        this.memoryFloorMegabytes =
                inRange(Messages.PreemptibleConfiguration_MemoryFloor(), memoryFloorMegabytes, MOST_MEGABYTES);
        save();
    }

    /** The same in bytes. */
    public long memoryFloorBytes() {
        return (long) memoryFloorMegabytes << 20;
    }

    /** The settings as the policy takes them. */
    public Limits limits() {
        return new Limits(
                enabled,
                TimeUnit.MINUTES.toMillis(timeSliceMinutes),
                TimeUnit.SECONDS.toMillis(exemptSeconds),
                mostSuspensions);
    }

    /** Reads the saved settings; a value that somebody wrote into the file and that is out of its range is not taken. */
    @Override
    public synchronized void load() {
        super.load();
        timeSliceMinutes = orElse(0, Messages.PreemptibleConfiguration_TimeSlice(), timeSliceMinutes, MOST_MINUTES);
        exemptSeconds = orElse(0, Messages.PreemptibleConfiguration_Exempt(), exemptSeconds, MOST_SECONDS);
        mostSuspensions =
                orElse(0, Messages.PreemptibleConfiguration_MostSuspensions(), mostSuspensions, MOST_SUSPENSIONS);
        memoryFloorMegabytes = orElse(
                DEFAULT_MEMORY_FLOOR_MEGABYTES,
                Messages.PreemptibleConfiguration_MemoryFloor(),
                memoryFloorMegabytes,
                MOST_MEGABYTES);
    }

    /** Takes over the page's values, all of them or, when one is out of its range, none. */
    @Override
    public boolean configure(StaplerRequest2 req, JSONObject json) throws FormException {
        boolean enabledBefore = enabled;
        int sliceBefore = timeSliceMinutes;
        int exemptBefore = exemptSeconds;
        int mostBefore = mostSuspensions;
        int floorBefore = memoryFloorMegabytes;
        // The change is written once, when all of it was taken; leaving it without commit writes nothing.
        try (BulkChange change = new BulkChange(this)) {
            req.bindJSON(this, json);
            change.commit();
            return true;
        } catch (RuntimeException refused) {
            enabled = enabledBefore;
            timeSliceMinutes = sliceBefore;
            exemptSeconds = exemptBefore;
            mostSuspensions = mostBefore;
            memoryFloorMegabytes = floorBefore;
            throw new FormException(sentenceOf(refused), refused, "preemptible");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @POST
    public FormValidation doCheckTimeSliceMinutes(@QueryParameter String value) {
        return check(Messages.PreemptibleConfiguration_TimeSlice(), value, MOST_MINUTES);
    }

    @POST
    public FormValidation doCheckExemptSeconds(@QueryParameter String value) {
        return check(Messages.PreemptibleConfiguration_Exempt(), value, MOST_SECONDS);
    }

    @POST
    public FormValidation doCheckMostSuspensions(@QueryParameter String value) {
        return check(Messages.PreemptibleConfiguration_MostSuspensions(), value, MOST_SUSPENSIONS);
    }

    @POST
    public FormValidation doCheckMemoryFloorMegabytes(@QueryParameter String value) {
        return check(Messages.PreemptibleConfiguration_MemoryFloor(), value, MOST_MEGABYTES);
    }

    private static FormValidation check(String setting, String value, int most) {
        Jenkins.get().checkPermission(Jenkins.ADMINISTER);
        try {
            inRange(setting, Integer.parseInt(value.trim()), most);
            return FormValidation.ok();
        } catch (NumberFormatException e) {
            return FormValidation.error(Messages.PreemptibleConfiguration_NotANumber(setting, value, String.valueOf(most)));
        } catch (IllegalArgumentException e) {
            return FormValidation.error(e.getMessage());
        }
    }

    private static int inRange(String setting, int value, int most) {
        if (value < 0 || value > most) {
            throw new IllegalArgumentException(
                    Messages.PreemptibleConfiguration_OutOfRange(setting, String.valueOf(value), String.valueOf(most)));
        }
        return value;
    }

    private static int orElse(int instead, String setting, int value, int most) {
        try {
            return inRange(setting, value, most);
        } catch (IllegalArgumentException e) {
            LOGGER.log(
                    Level.WARNING, "{0} The saved value is not used; {1} is.", new Object[] {e.getMessage(), instead});
            return instead;
        }
    }

    /** Stapler wraps what a setter throws; the sentence for people is the innermost. */
    private static String sentenceOf(Throwable refused) {
        Throwable innermost = refused;
        while (innermost.getCause() != null) {
            innermost = innermost.getCause();
        }
        return innermost.getMessage();
    }
}
