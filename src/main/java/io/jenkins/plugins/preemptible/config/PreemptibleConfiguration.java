package io.jenkins.plugins.preemptible.config;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.BulkChange;
import hudson.Extension;
import hudson.ExtensionList;
import hudson.Util;
import hudson.model.PersistentDescriptor;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.move.MoveExcludes;
import io.jenkins.plugins.preemptible.engine.policy.FreezeOnly;
import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.policy.Slices;
import io.jenkins.plugins.preemptible.engine.policy.UndumpableStages;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import net.sf.json.JSONObject;
import org.jenkinsci.Symbol;
import org.kohsuke.stapler.DataBoundSetter;
import org.kohsuke.stapler.StaplerRequest2;

/**
 * What the administrator allows: the section "Preemptible stages" of the system configuration.
 *
 * <ol>
 *   <li>Set on the page or by Configuration as Code ({@code unclassified: preemptible:}), and saved at every change.
 *   <li>A value out of its range is refused with a sentence that names the setting, the value and the range. All settings
 *       then stay as they were: what the page or a {@link BulkChange} sets is taken over as a whole, when it is saved.
 *       Configuration as Code makes such a change of what a file says, and of the defaults of what that leaves out.
 *   <li>{@link #limits()} gives them to the policy, in the policy's units.
 * </ol>
 *
 * <p>Readers take no lock, since {@link #limits()} is asked for under the queue's lock while a change may be writing
 * its file. A decision may therefore see one setting of a change and not yet the other.
 */
@Extension
@Symbol("preemptible")
public final class PreemptibleConfiguration extends CheckedOnPage implements PersistentDescriptor {

    /** As the engine's own. */
    static final int DEFAULT_MEMORY_FLOOR_MEGABYTES = (int) (FreezeRequest.DEFAULT_MEMORY_FLOOR >> 20);

    static final int DEFAULT_AGEING_MINUTES = 10;

    /** Enough for a build of each executor of a usual agent, and a bound on what a stream of preemptors can pile up. */
    static final int DEFAULT_MOST_SUSPENDED_PER_AGENT = 10;

    static final int DEFAULT_MOST_SUSPENDED = 100;
    static final int DEFAULT_IMAGE_LIMIT_MEGABYTES = 16 << 10;
    static final int DEFAULT_DISK_FLOOR_MEGABYTES = 5 << 10;
    static final int DEFAULT_DISK_FLOOR_PERCENT = 5;
    /** As the policy's own. */
    static final int DEFAULT_FROZEN_ONLY_SECONDS =
            (int) TimeUnit.MILLISECONDS.toSeconds(FreezeOnly.DEFAULT.longestMillis());

    static final int DEFAULT_STORED_WORKSPACE_MEGABYTES = 2 << 10;
    static final int DEFAULT_FROZEN_ONLY_PERCENT = FreezeOnly.DEFAULT.memoryPercent();

    private volatile boolean enabled = true;
    /** 0 = that of ordinary items. */
    private volatile int bestPriority;

    private volatile int timeSliceMinutes;
    private volatile List<SliceRule> sliceRules = new ArrayList<>();
    private volatile int exemptSeconds;
    private volatile int mostSuspensions;
    private volatile int mostSuspendedPerAgent = DEFAULT_MOST_SUSPENDED_PER_AGENT;
    private volatile int mostSuspended = DEFAULT_MOST_SUSPENDED;
    private volatile int ageingMinutes = DEFAULT_AGEING_MINUTES;
    private volatile int memoryFloorMegabytes = DEFAULT_MEMORY_FLOOR_MEGABYTES;
    private volatile int imageLimitMegabytes = DEFAULT_IMAGE_LIMIT_MEGABYTES;
    private volatile int diskFloorMegabytes = DEFAULT_DISK_FLOOR_MEGABYTES;
    private volatile int diskFloorPercent = DEFAULT_DISK_FLOOR_PERCENT;
    private volatile UndumpableStages undumpable = UndumpableStages.WAIT;
    private volatile int frozenOnlySeconds = DEFAULT_FROZEN_ONLY_SECONDS;
    private volatile int frozenOnlyPercent = DEFAULT_FROZEN_ONLY_PERCENT;
    /** Also in the files of versions that knew no such thing. */
    private volatile boolean moveStages;

