package io.jenkins.plugins.preemptible.view;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.model.InvisibleAction;
import java.util.Objects;
import org.jenkinsci.plugins.workflow.actions.PersistentAction;
import org.kohsuke.stapler.export.Exported;
import org.kohsuke.stapler.export.ExportedBean;

/**
 * Tells programs how a stage was last resumed.
 *
 * <ol>
 *   <li>It is put on the flow node of the stage when it is resumed, in place of the one before, and is saved with it.
 *   <li>It is exported, as {@link SuspendedStageAction} is.
 *   <li>It never changes, so no thread has to be waited for.
 * </ol>
 */
@ExportedBean(defaultVisibility = 2)
public final class ResumedStageAction extends InvisibleAction implements PersistentAction {

    private final String stage;
    private final String tier;
    private final String from;
    private final long suspendedMillis;
    private final long resumedMillis;
    private final long tookMillis;
    /** False in what versions that knew no such thing have saved. */
    private final boolean memoryOnly;

    /**
     * @param stage the stage's name, as people see it
     * @param tier in capitals: FROZEN, LOCAL_IMAGE, ARCHIVE, or ALREADY_RUNNING when an earlier attempt's answer was lost
     * @param from the same for people, as the end of a sentence
     * @param suspendedMillis when it was suspended, since 1970
     * @param resumedMillis when it ran again, since 1970
     * @param tookMillis from the arrival of the executor until then
     * @param memoryOnly whether its agent made no image of it
     */
    public ResumedStageAction(
            @NonNull String stage,
            @NonNull String tier,
            @NonNull String from,
            long suspendedMillis,
            long resumedMillis,
            long tookMillis,
            boolean memoryOnly) {
        this.stage = Objects.requireNonNull(stage, "stage");
        this.tier = Objects.requireNonNull(tier, "tier");
        this.from = Objects.requireNonNull(from, "from");
        this.suspendedMillis = suspendedMillis;
        this.resumedMillis = resumedMillis;
        this.tookMillis = tookMillis;
        this.memoryOnly = memoryOnly;
    }

    /** The stage's name. */
    @Exported
    public String getStage() {
        return stage;
    }

    /** FROZEN, LOCAL_IMAGE, ARCHIVE or ALREADY_RUNNING. */
    @Exported
    public String getTier() {
        return tier;
    }

    /** The same for people. */
    @Exported
    public String getFrom() {
        return from;
    }

    /** Milliseconds since 1970. */
    @Exported
    public long getSuspendedMillis() {
        return suspendedMillis;
    }

    /** Milliseconds since 1970. */
    @Exported
    public long getResumedMillis() {
        return resumedMillis;
    }

    /** Whether its agent made no image of it. */
    @Exported
    public boolean isMemoryOnly() {
        return memoryOnly;
    }

    /** From the arrival of the executor until the stage ran, in milliseconds. */
    @Exported
    public long getTookMillis() {
        return tookMillis;
    }
}
