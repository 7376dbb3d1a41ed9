package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.criu.CriuRun;
import io.jenkins.plugins.preemptible.engine.criu.SilentClose;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageRecord;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.trial.ImageTrial;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The end of a suspension: the frozen tree is killed, or it runs on.
 *
 * <ol>
 *   <li>{@link #commit}: the archive is safe, so the tree is killed; nothing of it ran since the freeze. CRIU's files
 *       stay for the next resume where there is room. It stays frozen where somebody has changed what the image needs.
 *   <li>{@link #thaw}: the image is discarded and the tree runs on. A dump that is still under way, in this process or
 *       another, is asked to end first; nothing is killed for that.
 *   <li>Whoever dumped and died in the middle is no hindrance: the lock is free then, and its criu is waited for.
 * </ol>
 */
final class Conclusion {

    private static final Duration THAW_LIMIT = Duration.ofSeconds(60);
    private static final Duration DUMPER_LIMIT = Duration.ofSeconds(30);
    private static final Logger LOG = Logger.getLogger(Conclusion.class.getName());

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
            Optional<String> change = suspension.changeSinceDump(record, record.dumped());
            if (change.isPresent()) {
                throw new SuspendFailedException(FailureReason.NOT_RESTORABLE, change.get());
            }
            StageRecord after = suspension.change(r -> r.state() == State.KILLED ? r : r.withState(State.SUSPENDED)
                    .withFreezing(null)
                    .withSuspensions(r.suspensions() + 1));
            if (after.state() == State.KILLED) {
                StageFolder.delete(folder.images());
                throw new SuspendFailedException(FailureReason.KILLED, suspension.id().value());
            }
            finish(suspension.stages(), folder, after, Stages.GONE);
        } catch (IOException e) {
            throw suspension.failed(e);
        }
    }

    /**
     * Kills what a commit has to kill, once the record says SUSPENDED; the caller holds the lock. It can be repeated, by
     * whoever finds that it was cut off.
     *
     * @return the record, which has no freezer any more
     * @throws IOException when processes are left after {@code limit}; their freezer stays in the record
     */
    static StageRecord finish(Stages stages, StageFolder folder, StageRecord record, Duration limit)
            throws IOException {
        if (record.options().tcpEstablished() && record.dumped() != null) {
            SilentClose.prepare(record.dumped());
        }
        Stages.killWhole(Stages.freezer(record).orElseThrow(), record.init(), limit);
        if (!stages.localImages().keeps(folder.images())) {
            StageFolder.delete(folder.images());
        }
        StageRecord end = folder.change(r -> r.state() == State.KILLED
                        ? r
                        : r.withInit(null).withFreezer(null).withArchive(r.archive(), null))
                .orElse(record);
        if (end.state() == State.KILLED) {
            StageFolder.delete(folder.images());
        }
        return end;
    }

    private StageRecord waiting() {
        StageRecord record = suspension.record();
        if (record.state() != State.SUSPENDING || record.dumped() == null) {
            throw new SuspendFailedException(FailureReason.NO_CHECKPOINT, suspension.id().value());
        }
        Path archive = Path.of(record.archive());
        if (!Files.isRegularFile(archive)) {
            throw new SuspendFailedException(FailureReason.IMAGE_MISSING, record.archive());
        }
        // By its size alone: a copy that was fetched back under its name is as good.
        if (record.image() != null && !sizeOf(Resumption.stamp(archive)).equals(sizeOf(record.image().archiveStamp()))) {
            throw new SuspendFailedException(FailureReason.IMAGE_MISSING, "another file has its name, " + archive);
        }
        return record;
    }

    private static String sizeOf(String stamp) {
        return String.valueOf(stamp).split(" ")[0];
    }

    /** Returns how many processes run on. */
    int thaw() {
        suspension.stages().settle(suspension.id());
        refuseUnfrozen(suspension.record());
        try (StageFolder.Held lock = lockAskingToGiveUp()) {
            StageRecord record = suspension.record();
            if (record.state() != State.RUNNING) {
                refuseUnfrozen(record);
                endDumper(folder, record);
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
        // Removing needs no room on a full disk, the record does.
        try {
            dropImage(folder, record);
        } catch (IOException e) {
            suspension.change(r -> r.withArchive(null, null));
        }
        tree.thaw();
        try {
            suspension.change(r ->
                    r.state() == State.KILLED ? r : r.withState(State.RUNNING).withFreezing(null).withArchive(null, null));
        } catch (IOException e) {
            LOG.log(Level.WARNING, e, () -> suspension.id() + " runs on, which cannot be written down yet");
        }
        Restoration.deleteQuietly(folder.images());
    }

    /** Removes the image of a stage that runs on or is about to, and its archive if no other file has its name by now. */
    static void dropImage(StageFolder folder, StageRecord record) throws IOException {
        if (ownsArchive(record)) {
            Files.deleteIfExists(Path.of(record.archive()));
        }
        StageFolder.delete(folder.images());
    }

    /** Whether the file under the archive's name is the very one that was sealed, untouched, and waits for the end. */
    static boolean ownsArchive(StageRecord record) {
        return record.dumped() != null && ownsSealed(record);
    }

    /** The same, whether or not it waits for the end. */
    static boolean ownsSealed(StageRecord record) {
        return record.archive() != null
                && record.image() != null
                && Resumption.stamp(Path.of(record.archive())).equals(record.image().archiveStamp());
    }

    /** Ends what somebody left who died while it dumped, tried or packed; the caller holds the lock. */
    static void endDumper(StageFolder folder, StageRecord record) throws IOException {
        ImageTrial.clear(folder.trial());
        if (record.freezing() != null && record.freezing().dumper() != null) {
            CriuRun.endGently(record.freezing().dumper(), DUMPER_LIMIT);
        }
        if (record.archive() != null && record.dumped() == null) {
            Path archive = Path.of(record.archive());
            Files.deleteIfExists(archive.resolveSibling(archive.getFileName() + ".partial"));
        }
    }

    /**
     * For a stage that was killed: ends a criu that somebody left, and removes the images. Whoever is at the stage still
     * removes them itself when it finds it killed.
     *
     * @param record as it was before
     */
    static void clear(Stages stages, StageFolder folder, StageRecord record) throws IOException {
        try (StageFolder.Held lock = stages.lock(StageId.parse(record.id()))) {
            endDumper(folder, record);
            StageFolder.delete(folder.images());
        } catch (EngineException e) {
            LOG.log(Level.FINE, e, () -> "somebody else clears away what is left of " + record.id());
        }
    }
}