    private volatile int storedWorkspaceMegabytes = DEFAULT_STORED_WORKSPACE_MEGABYTES;
    private volatile String moveExcludes = "";
    private volatile OwnerBy ownerBy = OwnerBy.USER;

    @CheckForNull
    private volatile UndisturbedHours undisturbedHours;

    @CheckForNull
    private volatile StageDefaults stageDefaults;

    /** Not the one that Jenkins holds: its values are never saved. */
    private final transient boolean copy;
    /** What the calling thread's change that is under way has set. */
    private final transient ThreadLocal<Change> underWay = new ThreadLocal<>();

    public PreemptibleConfiguration() {
        copy = false;
    }

    /** A copy, whose values are never saved. */
    PreemptibleConfiguration(PreemptibleConfiguration other) {
        copy = true;
        take(other);
    }

    /** @param values all of them, those that it has not set as they were when it began */
    private record Change(BulkChange as, PreemptibleConfiguration values) {}

    /** The one that Jenkins holds. */
    public static PreemptibleConfiguration get() {
        return ExtensionList.lookupSingleton(PreemptibleConfiguration.class);
    }

    @Override
    public String getDisplayName() {
        return Messages.PreemptibleConfiguration_DisplayName();
    }

    /** Whether stages may be suspended, for others or manually. Otherwise suspended stages are resumed. */
    public boolean isEnabled() {
        return enabled;
    }

    @DataBoundSetter
    public void setEnabled(boolean enabled) {
        change(target -> target.enabled = enabled);
    }

    /** The best priority that a step may ask for where no folder sets another one; 0 = that of ordinary items. */
    public int getBestPriority() {
        return bestPriority;
    }

    /** @throws IllegalArgumentException when it is not in 0..1000 */
    @DataBoundSetter
    public void setBestPriority(int bestPriority) {
        change(target -> target.bestPriority = Range.BEST_PRIORITY.checked(bestPriority));
    }

    /** After how many minutes of running a stage gives way to its equals, where no rule fits; 0 = never. */
    public int getTimeSliceMinutes() {
        return timeSliceMinutes;
    }

    /** @throws IllegalArgumentException when it is not in 0..10080 */
    @DataBoundSetter
    public void setTimeSliceMinutes(int timeSliceMinutes) {
        change(target -> target.timeSliceMinutes = Range.TIME_SLICE.checked(timeSliceMinutes));
    }

    /** Time slices by label and priority; the first one that fits a stage counts. */
    public List<SliceRule> getSliceRules() {
        return List.copyOf(sliceRules);
    }

    /** @throws IllegalArgumentException when the priorities of one are the wrong way round */
    @DataBoundSetter
    public void setSliceRules(@CheckForNull List<SliceRule> sliceRules) {
        // A plain list: what Jenkins writes to disk has to be readable by any later Java.
        List<SliceRule> rules = sliceRules == null ? new ArrayList<>() : new ArrayList<>(sliceRules);
        change(target -> {
            rules.forEach(SliceRule::checked);
            target.sliceRules = rules;
        });
    }

    /** For how many seconds after a start or a resume a stage is not suspended; 0 = it may be at any time. */
    public int getExemptSeconds() {
        return exemptSeconds;
    }

    /** @throws IllegalArgumentException when it is not in 0..86400 */
    @DataBoundSetter
    public void setExemptSeconds(int exemptSeconds) {
        change(target -> target.exemptSeconds = Range.EXEMPT.checked(exemptSeconds));
    }

    /** How often one stage is suspended at most; 0 = no limit. */
    public int getMostSuspensions() {
        return mostSuspensions;
    }

