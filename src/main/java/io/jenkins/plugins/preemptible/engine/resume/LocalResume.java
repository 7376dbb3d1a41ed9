package io.jenkins.plugins.preemptible.engine.resume;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.api.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.home.SealedImages;
import io.jenkins.plugins.preemptible.engine.home.Stages;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import io.jenkins.plugins.preemptible.engine.suspend.CommitOrThaw;
import io.jenkins.plugins.preemptible.engine.suspend.SuspendAttempt;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * A resume from what this host has of a stage, without its archive.
 *
 * <ol>
 *   <li>A tree that is still frozen is thawed; a dump of it that is under way is cancelled first.
 *   <li>Else CRIU's files in the stage's folder are restored, if they are those of its last suspension and the host was
 *       not booted since: they were not forced to disk.
 *   <li>When there is neither, the answer is empty. So it is when the files cannot be restored and the archive is there for
 *       that; where it is not, the reason is thrown. The files are kept in each case.
 * </ol>
 */
public record LocalResume(Stages stages, StageId id) {

    private static final Logger LOG = Logger.getLogger(LocalResume.class.getName());

    private static final String LOST = "a process of it was killed while it was frozen, and has not come back";

    /** Reasons that hold for the archive too. */
    private static final Set<FailureReason> FINAL = Set.of(
            FailureReason.KILLED,
            FailureReason.STAGE_BUSY,
            FailureReason.CRIU_MISSING,
            FailureReason.CRIU_UNUSABLE,
            FailureReason.CONTAINER_GONE);

    /** @throws ResumeFailedException when the stage is not suspended, or CRIU's files fail and nothing else can serve */
    public Optional<ResumeReport> resume(LastResort otherwise) {
        State state = stages.settle(id).state();
        if (state == State.SUSPENDING) {
            try {
                return Optional.of(thaw());
            } catch (SuspendFailedException e) {
                if (e.reason() != FailureReason.NO_CHECKPOINT) {
                    throw new ResumeFailedException(e.reason(), e.detail(), e.criuLines(), e);
                }
                // A commit came in between.
                state = stages.settle(id).state();
            }
        }
        // Frozen again by now: another process is at it.
        Optional<FailureReason> refusal =
                state == State.SUSPENDING ? Optional.of(FailureReason.STAGE_BUSY) : state.refusalToResume();
        if (refusal.isPresent()) {
            throw new ResumeFailedException(refusal.get(), id.value());
        }
        try {
            return fromLocalImage();
        } catch (ResumeFailedException e) {
            if (otherwise == LastResort.NONE || FINAL.contains(e.reason())) {
                throw e;
            }
            LOG.log(Level.WARNING, e, () -> "the local image of " + id + " cannot be restored, its archive is needed");
            return Optional.empty();
        } catch (IOException e) {
            if (otherwise == LastResort.NONE) {
                throw new ResumeFailedException(FailureReason.IMAGE_UNUSABLE, id + ": " + e, List.of(), e);
            }
            LOG.log(Level.WARNING, e, () -> "the local image of " + id + " cannot be read, its archive is needed");
            return Optional.empty();
        }
    }

    private ResumeReport thaw() {
        long begun = System.nanoTime();
        CommitOrThaw frozen = new CommitOrThaw(new SuspendAttempt(stages, id));
        List<String> warnings = frozen.hasLostProcesses() ? List.of(LOST) : List.of();
        int processes = frozen.thaw();
        return new ResumeReport(
                id, SuspendAttempt.millis(begun, System.nanoTime()), processes, 0, Tier.FROZEN, warnings);
    }

    private Optional<ResumeReport> fromLocalImage() throws IOException {
        try (StageFolder.Held lock = ArchiveResume.lock(stages, id)) {
            StageFolder folder = stages.folder(id);
            Optional<StageJson> known =
                    folder.read().filter(r -> r.state() == State.SUSPENDED || r.state() == State.RESUMING);
            Optional<StageJson> sealed = known.flatMap(k -> SealedImages.localImage(folder, k));
            if (sealed.isEmpty()) {
                return Optional.empty();
            }
            StageJson suspended =
                    known.get().withState(State.SUSPENDED).withInit(null).withFreezer(null);
            Restore.Restored restored = new Restore(stages, id, Restore.usableCriu(stages))
                    .restore(folder.images(), sealed.get(), suspended);
            return Optional.of(new ResumeReport(
                    id, restored.millis(), sealed.get().image().processes(), 0, Tier.LOCAL_IMAGE, restored.warnings()));
        }
    }
}
