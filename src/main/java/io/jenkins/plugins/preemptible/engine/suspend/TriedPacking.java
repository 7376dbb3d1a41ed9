package io.jenkins.plugins.preemptible.engine.suspend;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.TrialResult;
import io.jenkins.plugins.preemptible.engine.api.TrialVerdict;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.image.WriteRequest;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import io.jenkins.plugins.preemptible.engine.trial.ImageTrial;
import io.jenkins.plugins.preemptible.engine.trial.RunningTrial;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Packs CRIU's files into a sealed archive while a trial restores them.
 *
 * <ol>
 *   <li>The trial runs beside the packing; when it refuses, the packing ends: what cannot be restored need not be
 *       packed.
 *   <li>When both have ended, it is checked whether a file of the stage was changed since the dump.
 *   <li>A refusal leaves no archive.
 * </ol>
 *
 * @param criu what dumped it
 * @param mounts the host's mount points, which the image refers to
 * @param tree the frozen processes
 */
record TriedPacking(SuspendAttempt suspension, StageJson record, Criu criu, List<String> mounts, List<Proc.Stat> tree) {

    record Result(ImageArchive.Written written, TrialResult trial) {}

    /**
     * @param idle whether it runs at idle priority
     * @throws SuspendFailedException {@link FailureReason#NOT_RESTORABLE}, {@link FailureReason#TRIAL_TIMEOUT} of the
     *     trial, {@link FailureReason#GOES_ON} when the dump was cancelled
     */
    Result pack(Path archive, boolean idle, WriteRequest request) throws IOException {
        try (RunningTrial trial = begin()) {
            Packing packing = new Packing(archive, idle, () -> suspension.cancelled() || trial.refuses());
            ImageArchive.Written written =
                    unlessRefused(packing, trial, givenUp -> ImageArchive.write(request.unless(givenUp)));
            return new Result(written, requireRestorable(archive, trial));
        }
    }

    private RunningTrial begin() {
        return RunningTrial.begin(
                new ImageTrial.Subject(
                        suspension.id(),
                        suspension.folder().images(),
                        suspension.folder().trial(),
                        suspension.folder().logs(),
                        suspension.folder().tools(),
                        criu.program(),
                        record.options(),
                        mounts,
                        untriable()),
                suspension::cancelled);
    }

    private String untriable() {
        if (record.container() != null) {
            return "the stage lives in a container";
        }
        return suspension.stages().freezers() == FreezerKind.HELPER ? "the privileged part makes no trials" : null;
    }

    private static <T> T unlessRefused(Packing packing, RunningTrial trial, Packing.Task<T> task) throws IOException {
        try {
            return packing.run(task);
        } catch (SuspendFailedException e) {
            throw trial.refuses() ? refused(trial) : e;
        }
    }

    /**
     * @throws SuspendFailedException {@link FailureReason#NOT_RESTORABLE}, {@link FailureReason#TRIAL_TIMEOUT}; there
     *     is no archive then
     */
    private TrialResult requireRestorable(Path archive, RunningTrial trial) throws IOException {
        SuspendFailedException why;
        try {
            TrialResult result = trial.result();
            if (trial.refuses()) {
                why = refused(trial);
            } else {
                Optional<String> change = suspension.changeSinceDump(
                        record, tree.stream().map(Proc.Stat::pid).toList());
                if (change.isEmpty()) {
                    return result;
                }
                why = new SuspendFailedException(FailureReason.NOT_RESTORABLE, change.get());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            why = new SuspendFailedException(FailureReason.GOES_ON, null);
        }
        Files.deleteIfExists(archive);
        throw why;
    }

    private static SuspendFailedException refused(RunningTrial trial) {
        try {
            TrialResult result = trial.result();
            FailureReason reason = result.verdict() == TrialVerdict.OUT_OF_TIME
                    ? FailureReason.TRIAL_TIMEOUT
                    : FailureReason.NOT_RESTORABLE;
            return new SuspendFailedException(reason, result.why(), result.criuLines(), null);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new SuspendFailedException(FailureReason.GOES_ON, null);
        }
    }
}
