package io.jenkins.plugins.preemptible.engine.suspend;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.Extent;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.SealRequest;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.SuspendReport;
import io.jenkins.plugins.preemptible.engine.home.Stages;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import java.nio.file.Path;

/**
 * All steps of a suspension in one call: freeze, dump, commit.
 *
 * <p>A failure of any step leaves the stage running: the caller has no chance to thaw it between the steps.
 */
public record WholeSuspension(Stages stages, StageId id) {

    /**
     * @throws SuspendFailedException of the step that failed; {@link FailureReason#MEMORY_ONLY} when no images are made
     */
    public SuspendReport suspend(Path archive, ImageKey key, Extent extent) {
        if (!stages.checkpoints()) {
            throw new SuspendFailedException(FailureReason.MEMORY_ONLY, id.value());
        }
        SuspendAttempt attempt = new SuspendAttempt(stages, id);
        long begun = System.nanoTime();
        Frozen frozen = new Freezing(attempt, new StagePreflight(stages)::of).freeze(FreezeRequest.plain());
        Checkpoint checkpoint =
                new Dumping(attempt).dump(archive, key, new SealRequest(IfDumpFails.THAW, extent, false));
        long sealed = System.nanoTime();
        commitOrThaw(new CommitOrThaw(attempt));
        long end = System.nanoTime();
        return new SuspendReport(
                frozen, checkpoint, SuspendAttempt.millis(sealed, end), SuspendAttempt.millis(begun, end));
    }

    private void commitOrThaw(CommitOrThaw end) {
        try {
            end.commit();
        } catch (EngineException e) {
            try {
                if (stages.status(id).state() == State.SUSPENDING) {
                    end.thaw();
                }
            } catch (EngineException another) {
                e.addSuppressed(another);
            }
            throw e;
        }
    }
}
