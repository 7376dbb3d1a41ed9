package io.jenkins.plugins.preemptible.engine.suspend;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.contained.ContainerProcesses;
import io.jenkins.plugins.preemptible.engine.home.InterruptedSteps;
import io.jenkins.plugins.preemptible.engine.host.HostMemory;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.preflight.Obstacle;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.logging.Logger;

/**
 * The first step of a suspension: the stage is frozen, and its executor can be released.
 *
 * <ol>
 *   <li>The preflight comes first, while the stage runs: what can never be dumped is refused before anything is
 *       stopped.
 *   <li>The tree is frozen, which takes the same time at any size of its memory; then the guard is asked.
 *   <li>Where the request allows it, what cannot be dumped is frozen all the same, and stays in memory.
 *   <li>The host's free memory decides when the executor is free. All of this is recorded.
 * </ol>
 *
 * A stage that is frozen already, because the process that suspended it died, is taken over as it is.
 */
public final class Freezing {

    private static final Logger LOG = Logger.getLogger(Freezing.class.getName());

    private final SuspendAttempt suspension;
    private final Function<StageJson, PreflightReport> preflight;

    public Freezing(SuspendAttempt suspension, Function<StageJson, PreflightReport> preflight) {
        this.suspension = suspension;
        this.preflight = preflight;
    }

    public Frozen freeze(FreezeRequest request) {
        try (StageFolder.Held lock = suspension.lock()) {
            StageJson record = suspension.record();
            suspension.requireSuspendable(record);
            boolean dumped = record.dumped() != null && !request.mustNotRun();
            if (record.init() == null || record.freezer() == null || dumped) {
                throw new SuspendFailedException(
                        FailureReason.STAGE_BUSY, suspension.id().value());
            }
            // Left by a process that was killed while it asked.
            suspension.folder().askToThaw(false);
            try {
                return inspect(record, request);
            } catch (SuspendFailedException e) {
                if (record.state() == State.SUSPENDING && !request.mustNotRun()) {
                    // Taken over frozen from a process that died, then refused: the stage runs again, as is promised.
                    undo(suspension.tree(record));
                }
                throw e;
            }
        } catch (IOException e) {
            throw suspension.failed(e);
        }
    }

    private Frozen inspect(StageJson record, FreezeRequest request) throws IOException {
        if (!checkpoints()) {
            MemoryGuard.require(HostMemory.now(), request.memoryFloorBytes());
        } else if (!request.mustNotRun()) {
            suspension.usableCriu();
        }
        InterruptedSteps.endDumper(suspension.folder(), record);
        long begun = System.nanoTime();
        PreflightReport seen = preflight.apply(record);
        // A process that is just entering is waited for while the tree is being frozen.
        List<String> ties = request.frozenOnlyBytes() > 0 && !request.mustNotRun() ? seen.tieSentences() : List.of();
        if (!ties.isEmpty()) {
            MemoryGuard.require(HostMemory.now(), request.memoryFloorBytes());
            return freeze(
                    record.withOptions(seen.options()), request, SuspendAttempt.millis(begun, System.nanoTime()), ties);
        }
        Optional<Obstacle> obstacle = seen.obstacles().stream()
                .filter(l -> l.reason() != FailureReason.ENTERING)
                .findFirst();
        // The dump of a stage that must not run finds it as well, and leaves the stage frozen.
        if (obstacle.isPresent() && !request.mustNotRun()) {
            throw new SuspendFailedException(
                    obstacle.get().reason(), obstacle.get().words());
        }
        return freeze(
                record.withOptions(seen.options()),
                request,
                SuspendAttempt.millis(begun, System.nanoTime()),
                List.of());
    }

    /** @param ties what keeps it from being dumped; where there are any, no dump follows */
    private Frozen freeze(StageJson record, FreezeRequest request, long preflightMillis, List<String> ties) {
        boolean image = checkpoints() && ties.isEmpty();
        FrozenTree tree = suspension.tree(record);
        try {
            suspension.change(r -> r.state() == State.KILLED
                    ? r
                    : r.withState(State.SUSPENDING)
                            .withOptions(record.options())
                            .withArchive(null, null));
            long begun = System.nanoTime();
            List<Proc.Stat> processes = tree.freeze();
            long millis = SuspendAttempt.millis(begun, System.nanoTime());
            Optional<String> objection = request.guard().objection(suspension.id());
            if (objection.isPresent()) {
                throw new SuspendFailedException(FailureReason.OBJECTION, objection.get());
            }
            if (!request.mustNotRun() && ties.isEmpty()) {
                FrozenTree.refuseTraced(processes);
            }
            // Without images the memory was checked before the freeze.
            MemoryGuard.Decision decision =
                    MemoryGuard.decide(HostMemory.now(), image ? request.memoryFloorBytes() : 0);
            LOG.info(() -> suspension.id() + " is frozen. " + decision.sentence());
            suspension.change(
                    r -> r.withFreezing(new StageJson.Freezing(preflightMillis, millis, decision.handover(), null)));
            long resident = heldBytes(record, processes, !image);
            if (!ties.isEmpty() && resident > request.frozenOnlyBytes()) {
                throw new SuspendFailedException(
                        FailureReason.FROZEN_SHARE,
                        MemoryGuard.mib(resident) + " MiB, left are " + MemoryGuard.mib(request.frozenOnlyBytes())
                                + " MiB; " + ties.get(0));
            }
            return new Frozen(
                    suspension.id(),
                    preflightMillis,
                    millis,
                    processes.size(),
                    resident,
                    decision.handover(),
                    !image,
                    ties);
        } catch (IOException | RuntimeException e) {
            if (!request.mustNotRun()) {
                undo(tree);
            }
            throw suspension.failed(e);
        }
    }

    /**
     * Also that of files in memory which no process has mapped.
     *
     * @param whole whether no image follows: what is left of the memory of the stage's container then counts as well
     */
    private static long heldBytes(StageJson record, List<Proc.Stat> processes, boolean whole) {
        long held =
                OwnTmpfs.withProcesses(processes.stream().map(Proc.Stat::pid).toList());
        long container = record.container() == null || !whole
                ? 0
                : new ContainerProcesses(record.container().container().id()).residentBytes();
        return Math.max(held, container);
    }

    private boolean checkpoints() {
        return suspension.stages().checkpoints();
    }

    private void undo(FrozenTree tree) {
        try {
            tree.thaw();
            suspension.change(r ->
                    r.state() == State.SUSPENDING ? r.withState(State.RUNNING).withFreezing(null) : r);
        } catch (IOException | RuntimeException e) {
            // The record says SUSPENDING: the next query finds out whether it is frozen, a thaw or a freeze finishes
            // this.
        }
    }
}
