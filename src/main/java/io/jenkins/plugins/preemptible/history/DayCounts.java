package io.jenkins.plugins.preemptible.history;

import io.jenkins.plugins.preemptible.event.StageRefused;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.kohsuke.stapler.export.Exported;
import org.kohsuke.stapler.export.ExportedBean;

/** What happened to stages on one day, in numbers. Guarded by the lock of its {@link DailyStatistics}. */
@ExportedBean(defaultVisibility = 2)
public final class DayCounts implements Cloneable {

    /** ISO 8601, as the controller's clock and time zone have it. */
    final String day;

    long suspensions;
    long resumed;
    long endedWhileSuspended;
    long suspendedMillis;
    long costMillis;
    long sealed;
    long sealedBytes;
    long preemptors;
    long preemptorsWaitedMillis;
    /** By phase and reason. */
    private TreeMap<String, Long> refusals = new TreeMap<>();

    DayCounts(String day) {
        this.day = day;
    }

    void refused(StageRefused event) {
        refusals.merge(event.phase() + " " + event.countedReason(), 1L, Long::sum);
    }

    /** Adds what another day has. */
    void add(DayCounts other) {
        suspensions += other.suspensions;
        resumed += other.resumed;
        endedWhileSuspended += other.endedWhileSuspended;
        suspendedMillis += other.suspendedMillis;
        costMillis += other.costMillis;
        sealed += other.sealed;
        sealedBytes += other.sealedBytes;
        preemptors += other.preemptors;
        preemptorsWaitedMillis += other.preemptorsWaitedMillis;
        other.refusals.forEach((reason, count) -> refusals.merge(reason, count, Long::sum));
    }

    DayCounts copy() {
        try {
            DayCounts copy = (DayCounts) clone();
            copy.refusals = new TreeMap<>(refusals);
            return copy;
        } catch (CloneNotSupportedException x) {
            throw new AssertionError(x);
        }
    }

    /** ISO 8601; the first one, where it is several. */
    @Exported
    public String getDay() {
        return day;
    }

    @Exported
    public long getSuspensions() {
        return suspensions;
    }

    @Exported
    public long getResumed() {
        return resumed;
    }

    /** Aborted, given up or lost while they were suspended. */
    @Exported
    public long getEndedWhileSuspended() {
        return endedWhileSuspended;
    }

    /** For how long the stages that were resumed had no executor. */
    @Exported
    public long getSuspendedMillis() {
        return suspendedMillis;
    }

    /** For how long executors were held by suspending and resuming itself. */
    @Exported
    public long getCostMillis() {
        return costMillis;
    }

    /** How many images were archived. */
    @Exported
    public long getSealed() {
        return sealed;
    }

    /** Of the archives. */
    @Exported
    public long getSealedBytes() {
        return sealedBytes;
    }

    /** How many items got an executor for which a stage was suspended. */
    @Exported
    public long getPreemptors() {
        return preemptors;
    }

    /** From the decisions until these items had their executors, added up. */
    @Exported
    public long getPreemptorsWaitedMillis() {
        return preemptorsWaitedMillis;
    }

    /** How many attempts came to nothing, by phase and reason: {@code SUSPEND NAMESPACES}. */
    @Exported
    public Map<String, Long> getRefusals() {
        return new LinkedHashMap<>(refusals);
    }
}