    /** @throws IllegalArgumentException when it is not in 0..1000 */
    @DataBoundSetter
    public void setMostSuspensions(int mostSuspensions) {
        change(target -> target.mostSuspensions = Range.MOST_SUSPENSIONS.checked(mostSuspensions));
    }

    /** Of how many suspended stages one agent holds the memory or the image at most; 0 = no limit. */
    public int getMostSuspendedPerAgent() {
        return mostSuspendedPerAgent;
    }

    /** @throws IllegalArgumentException when it is not in 0..1000 */
    @DataBoundSetter
    public void setMostSuspendedPerAgent(int mostSuspendedPerAgent) {
        change(target -> target.mostSuspendedPerAgent = Range.MOST_SUSPENDED_PER_AGENT.checked(mostSuspendedPerAgent));
    }

    /** How many stages are suspended at a time at most, on all agents; 0 = no limit. */
    public int getMostSuspended() {
        return mostSuspended;
    }

    /** @throws IllegalArgumentException when it is not in 0..100000 */
    @DataBoundSetter
    public void setMostSuspended(int mostSuspended) {
        change(target -> target.mostSuspended = Range.MOST_SUSPENDED.checked(mostSuspended));
    }

    /** For each such time a suspended stage's claim counts as one priority higher; 0 = it never does. */
    public int getAgeingMinutes() {
        return ageingMinutes;
    }

    /** @throws IllegalArgumentException when it is not in 0..10080 */
    @DataBoundSetter
    public void setAgeingMinutes(int ageingMinutes) {
        change(target -> target.ageingMinutes = Range.AGEING.checked(ageingMinutes));
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
        change(target -> target.memoryFloorMegabytes = Range.MEMORY_FLOOR.checked(memoryFloorMegabytes));
    }

    /** The same in bytes. */
    public long memoryFloorBytes() {
        return (long) memoryFloorMegabytes << 20;
    }

    /** A stage with more megabytes (of 2^20 bytes) of resident memory is not suspended; 0 = no limit. */
    public int getImageLimitMegabytes() {
        return imageLimitMegabytes;
    }

    /** @throws IllegalArgumentException when it is not in 0..1048576 */
    @DataBoundSetter
    public void setImageLimitMegabytes(int imageLimitMegabytes) {
        change(target -> target.imageLimitMegabytes = Range.IMAGE_LIMIT.checked(imageLimitMegabytes));
    }

    /** The same in bytes: no image may have more, nor is a stage suspended that has more memory; 0 = no limit. */
    public long imageLimitBytes() {
        return (long) imageLimitMegabytes << 20;
    }

    /**
     * How many megabytes (of 2^20 bytes) of the controller's disk stay free of images; 0 = none. Where the share of {@link
     * #getDiskFloorPercent} is more, that counts.
     */
    public int getDiskFloorMegabytes() {
        return diskFloorMegabytes;
    }

    /** @throws IllegalArgumentException when it is not in 0..1048576 */
    @DataBoundSetter
    public void setDiskFloorMegabytes(int diskFloorMegabytes) {
        change(target -> target.diskFloorMegabytes = Range.DISK_FLOOR.checked(diskFloorMegabytes));
    }

    /** What share of the controller's disk stays free of images, in percent of its size; 0 = none. */
    public int getDiskFloorPercent() {
        return diskFloorPercent;
    }

    /** @throws IllegalArgumentException when it is not in 0..99 */
    @DataBoundSetter
    public void setDiskFloorPercent(int diskFloorPercent) {
        change(target -> target.diskFloorPercent = Range.DISK_FLOOR_PERCENT.checked(diskFloorPercent));
    }

    /** What stays free of images on a disk of that size, in bytes. */
    public long diskFloorBytes(long sizeBytes) {
        return Math.max((long) diskFloorMegabytes << 20, sizeBytes / 100 * diskFloorPercent);
    }

