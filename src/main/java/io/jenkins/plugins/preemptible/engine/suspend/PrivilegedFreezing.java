package io.jenkins.plugins.preemptible.engine.suspend;

import io.jenkins.plugins.preemptible.engine.api.Connections;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.Handover;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.home.PrivilegedStages;
import io.jenkins.plugins.preemptible.engine.host.HostMemory;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.preflight.Preflight;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import io.jenkins.plugins.preemptible.engine.privileged.HelperAnswer;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedPart;
import io.jenkins.plugins.preemptible.engine.privileged.Verb;
import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Optional;

/**
 * Freezes and thaws a stage through the privileged part, for an engine that makes no images.
 *
 * <ol>
 *   <li>Memory and preflight are checked while the stage still runs.
 *   <li>The privileged part freezes; then the guard is asked. An objection thaws the stage.
 *   <li>A stage that is frozen already is taken over, and its suspensions are not counted again.
 * </ol>
 */
public record PrivilegedFreezing(PrivilegedStages stages, StageId id) {

    /** What this user may see: files and sockets that other users hold open are missing. */
    public PreflightReport preflight() {
        try {
            HelperAnswer seen = stages.part().call(Verb.STATUS, id);
            StageStatus status = stages.own().stage(id).status(seen);
            Optional<HostProcess> init = HostProcess.of(status.initPid());
            if (init.isEmpty()) {
                throw new EngineException(FailureReason.STAGE_ENDED, id.value());
            }
            return Preflight.of(new Preflight.Subject(
                            init.get(),
                            PrivilegedStages.pids(seen),
                            Mounts.ofHost(Proc.mountInfo(init.get().pid())),
                            Connections.REFUSE,
                            stages.own().stage(id).path()))
                    .withoutDump();
        } catch (IOException e) {
            throw new UncheckedIOException("the processes of " + id + " cannot be listed", e);
        }
    }

    public Frozen freeze(FreezeRequest request) {
        boolean again = stages.status(id).state() == State.SUSPENDING;
        if (!again && !request.mustNotRun()) {
            MemoryGuard.require(HostMemory.now(), request.memoryFloorBytes());
        }
        long begun = System.nanoTime();
        long inspected = begun;
        List<String> ties = List.of();
        if (!request.mustNotRun()) {
            PreflightReport seen = preflight();
            ties = request.frozenOnlyBytes() > 0 ? seen.tieSentences() : List.of();
            boolean frozenOnly = !ties.isEmpty();
            seen.obstacles().stream()
                    .filter(l -> l.reason() != FailureReason.ENTERING && !frozenOnly)
                    .findFirst()
                    .ifPresent(l -> {
                        throw new SuspendFailedException(l.reason(), l.words());
                    });
            inspected = System.nanoTime();
        }
        try {
            stages.part().call(Verb.FREEZE, id);
        } catch (PrivilegedPart.Unanswered e) {
            // It may be frozen all the same.
            if (!request.mustNotRun()) {
                thawQuietly(e);
            }
            throw e;
        }
        long frozen = System.nanoTime();
        Optional<String> objection = objection(request);
        if (objection.isPresent()) {
            thaw();
            throw new SuspendFailedException(FailureReason.OBJECTION, objection.get());
        }
        try {
            if (!again) {
                stages.own().stage(id).countSuspension();
            }
            List<Long> pids = stages.pids(id);
            long resident = OwnTmpfs.withProcesses(pids);
            if (!ties.isEmpty() && resident > request.frozenOnlyBytes()) {
                thaw();
                throw new SuspendFailedException(FailureReason.FROZEN_SHARE, ties.get(0));
            }
            return new Frozen(
                    id,
                    SuspendAttempt.millis(begun, inspected),
                    SuspendAttempt.millis(inspected, frozen),
                    pids.size(),
                    resident,
                    Handover.AT_FREEZE,
                    true,
                    ties);
        } catch (IOException e) {
            thawQuietly(null);
            throw new UncheckedIOException("the frozen stage " + id + " cannot be read", e);
        }
    }

    private Optional<String> objection(FreezeRequest request) {
        try {
            return request.guard().objection(id);
        } catch (RuntimeException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }

    private void thawQuietly(EngineException why) {
        try {
            stages.part().call(Verb.THAW, id);
        } catch (EngineException e) {
            // It is frozen and can be thawed again; the thrown exception says why.
            if (why != null) {
                why.addSuppressed(e);
            }
        }
    }

    /**
     * @throws SuspendFailedException {@link FailureReason#NO_CHECKPOINT} when the stage is not frozen
     */
    public void thaw() {
        if (stages.status(id).state() != State.SUSPENDING) {
            throw new SuspendFailedException(FailureReason.NO_CHECKPOINT, id.value());
        }
        stages.part().call(Verb.THAW, id);
    }
}
