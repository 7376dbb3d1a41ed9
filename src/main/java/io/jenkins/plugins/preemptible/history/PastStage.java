package io.jenkins.plugins.preemptible.history;

import io.jenkins.plugins.preemptible.event.StageEnded;
import io.jenkins.plugins.preemptible.event.StageRef;
import io.jenkins.plugins.preemptible.event.StageResumed;
import io.jenkins.plugins.preemptible.event.StageSuspended;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import org.kohsuke.stapler.export.Exported;
import org.kohsuke.stapler.export.ExportedBean;

/**
 * One stage of a build that was suspended at least once, with its newest suspensions.
 *
 * <p>Times are milliseconds since 1970. An instance does not change: each event makes a new one.
 */
@ExportedBean(defaultVisibility = 2)
public final class PastStage {

    /** Older ones are counted only. */
    static final int MOST = 100;

    private final String id;
    private final String name;
    private final String node;
    private final long startedMillis;
    private final long endedMillis;
    /** Those that are over and not listed any more. */
    private final int forgotten;

    private final long forgottenMillis;
    private final PastSuspension[] suspensions;

    private PastStage(
            String id,
            String name,
            String node,
            long startedMillis,
            long endedMillis,
            int forgotten,
            long forgottenMillis,
            PastSuspension[] suspensions) {
        this.id = id;
        this.name = name;
        this.node = node;
        this.startedMillis = startedMillis;
        this.endedMillis = endedMillis;
        this.forgotten = forgotten;
        this.forgottenMillis = forgottenMillis;
        this.suspensions = suspensions;
    }

    static PastStage begun(StageSuspended event) {
        StageRef stage = event.stage();
        return new PastStage(
                stage.id(), stage.name(), stage.node(), event.startedMillis(), 0, 0, 0, new PastSuspension[0]);
    }

    /** One that runs on another agent from now on. */
    static PastStage arrived(StageResumed event) {
        StageRef stage = event.stage();
        return new PastStage(stage.id(), stage.name(), stage.node(), event.atMillis(), 0, 0, 0, new PastSuspension[0]);
    }

    PastStage with(PastSuspension suspension) {
        PastSuspension[] all = Arrays.copyOf(suspensions, suspensions.length + 1);
        all[suspensions.length] = suspension;
        if (all.length <= MOST) {
            return new PastStage(id, name, node, startedMillis, endedMillis, forgotten, forgottenMillis, all);
        }
        return new PastStage(
                id,
                name,
                node,
                startedMillis,
                endedMillis,
                forgotten + 1,
                forgottenMillis + all[0].withoutExecutorMillis(all[1].getSuspendedMillis()),
                Arrays.copyOfRange(all, 1, all.length));
    }

    /** The newest suspension changes, if it is not over. */
    PastStage withNewest(UnaryOperator<PastSuspension> change) {
        int newest = suspensions.length - 1;
        if (newest < 0 || !suspensions[newest].isOpen()) {
            return this;
        }
        PastSuspension[] all = suspensions.clone();
        all[newest] = change.apply(all[newest]);
        return new PastStage(id, name, node, startedMillis, endedMillis, forgotten, forgottenMillis, all);
    }

    PastStage with(StageEnded event) {
        PastStage last = withNewest(suspension -> suspension.with(event));
        return new PastStage(
                id, name, node, startedMillis, event.atMillis(), forgotten, forgottenMillis, last.suspensions);
    }

    /** Unique on its controller. */
    @Exported
    public String getId() {
        return id;
    }

    @Exported
    public String getName() {
        return name;
    }

    /** Name of its agent; empty for the built-in node. */
    @Exported
    public String getNode() {
        return node;
    }

    @Exported
    public long getStartedMillis() {
        return startedMillis;
    }

    /** 0 while it is not over. */
    @Exported
    public long getEndedMillis() {
        return endedMillis;
    }

    /** The newest {@value #MOST}, the oldest of them first. */
    @Exported
    public List<PastSuspension> getSuspensions() {
        return List.of(suspensions);
    }

    /** How often it was suspended in all. */
    @Exported
    public int getCount() {
        return forgotten + suspensions.length;
    }

    /** For how long it had no executor in all, in milliseconds. */
    public long withoutExecutorMillis(long nowMillis) {
        long all = forgottenMillis;
        for (PastSuspension suspension : suspensions) {
            all += suspension.withoutExecutorMillis(nowMillis);
        }
        return all;
    }
}