    /** What becomes of stages that cannot be dumped: {@code wait}, {@code rerun}, {@code never-preempt} or
     * {@code freeze-only}. */
    public String getUndumpable() {
        return Choice.word(undumpable);
    }

    /** @throws IllegalArgumentException when it is another word */
    @DataBoundSetter
    public void setUndumpable(String undumpable) {
        change(target -> target.undumpable =
                Choice.of(UndumpableStages.class, Messages.PreemptibleConfiguration_Undumpable(), undumpable));
    }

    /** For how many seconds a stage that cannot be dumped is frozen at most, where that is chosen. */
    public int getFrozenOnlySeconds() {
        return frozenOnlySeconds;
    }

    /** @throws IllegalArgumentException when it is not in 30..7200 */
    @DataBoundSetter
    public void setFrozenOnlySeconds(int frozenOnlySeconds) {
        change(target -> target.frozenOnlySeconds = Range.FROZEN_ONLY_SECONDS.checked(frozenOnlySeconds));
    }

    /** What share of an agent's memory such stages may hold together while they are frozen, in percent; 0 = none. */
    public int getFrozenOnlyPercent() {
        return frozenOnlyPercent;
    }

    /** @throws IllegalArgumentException when it is not in 0..100 */
    @DataBoundSetter
    public void setFrozenOnlyPercent(int frozenOnlyPercent) {
        change(target -> target.frozenOnlyPercent = Range.FROZEN_ONLY_PERCENT.checked(frozenOnlyPercent));
    }

    /** Whether a suspended stage with an executor of its own may be resumed on another agent. */
    public boolean isMoveStages() {
        return moveStages;
    }

    @DataBoundSetter
    public void setMoveStages(boolean moveStages) {
        change(target -> target.moveStages = moveStages);
    }

    /**
     * Where stages may be moved: a workspace with more megabytes (of 2^20 bytes) is not stored with the image, and its stage
     * is not resumed without its own agent; 0 = none is.
     */
    public int getStoredWorkspaceMegabytes() {
        return storedWorkspaceMegabytes;
    }

    /** @throws IllegalArgumentException when it is not in 0..1048576 */
    @DataBoundSetter
    public void setStoredWorkspaceMegabytes(int storedWorkspaceMegabytes) {
        change(target -> target.storedWorkspaceMegabytes = Range.STORED_WORKSPACE.checked(storedWorkspaceMegabytes));
    }

    /** The same in bytes. */
    public long storedWorkspaceBytes() {
        return (long) storedWorkspaceMegabytes << 20;
    }

    /** What of workspaces does not travel and is not stored: patterns, see {@link MoveExcludes}; empty for nothing. */
    public String getMoveExcludes() {
        return moveExcludes;
    }

    /** @throws IllegalArgumentException when one is no pattern, or there are more than 100 */
    @DataBoundSetter
    public void setMoveExcludes(String moveExcludes) {
        String plain = Util.fixNull(moveExcludes).trim();
        MoveExcludes.parse(plain);
        change(target -> target.moveExcludes = plain);
    }

    public MoveExcludes moveExcludes() {
        return MoveExcludes.parse(moveExcludes);
    }

    /** By what executor time is shared among equals: {@code user}, {@code folder} or {@code job}. */
    public String getOwnerBy() {
        return Choice.word(ownerBy);
    }

    /** @throws IllegalArgumentException when it is another word */
    @DataBoundSetter
    public void setOwnerBy(String ownerBy) {
        change(target ->
                target.ownerBy = Choice.of(OwnerBy.class, Messages.PreemptibleConfiguration_OwnerBy(), ownerBy));
    }

    /** The same for the plugin itself. */
    public OwnerBy ownerBy() {
        return ownerBy;
    }

    /** Hours in which long stages are not suspended; null = none. */
    @CheckForNull
    public UndisturbedHours getUndisturbedHours() {
        return undisturbedHours;
    }

