package io.jenkins.plugins.preemptible.engine.suspend;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.home.InterruptedSteps;
import io.jenkins.plugins.preemptible.engine.home.OldImages;
import io.jenkins.plugins.preemptible.engine.home.SealedImages;
import io.jenkins.plugins.preemptible.engine.home.Stages;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.stage.FileStamp;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The last step of a suspension: the frozen tree is killed, or runs again.
 *
 * <ol>
 *   <li>{@link #commit}: the archive is safe, so the tree is killed; nothing of it ran since the freeze. CRIU's files
 *       stay for the next resume where there is room. The tree stays frozen when a file that the image needs was
 *       changed.
 *   <li>{@link #thaw}: the image is discarded and the tree runs again. A dump that is still under way, in this process
 *       or another, is asked to end first; nothing is killed for that. A tree that has lost a process since its dump is
 *       not thawed where CRIU's files can serve, which have the process: that is a commit.
 *   <li>A process that died while it dumped does not block this: its lock is free, and its criu is waited for.
 * </ol>
 */
public final class CommitOrThaw {

    private static final Duration THAW_LIMIT = TimeLimits.of(Duration.ofSeconds(60));
    private static final Logger LOG = Logger.getLogger(CommitOrThaw.class.getName());

    private final SuspendAttempt suspension;
    private final StageFolder folder;

    public CommitOrThaw(SuspendAttempt suspension) {
        this.suspension = suspension;
        this.folder = suspension.folder();
    }

    public void commit() {
        try (StageFolder.Held lock = suspension.lock()) {
            StageJson record = waiting();
            FrozenTree tree = suspension.tree(record);
            List<Long> strangers = tree.strangers(record.dumped());
            if (!strangers.isEmpty()) {
                discard(record, tree);
                throw new SuspendFailedException(FailureReason.ENTERING, "process " + strangers);
            }
            Optional<String> change = suspension.changeSinceDump(record, record.dumped());
            if (change.isPresent()) {
                throw new SuspendFailedException(FailureReason.NOT_RESTORABLE, change.get());
            }
            kill(record);
        } catch (IOException e) {
            throw suspension.failed(e);
        }
    }

    private void kill(StageJson record) throws IOException {
        StageJson after = suspension.change(r -> r.state() == State.KILLED
                ? r
                : r.withState(State.SUSPENDED).withFreezing(null).withSuspensions(r.suspensions() + 1));
        if (after.state() == State.KILLED) {
            StageFolder.delete(folder.images());
            throw new SuspendFailedException(
                    FailureReason.KILLED, suspension.id().value());
        }
        InterruptedSteps.finishCommit(suspension.stages(), folder, after, Stages.GONE);
    }

    // By a shortage of memory, most likely, which takes the largest and not the first.
    private static boolean hasLostProcesses(StageJson record) {
        return record.dumped() != null && record.dumped().stream().anyMatch(Proc::killed);
    }

    // The caller may have given up the archive's key.
    private boolean isBetterRestored(StageJson record, FrozenTree tree) throws IOException {
        return SealedImages.ownsArchive(record)
                && record.preserved().isEmpty()
                && Files.isDirectory(folder.images())
                && suspension.stages().localImages().keeps(folder.images())
                && tree.strangers(record.dumped()).isEmpty()
                && suspension.changeSinceDump(record, record.dumped()).isEmpty();
    }

    private StageJson waiting() {
        StageJson record = suspension.record();
        if (record.state() != State.SUSPENDING || record.dumped() == null) {
            throw new SuspendFailedException(
                    FailureReason.NO_CHECKPOINT, suspension.id().value());
        }
        Path archive = Path.of(record.archive());
        if (!Files.isRegularFile(archive)) {
            throw new SuspendFailedException(FailureReason.IMAGE_MISSING, record.archive());
        }
        // By its size alone: a copy that was fetched back under its name is as good.
        if (record.image() != null
                && (record.image().archiveStamp() == null
                        || !FileStamp.of(archive).sameSize(record.image().archiveStamp()))) {
            throw new SuspendFailedException(FailureReason.IMAGE_MISSING, "another file has its name, " + archive);
        }
        return record;
    }

    /** Whether the frozen tree has lost a process since its dump. */
    public boolean hasLostProcesses() {
        return hasLostProcesses(suspension.record());
    }

    /** Returns how many processes run again. */
    public int thaw() {
        suspension.stages().settle(suspension.id());
        refuseUnfrozen(suspension.record());
        try (StageFolder.Held lock = lockAskingToGiveUp()) {
            StageJson record = suspension.record();
            if (record.state() != State.RUNNING) {
                refuseUnfrozen(record);
                InterruptedSteps.endDumper(folder, record);
                FrozenTree tree = suspension.tree(record);
                if (hasLostProcesses(record) && isBetterRestored(record, tree)) {
                    kill(record);
                    throw new SuspendFailedException(
                            FailureReason.NO_CHECKPOINT,
                            suspension.id()
                                    + "; a process of it was killed while it was frozen, its image has all of them");
                }
                discard(record, tree);
            }
            return Stages.freezer(record).orElseThrow().pids(record.init()).size();
        } catch (IOException e) {
            throw suspension.failed(e);
        } finally {
            folder.askToThaw(false);
        }
    }

    private void refuseUnfrozen(StageJson record) {
        if (record.state() != State.SUSPENDING || record.freezer() == null) {
            throw new SuspendFailedException(
                    FailureReason.NO_CHECKPOINT, suspension.id().value());
        }
    }

    private StageFolder.Held lockAskingToGiveUp() throws IOException {
        long end = System.nanoTime() + THAW_LIMIT.toNanos();
        while (System.nanoTime() - end < 0) {
            Optional<StageFolder.Held> held = folder.lock();
            if (held.isPresent()) {
                return held.get();
            }
            folder.askToThaw(true);
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted", e);
            }
        }
        throw new SuspendFailedException(
                FailureReason.STAGE_BUSY, suspension.id().value());
    }

    private void discard(StageJson record, FrozenTree tree) throws IOException {
        // First: once the stage has run, its image must not count as its last state any more, not after a crash either.
        // Removing needs no room on a full disk, the record does.
        try {
            SealedImages.dropImage(folder, record);
        } catch (IOException e) {
            suspension.change(r -> r.withArchive(null, null));
        }
        tree.thaw();
        try {
            suspension.change(r -> r.state() == State.KILLED
                    ? r
                    : r.withState(State.RUNNING).withFreezing(null).withArchive(null, null));
        } catch (IOException e) {
            LOG.log(Level.WARNING, e, () -> suspension.id() + " keeps running, which cannot be recorded yet");
        }
        OldImages.deleteQuietly(folder.images());
    }
}
