package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.stage.CriuOptions;
import java.util.List;
import java.util.Set;

/**
 * What a look at a stage's tree found.
 *
 * @param obstacles what stops a dump, the worst first; empty when nothing does
 * @param options what criu has to be given for this tree
 */
public record PreflightReport(List<Obstacle> obstacles, CriuOptions options) {

    /**
     * Somebody outside would wait for the stage or give it up, it holds hardware that others may want, or it cannot be
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

    /** What is left of it where no image is made: only what suffers when the stage stands still. */
    public PreflightReport withoutDump() {
        return new PreflightReport(
                obstacles.stream().filter(l -> OF_FREEZE.contains(l.reason())).toList(), options);
    }

    public boolean ok() {
        return obstacles.isEmpty();
    }

    /** Those that stay as long as the process that has them: with one in its first seconds, do not count on a stage. */
    public List<Obstacle> lasting() {
        return obstacles.stream().filter(l -> !l.reason().passing()).toList();
    }
}