    @DataBoundSetter
    public void setUndisturbedHours(@CheckForNull UndisturbedHours undisturbedHours) {
        change(target -> target.undisturbedHours = undisturbedHours);
    }

    /** What stages have where neither they nor their job nor a folder says it; null = nothing. */
    @CheckForNull
    public StageDefaults getStageDefaults() {
        return stageDefaults;
    }

    @DataBoundSetter
    public void setStageDefaults(@CheckForNull StageDefaults stageDefaults) {
        change(target -> target.stageDefaults = stageDefaults);
    }

    /** For the page: names of {@link Setting.Group} in which something differs from its default. */
    public Set<String> changedGroups() {
        return Setting.changedGroups(this);
    }

    /** The settings as the policy takes them. */
    public Limits limits() {
        UndisturbedHours hours = undisturbedHours;
        return new Limits(
                enabled,
                new Slices(
                        TimeUnit.MINUTES.toMillis(timeSliceMinutes),
                        sliceRules.stream().map(SliceRule::rule).toList()),
                TimeUnit.SECONDS.toMillis(exemptSeconds),
                mostSuspensions,
                mostSuspendedPerAgent,
                mostSuspended,
                TimeUnit.MINUTES.toMillis(ageingMinutes),
                imageLimitBytes(),
                memoryFloorBytes(),
                undumpable,
                hours == null ? null : hours.undisturbed(),
                new FreezeOnly(TimeUnit.SECONDS.toMillis(frozenOnlySeconds), frozenOnlyPercent));
    }

    /** Reads the saved settings; a value in the file that is out of its range is ignored. */
    @Override
    public synchronized void load() {
        super.load();
        bestPriority = Range.BEST_PRIORITY.savedOr(0, bestPriority);
        timeSliceMinutes = Range.TIME_SLICE.savedOr(0, timeSliceMinutes);
        exemptSeconds = Range.EXEMPT.savedOr(0, exemptSeconds);
        mostSuspensions = Range.MOST_SUSPENSIONS.savedOr(0, mostSuspensions);
        mostSuspendedPerAgent =
                Range.MOST_SUSPENDED_PER_AGENT.savedOr(DEFAULT_MOST_SUSPENDED_PER_AGENT, mostSuspendedPerAgent);
        mostSuspended = Range.MOST_SUSPENDED.savedOr(DEFAULT_MOST_SUSPENDED, mostSuspended);
        ageingMinutes = Range.AGEING.savedOr(DEFAULT_AGEING_MINUTES, ageingMinutes);
        memoryFloorMegabytes = Range.MEMORY_FLOOR.savedOr(DEFAULT_MEMORY_FLOOR_MEGABYTES, memoryFloorMegabytes);
        imageLimitMegabytes = Range.IMAGE_LIMIT.savedOr(DEFAULT_IMAGE_LIMIT_MEGABYTES, imageLimitMegabytes);
        diskFloorMegabytes = Range.DISK_FLOOR.savedOr(DEFAULT_DISK_FLOOR_MEGABYTES, diskFloorMegabytes);
        diskFloorPercent = Range.DISK_FLOOR_PERCENT.savedOr(DEFAULT_DISK_FLOOR_PERCENT, diskFloorPercent);
        frozenOnlySeconds = Range.FROZEN_ONLY_SECONDS.savedOr(DEFAULT_FROZEN_ONLY_SECONDS, frozenOnlySeconds);
        frozenOnlyPercent = Range.FROZEN_ONLY_PERCENT.savedOr(DEFAULT_FROZEN_ONLY_PERCENT, frozenOnlyPercent);
        moveExcludes = savedExcludes(moveExcludes);
        storedWorkspaceMegabytes =
                Range.STORED_WORKSPACE.savedOr(DEFAULT_STORED_WORKSPACE_MEGABYTES, storedWorkspaceMegabytes);
    }

    private static String savedExcludes(String saved) {
        try {
            MoveExcludes.parse(saved);
            return Util.fixNull(saved);
        } catch (IllegalArgumentException x) {
            return "";
        }
    }

