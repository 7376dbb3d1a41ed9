package io.jenkins.plugins.preemptible.engine.resume;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.contained.Bystanders;
import io.jenkins.plugins.preemptible.engine.contained.ContainedStart;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuException;
import io.jenkins.plugins.preemptible.engine.criu.TaskTraits;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.freeze.HelperFreezer;
import io.jenkins.plugins.preemptible.engine.home.InterruptedSteps;
import io.jenkins.plugins.preemptible.engine.home.OldImages;
import io.jenkins.plugins.preemptible.engine.home.Stages;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.StageContainer;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import io.jenkins.plugins.preemptible.engine.suspend.SuspendAttempt;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Restores processes from CRIU's files.
 *
 * <ol>
 *   <li>Processes of a commit or a resume that was cut off are killed first.
 *   <li>CRIU restores into a new control group; the record says RESUMING until the tree runs. In a container, that is
 *       looked at before anything runs, and again afterwards.
 *   <li>A failure kills what was restored; the record is as before, and so is every image.
 * </ol>
 *
 * The caller holds the stage's lock.
 */
record Restore(Stages stages, StageId id, Criu criu) {

    static Criu usableCriu(Stages stages) {
        return stages.criu()
                .usable()
                .orElseThrow(() -> new ResumeFailedException(
                        stages.criu().installed().isEmpty() ? FailureReason.CRIU_MISSING : FailureReason.CRIU_UNUSABLE,
                        null));
    }

    /**
     * @param millis until the tree runs
     * @param warnings what could not be given back, sentences without a final stop
     */
    record Restored(long millis, List<String> warnings) {}

    /**
     * @param images CRIU's files
     * @param sealed the record that was dumped with them
     * @param suspended what the record says when this fails
     */
    Restored restore(Path images, StageJson sealed, StageJson suspended) throws IOException {
        StageFolder folder = stages.folder(id);
        InterruptedSteps.finishKill(folder);
        StageContainer container = sealed.container();
        if (container != null && !container.runs()) {
            throw new ResumeFailedException(
                    FailureReason.CONTAINER_GONE, container.container().shown());
        }
        Freezer freezer = container == null
                ? FreezerKind.create(id, stages.freezers())
                : FreezerKind.createBelow(
                        id, stages.freezers(), container.first().pid());
        Optional<HostProcess> init = Optional.empty();
        try {
            TaskTraits.take(images, folder.path());
            begin(folder, suspended.withState(State.RESUMING).withFreezer(freezer.location()));
            long begun = System.nanoTime();
            long pid;
            try (Bystanders others = container == null ? null : Bystanders.hold(id, container, freezer);
                    MountStandIns standIns = MountStandIns.make(
                            freezer instanceof HelperFreezer || container != null ? List.of() : sealed.mounts())) {
                pid = criu.in(container, () -> others.requireNone(container, freezer))
                        .restore(images, folder, freezer, sealed.mounts(), sealed.options());
                if (others != null) {
                    // It runs by now, and what it does until it is killed would be done twice.
                    others.requireNoneNow(container, freezer);
                }
            }
            init = HostProcess.of(pid);
            List<String> warnings = new ArrayList<>(TaskTraits.giveBack(folder.path(), pid));
            if (container != null) {
                requireSameRights(folder, pid);
            } else if (!(freezer instanceof HelperFreezer)) {
                TraceMounts.giveBack(pid, sealed.mounts())
                        .forEach(p -> warnings.add("the mount of " + p + " is missing"));
            }
            if (freezer.cgroup().isEmpty()) {
                freezer.thaw(init.orElse(null));
            }
            long millis = SuspendAttempt.millis(begun, System.nanoTime());
            // A stage that ended at once is found by its exit code at the next query.
            HostProcess first = init.orElse(new HostProcess(pid, 0, Proc.bootId()));
            StageJson after = folder.change(r -> r.state() == State.RESUMING
                            ? r.withState(State.RUNNING).withInit(first).withArchive(null, null)
                            : r)
                    .orElse(suspended);
            if (after.state() != State.RUNNING) {
                throw new ResumeFailedException(FailureReason.KILLED, id.value());
            }
            OldImages.discard(folder.images());
            return new Restored(millis, warnings);
        } catch (CriuException e) {
            undo(folder, freezer, null, suspended);
            throw new ResumeFailedException(e.reason(), id.value(), e.lines(), e);
        } catch (IOException | RuntimeException e) {
            undo(folder, freezer, init.orElse(null), suspended);
            throw e;
        } finally {
            TaskTraits.dropTaken(folder.path());
            OldImages.deleteQuietly(folder.root());
        }
    }

    // A stage that could do more than before would be out of its container.
    private static void requireSameRights(StageFolder folder, long init) throws IOException {
        Optional<String> difference = ContainedStart.differsNow(folder, init);
        if (difference.isPresent()) {
            throw new ResumeFailedException(FailureReason.CRIU_FAILED, "other rights than before: " + difference.get());
        }
    }

    private void begin(StageFolder folder, StageJson resuming) throws IOException {
        Optional<StageJson> before = folder.change(r -> r.state() == State.KILLED ? r : resuming);
        if (before.isEmpty()) {
            folder.write(resuming);
        } else if (before.get().state() == State.KILLED) {
            throw new ResumeFailedException(FailureReason.KILLED, id.value());
        }
    }

    private static void undo(StageFolder folder, Freezer freezer, HostProcess init, StageJson suspended) {
        try {
            Stages.killWhole(freezer, init);
            Optional<StageJson> after = folder.change(r -> r.state() == State.RESUMING ? suspended : r);
            if (after.isPresent() && after.get().state() == State.KILLED) {
                // The kill found the lock taken, and left this to do.
                OldImages.deleteQuietly(folder.images());
            }
        } catch (IOException e) {
            // The record still says RESUMING with its freezer: the next resume or kill finishes this.
        }
    }
}
