package io.jenkins.plugins.preemptible.engine.container;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.Handover;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.host.HostMemory;
import io.jenkins.plugins.preemptible.engine.preflight.ContainerObstacles;
import io.jenkins.plugins.preemptible.engine.preflight.Obstacle;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import io.jenkins.plugins.preemptible.engine.suspend.MemoryGuard;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Freezes a stage with its containers.
 *
 * <ol>
 *   <li>Where images are made, a container ties the stage: it is refused, or frozen in memory only, where the request
 *       allows that for so much memory.
 *   <li>The tree is frozen; then the containers are paused, so that the request's guard sees nothing of the stage move.
 *   <li>Whatever fails after that lets the containers run again, unless the stage must not run.
 * </ol>
 */
public final class ContainedFreeze {

    private static final Logger LOG = Logger.getLogger(ContainedFreeze.class.getName());

    private final StageContainers containers;
    private final StageId id;
    private final boolean checkpoints;

    /** @param checkpoints whether the engine makes images */
    public ContainedFreeze(StageContainers containers, StageId id, boolean checkpoints) {
        this.containers = containers;
        this.id = id;
        this.checkpoints = checkpoints;
    }

    /** @param tree freezes the stage's own processes */
    public Frozen freeze(FreezeRequest request, BiFunction<StageId, FreezeRequest, Frozen> tree) {
        return request.mustNotRun() ? hold(request, tree) : suspend(request, tree);
    }

    private Frozen hold(FreezeRequest request, BiFunction<StageId, FreezeRequest, Frozen> tree) {
        Frozen frozen = tree.apply(id, request);
        try {
            containers.pause(id, true);
        } catch (IOException e) {
            throw notPaused(e);
        }
        return withContainers(frozen, containers.look(id));
    }

    private Frozen suspend(FreezeRequest request, BiFunction<StageId, FreezeRequest, Frozen> tree) {
        List<StageContainers.Seen> seen = containers.look(id);
        long resident =
                seen.stream().mapToLong(StageContainers.Seen::residentBytes).sum();
        for (StageContainers.Seen container : seen) {
            if (container.obstacle() != null) {
                throw unreachable(words(container));
            }
        }
        if (checkpoints) {
            requireRoom(request, resident, words(seen.get(0)));
        }
        DumpGuard guard = stage -> {
            try {
                containers.pause(id, false);
            } catch (IOException e) {
                throw notPaused(e);
            }
            return request.guard().objection(stage);
        };
        // What the tree itself may hold. Its memory is checked here already, since no image follows.
        FreezeRequest ofTree = checkpoints
                ? new FreezeRequest(guard, 0).orFrozenOnly(Math.max(1, request.frozenOnlyBytes() - resident))
                : new FreezeRequest(guard, request.memoryFloorBytes());
        boolean done = false;
        try {
            Frozen frozen = withContainers(tree.apply(id, ofTree), seen);
            done = true;
            return frozen;
        } finally {
            if (!done) {
                unpauseQuietly();
            }
        }
    }

    private static void requireRoom(FreezeRequest request, long resident, String words) {
        if (request.frozenOnlyBytes() == 0) {
            throw new SuspendFailedException(FailureReason.CONTAINER, words);
        }
        MemoryGuard.require(HostMemory.now(), request.memoryFloorBytes());
        if (resident > request.frozenOnlyBytes()) {
            throw new SuspendFailedException(
                    FailureReason.FROZEN_SHARE,
                    (resident >> 20) + " MiB, left are " + (request.frozenOnlyBytes() >> 20) + " MiB; " + words);
        }
    }

    private void unpauseQuietly() {
        try {
            containers.unpause(id);
        } catch (IOException e) {
            LOG.log(Level.WARNING, e, () -> "a container of " + id + " may still be paused; its next thaw tries again");
        }
    }

    private Frozen withContainers(Frozen frozen, List<StageContainers.Seen> seen) {
        List<String> ties = new ArrayList<>();
        if (checkpoints) {
            ties.addAll(with(new PreflightReport(List.of(), null), seen, true).tieSentences());
        }
        ties.addAll(frozen.ties());
        return new Frozen(
                frozen.id(),
                frozen.preflightMillis(),
                frozen.freezeMillis(),
                frozen.processes()
                        + seen.stream()
                                .mapToInt(StageContainers.Seen::processes)
                                .sum(),
                frozen.residentBytes()
                        + seen.stream()
                                .mapToLong(StageContainers.Seen::residentBytes)
                                .sum(),
                Handover.AT_FREEZE,
                true,
                ties);
    }

    /**
     * The report on the tree, with what its containers add: the worst first.
     *
     * @param checkpoints whether a container that can be paused stands against something
     */
    public static PreflightReport with(PreflightReport tree, List<StageContainers.Seen> seen, boolean checkpoints) {
        List<Obstacle> obstacles = new ArrayList<>();
        for (StageContainers.Seen container : seen) {
            if (container.obstacle() != null) {
                obstacles.add(0, ContainerObstacles.unreachable(words(container)));
            } else if (checkpoints) {
                obstacles.add(ContainerObstacles.notDumped(words(container)));
            }
        }
        obstacles.addAll(tree.obstacles());
        return new PreflightReport(obstacles, tree.options());
    }

    private static String words(StageContainers.Seen container) {
        return container.container().shown()
                + Optional.ofNullable(container.obstacle())
                        .map(why -> ": " + why)
                        .orElse("");
    }

    private static SuspendFailedException notPaused(IOException why) {
        return new SuspendFailedException(FailureReason.CONTAINER_NOT_PAUSED, why.getMessage(), List.of(), why);
    }

    private static SuspendFailedException unreachable(String words) {
        return new SuspendFailedException(FailureReason.CONTAINER_UNREACHABLE, words);
    }
}