    /** Takes over the page's values, all of them or, when one is out of its range, none. */
    @Override
    public boolean configure(StaplerRequest2 req, JSONObject json) throws FormException {
        PreemptibleConfiguration asked = with(req, json);
        change(target -> target.take(asked));
        return true;
    }

    /**
     * A copy with the page's values, which is not saved.
     *
     * @throws FormException when one is out of its range
     */
    public PreemptibleConfiguration with(StaplerRequest2 req, JSONObject json) throws FormException {
        PreemptibleConfiguration asked = new PreemptibleConfiguration(this);
        StageDefaults.filledIn(json.optJSONObject("stageDefaults"));
        try {
            req.bindJSON(asked, json);
        } catch (RuntimeException refused) {
            throw new FormException(sentenceOf(refused), refused, "preemptible");
        }
        // The page leaves an empty list and a part that is switched off out of what it sends.
        asked.sliceRules = json.has("sliceRules") ? asked.sliceRules : new ArrayList<>();
        asked.undisturbedHours = json.has("undisturbedHours") ? asked.undisturbedHours : null;
        asked.stageDefaults = json.has("stageDefaults") ? asked.stageDefaults : null;
        return asked;
    }

    /** Sets something: at once or, within a {@link BulkChange} of this thread, when that is committed. */
    private void change(Consumer<PreemptibleConfiguration> setting) {
        Change change = underWay.get();
        // Nobody tells of a change that was given up: what it had set is forgotten here, also when this is refused.
        underWay.remove();
        if (copy || !BulkChange.contains(this)) {
            setting.accept(this);
            save();
            return;
        }
        if (change == null || change.as() != BulkChange.current()) {
            change = new Change(BulkChange.current(), new PreemptibleConfiguration(this));
        }
        setting.accept(change.values());
        underWay.set(change);
    }

    /** Takes over what the calling thread's change has set, if there is one, and writes all settings to disk. */
    @Override
    public synchronized void save() {
        if (copy || BulkChange.contains(this)) {
            return;
        }
        Change committed = underWay.get();
        underWay.remove();
        if (committed != null) {
            take(committed.values());
        }
        super.save();
    }

    /** Sets everything to its default. */
    void reset() {
        PreemptibleConfiguration defaults = new PreemptibleConfiguration();
        change(target -> target.take(defaults));
    }

    /** Takes over all values, without saving them. */
    void take(PreemptibleConfiguration other) {
        enabled = other.enabled;
        bestPriority = other.bestPriority;
        timeSliceMinutes = other.timeSliceMinutes;
        sliceRules = other.sliceRules;
        exemptSeconds = other.exemptSeconds;
        mostSuspensions = other.mostSuspensions;
        mostSuspendedPerAgent = other.mostSuspendedPerAgent;
        mostSuspended = other.mostSuspended;
        ageingMinutes = other.ageingMinutes;
        memoryFloorMegabytes = other.memoryFloorMegabytes;
        imageLimitMegabytes = other.imageLimitMegabytes;
        diskFloorMegabytes = other.diskFloorMegabytes;
        diskFloorPercent = other.diskFloorPercent;
        undumpable = other.undumpable;
        frozenOnlySeconds = other.frozenOnlySeconds;
        frozenOnlyPercent = other.frozenOnlyPercent;
        moveStages = other.moveStages;
        storedWorkspaceMegabytes = other.storedWorkspaceMegabytes;
        moveExcludes = other.moveExcludes;
        ownerBy = other.ownerBy;
        undisturbedHours = other.undisturbedHours;
        stageDefaults = other.stageDefaults;
    }

    /** Stapler wraps what a setter throws; the sentence for people is the innermost. */
    static String sentenceOf(Throwable refused) {
        Throwable innermost = refused;
        while (innermost.getCause() != null) {
            innermost = innermost.getCause();
        }
        return innermost.getMessage();
    }
}
