package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.criu.CriuRun;
import io.jenkins.plugins.preemptible.engine.criu.SilentClose;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageRecord;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus.State;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The end of a suspension: the frozen tree is killed, or it runs on.
 *
 * <ol>
 *   <li>{@link #commit}: the archive is safe, so the tree is killed; nothing of it ran since the freeze. CRIU's files
 *       stay for the next resume where there is room.
 *   <li>{@link #thaw}: the image is discarded and the tree runs on. A dump that is still under way, in this process or
 *       another, is asked to end first; nothing is killed for that.
 *   <li>Whoever dumped and died in the middle is no hindrance: the lock is free then, and its criu is waited for.
 * </ol>
 */
final class Conclusion {

    private static final Duration THAW_LIMIT = Duration.ofSeconds(60);
    private static final Duration DUMPER_LIMIT = Duration.ofSeconds(30);

    private final Suspension suspension;
    private final StageFolder folder;

    Conclusion(Suspension suspension) {
        this.suspension = suspension;
        this.folder = suspension.folder();
    }

    void commit() {
        try (StageFolder.Held lock = suspension.lock()) {
            StageRecord record = waiting();
            FrozenTree tree = suspension.tree(record);
            List<Long> strangers = tree.strangers(record.dumped());
            if (!strangers.isEmpty()) {
                discard(record, tree);
                throw new SuspendFailedException(FailureReason.ENTERING, "process " + strangers);
            }
            StageRecord after = suspension.change(r -> r.state() == State.KILLED ? r : r.withState(State.SUSPENDED)
                    .withFreezing(null)
                    .withSuspensions(r.suspensions() + 1));
            if (after.state() == State.KILLED) {
                throw new SuspendFailedException(FailureReason.KILLED, suspension.id().value());
            }
            if (record.options().tcpEstablished()) {
                SilentClose.prepare(record.dumped());
            }
            Stages.killWhole(tree.freezer(), record.init());
            if (!suspension.stages().localImages().keeps(folder.images())) {
                StageFolder.delete(folder.images());
            }
            suspension.change(r -> r.state() == State.KILLED
                    ? r
                    : r.withInit(null).withFreezer(null).withArchive(r.archive(), null));
        } catch (IOException e) {
            throw suspension.failed(e);
        }
    }

    private StageRecord waiting() {
        StageRecord record = suspension.record();
        if (record.state() != State.SUSPENDING || record.dumped() == null) {
            throw new SuspendFailedException(FailureReason.NO_CHECKPOINT, suspension.id().value());
        }
        if (!Files.isRegularFile(Path.of(record.archive()))) {
            throw new SuspendFailedException(FailureReason.IMAGE_MISSING, record.archive());
        }
        return record;
    }

    /** Returns how many processes run on. */
    int thaw() {
        suspension.stages().settle(suspension.id());
        refuseUnfrozen(suspension.record());
        try (StageFolder.Held lock = lockAskingToGiveUp()) {
            StageRecord record = suspension.record();
            if (record.state() != State.RUNNING) {
                refuseUnfrozen(record);
                endDumper(record);
                discard(record, suspension.tree(record));
            }
            return Stages.freezer(record).orElseThrow().pids(record.init()).size();
        } catch (IOException e) {
            throw suspension.failed(e);
        } finally {
            folder.askToThaw(false);
        }
    }

    private void refuseUnfrozen(StageRecord record) {
        if (record.state() != State.SUSPENDING || record.freezer() == null) {
            throw new SuspendFailedException(FailureReason.NO_CHECKPOINT, suspension.id().value());
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
        throw new SuspendFailedException(FailureReason.STAGE_BUSY, suspension.id().value());
    }

    private void discard(StageRecord record, FrozenTree tree) throws IOException {
        // First: once it has run, nobody may take the image for its last state any more, not after a crash either.
        suspension.change(r -> r.withArchive(null, null));
        tree.thaw();
        suspension.change(r ->
                r.state() == State.KILLED ? r : r.withState(State.RUNNING).withFreezing(null).withArchive(null, null));
        StageFolder.delete(folder.images());
        if (record.archive() != null && record.dumped() != null) {
            Files.deleteIfExists(Path.of(record.archive()));
        }
    }

    /** Ends what somebody left who died while it dumped or packed; the caller holds the lock. */
    static void endDumper(StageRecord record) throws IOException {
        if (record.freezing() != null && record.freezing().dumper() != null) {
            CriuRun.endGently(record.freezing().dumper(), DUMPER_LIMIT);
        }
        if (record.archive() != null && record.dumped() == null) {
            Path archive = Path.of(record.archive());
            Files.deleteIfExists(archive.resolveSibling(archive.getFileName() + ".partial"));
        }
    }

    /** For a stage that was killed; a dump that is still under way removes its own images when it fails. */
    static void deleteImages(StageFolder folder) throws IOException {
        Optional<StageFolder.Held> free = folder.lock();
        if (free.isPresent()) {
            try (StageFolder.Held lock = free.get()) {
                StageFolder.delete(folder.images());
            }
        }
    }
}
