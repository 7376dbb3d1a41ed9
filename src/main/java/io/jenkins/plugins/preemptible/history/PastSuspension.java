package io.jenkins.plugins.preemptible.history;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.event.StageEnded;
import io.jenkins.plugins.preemptible.event.StageResumed;
import io.jenkins.plugins.preemptible.event.StageSealed;
import io.jenkins.plugins.preemptible.event.StageSuspended;
import io.jenkins.plugins.preemptible.view.ShownName;
import io.jenkins.plugins.preemptible.view.ShownSentence;
import org.kohsuke.stapler.export.Exported;
import org.kohsuke.stapler.export.ExportedBean;

/**
 * One suspension of a stage, over or not.
 *
 * <p>Times are milliseconds since 1970, and 0 stands for "not yet" and "never". An instance does not change: each event
 * makes a new one.
 */
@ExportedBean(defaultVisibility = 2)
public final class PastSuspension implements Cloneable {

    private final String reason;
    private final String sentence;

    @CheckForNull
    private final String preemptor;

    @CheckForNull
    private final String preemptorJob;

    private final long suspendedMillis;
    private final long tookMillis;
    private final int processes;
    private final long residentBytes;
    private final boolean memoryOnly;

    /** Null in the history of versions that did not keep it. */
    @CheckForNull
    private final String node;

    private long sealedMillis;
    private long dumpMillis;
    private long sealMillis;
    private long imageBytes;
    private long archiveBytes;

    private long resumedMillis;
    private long resumeTookMillis;

    @CheckForNull
    private String tier;

    @CheckForNull
    private String resumedOn;

    private long endedMillis;

    PastSuspension(StageSuspended event) {
        reason = event.reason();
        sentence = event.sentence();
        preemptor = event.preemptor();
        preemptorJob = event.preemptorJob();
        suspendedMillis = event.atMillis();
        tookMillis = event.tookMillis();
        processes = event.processes();
        residentBytes = event.residentBytes();
        memoryOnly = event.memoryOnly();
        node = event.stage().node();
    }

    PastSuspension with(StageSealed event) {
        PastSuspension next = copy();
        next.sealedMillis = event.atMillis();
        next.dumpMillis = event.dumpMillis();
        next.sealMillis = event.sealMillis();
        next.imageBytes = event.imageBytes();
        next.archiveBytes = event.archiveBytes();
        return next;
    }

    PastSuspension with(StageResumed event) {
        PastSuspension next = copy();
        next.resumedMillis = event.atMillis();
        next.resumeTookMillis = event.tookMillis();
        next.tier = event.tier();
        next.resumedOn = event.stage().node();
        return next;
    }

    PastSuspension with(StageEnded event) {
        PastSuspension next = copy();
        next.endedMillis = event.atMillis();
        return next;
    }

    private PastSuspension copy() {
        try {
            return (PastSuspension) clone();
        } catch (CloneNotSupportedException x) {
            throw new AssertionError(x);
        }
    }

    /** Whether the stage neither runs again nor has ended. */
    @Exported
    public boolean isOpen() {
        return resumedMillis == 0 && endedMillis == 0;
    }

    /** A constant of {@link io.jenkins.plugins.preemptible.engine.policy.Reason}. */
    @Exported
    public String getReason() {
        return reason;
    }

    /** The same for people. */
    @Exported
    public String getSentence() {
        return ShownSentence.of(reason, sentence);
    }

    /** For whom, as far as the looking user may know; null when for nobody in particular. */
    @Exported
    @CheckForNull
    public String getPreemptor() {
        return ShownName.of(preemptor, preemptorJob);
    }

    /** When the executor was free. */
    @Exported
    public long getSuspendedMillis() {
        return suspendedMillis;
    }

    /** From the request until then, in milliseconds. */
    @Exported
    public long getTookMillis() {
        return tookMillis;
    }

    /** How many were frozen. */
    @Exported
    public int getProcesses() {
        return processes;
    }

    /** Of their memory, in bytes. */
    @Exported
    public long getResidentBytes() {
        return residentBytes;
    }

    /** No image was to be made. */
    @Exported
    public boolean isMemoryOnly() {
        return memoryOnly;
    }

    /** Name of the agent whose executor it gave away, empty for the built-in node; null when an earlier version noted it. */
    @Exported
    @CheckForNull
    public String getNode() {
        return node;
    }

    /** When its image was archived. */
    @Exported
    public long getSealedMillis() {
        return sealedMillis;
    }

    /** What CRIU took for that, in milliseconds. */
    @Exported
    public long getDumpMillis() {
        return dumpMillis;
    }

    /** What compression and encryption took, in milliseconds. */
    @Exported
    public long getSealMillis() {
        return sealMillis;
    }

    /** Of memory and state before compression, in bytes. */
    @Exported
    public long getImageBytes() {
        return imageBytes;
    }

    /** Of the archive, in bytes. */
    @Exported
    public long getArchiveBytes() {
        return archiveBytes;
    }

    /** When it ran again. */
    @Exported
    public long getResumedMillis() {
        return resumedMillis;
    }

    /** From the arrival of the executor until then, in milliseconds. */
    @Exported
    public long getResumeTookMillis() {
        return resumeTookMillis;
    }

    /** FROZEN, LOCAL_IMAGE, ARCHIVE or ALREADY_RUNNING; null when it was not resumed. */
    @Exported
    @CheckForNull
    public String getTier() {
        return tier;
    }

    /** Name of the agent on which it ran again, empty for the built-in node; null when it did not, or is not known. */
    @Exported
    @CheckForNull
    public String getResumedOn() {
        return resumedOn;
    }

    /** When the stage ended, if it ended while it was suspended. */
    @Exported
    public long getEndedMillis() {
        return endedMillis;
    }

    /** For how long the stage had no executor, at least 0. */
    public long withoutExecutorMillis(long nowMillis) {
        long until = resumedMillis != 0 ? resumedMillis : endedMillis != 0 ? endedMillis : nowMillis;
        return Math.max(0, until - suspendedMillis);
    }
}
