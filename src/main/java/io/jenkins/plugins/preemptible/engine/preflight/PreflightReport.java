package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.stage.CriuOptions;
import java.util.List;
import java.util.Set;

/**
 * What the preflight of a stage found.
 *
 * @param obstacles what stops a dump, the worst first; empty when nothing does
 * @param options what criu has to be given for this tree
 */
public record PreflightReport(List<Obstacle> obstacles, CriuOptions options) {

    /**
     * A process outside would wait for the stage or give it up, it holds hardware that others may want, or it cannot be
     * frozen whole. All others are limits of CRIU's.
     */
    private static final Set<FailureReason> OF_FREEZE = Set.of(
            FailureReason.ENTERING,
            FailureReason.ESCAPED,
            FailureReason.TRACED,
            FailureReason.CONNECTED_TCP,
            FailureReason.MIXED_CONNECTIONS,
            FailureReason.UNIX_SOCKET_OUTSIDE,
            FailureReason.FANOTIFY,
            FailureReason.FUSE_DEVICE,
            FailureReason.GPU_DEVICE,
            FailureReason.DEVICE,
            FailureReason.TUN_DEVICE,
            FailureReason.DMA_BUFFER);

    public PreflightReport {
        obstacles = List.copyOf(obstacles);
    }

    /** The report for an engine without images: only obstacles to freezing are left. */
    public PreflightReport withoutDump() {
        return new PreflightReport(
                obstacles.stream().filter(l -> OF_FREEZE.contains(l.reason())).toList(), options);
    }

    public boolean ok() {
        return obstacles.isEmpty();
    }

    /** The obstacles that stay as long as their process. A stage with one of them can hardly ever be suspended. */
    public List<Obstacle> lasting() {
        return obstacles.stream().filter(l -> !l.reason().passing()).toList();
    }
}
