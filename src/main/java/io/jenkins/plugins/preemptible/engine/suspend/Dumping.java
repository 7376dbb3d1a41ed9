package io.jenkins.plugins.preemptible.engine.suspend;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.Extent;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.Handover;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.SealRequest;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.contained.Bystanders;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuException;
import io.jenkins.plugins.preemptible.engine.criu.CriuRun;
import io.jenkins.plugins.preemptible.engine.criu.DumpRequest;
import io.jenkins.plugins.preemptible.engine.criu.DumpWay;
import io.jenkins.plugins.preemptible.engine.criu.TaskTraits;
import io.jenkins.plugins.preemptible.engine.fixup.ImageFixups;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.home.InterruptedSteps;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.WriteRequest;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import io.jenkins.plugins.preemptible.engine.preflight.Obstacle;
import io.jenkins.plugins.preemptible.engine.preflight.UnreadQueues;
import io.jenkins.plugins.preemptible.engine.stage.FileStamp;
import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import io.jenkins.plugins.preemptible.engine.trial.ImageTrial;
import io.jenkins.plugins.preemptible.engine.trial.TrialPart;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The second step of a suspension: CRIU dumps the frozen tree into files, and these are sealed in an archive.
 *
 * <ol>
 *   <li>Both run at idle priority when the executor was released at the freeze and nobody waits for the image, otherwise
 *       at the priority of the caller.
 *   <li>CRIU's files stay in the stage's folder until {@link CommitOrThaw} decides about them. While they are packed,
 *       they are tried ({@link ImageTrial}): what cannot be restored is never sealed.
 *   <li>After a failure, or a thaw or kill meanwhile, no file is left. The tree is frozen or runs, as the caller asked.
 * </ol>
 */
public final class Dumping {

    private static final Logger LOG = Logger.getLogger(Dumping.class.getName());
    private static final Duration REFREEZE_LIMIT = TimeLimits.of(Duration.ofSeconds(5));

    private final SuspendAttempt suspension;
    private final StageFolder folder;
    private List<Proc.Stat> dumped = List.of();

    public Dumping(SuspendAttempt suspension) {
        this.suspension = suspension;
        this.folder = suspension.folder();
    }

    /**
     * Dumps the frozen stage, and seals the image.
     *
     * @throws SuspendFailedException as of {@code Engine.dump}
     */
    public Checkpoint dump(Path archive, ImageKey key, SealRequest request) {
        Path target = archive.toAbsolutePath();
        try (StageFolder.Held lock = suspension.lock()) {
            StageJson record = suspension.record();
            suspension.requireSuspendable(record);
            if (record.freezing() == null || record.dumped() != null) {
                throw new SuspendFailedException(
                        record.dumped() == null ? FailureReason.NO_CHECKPOINT : FailureReason.STAGE_BUSY,
                        suspension.id().value());
            }
            FrozenTree tree = suspension.tree(record);
            try {
                InterruptedSteps.endDumper(folder, record);
                requireFolder(target);
                Criu criu = suspension.usableCriu().in(record.container());
                suspension.change(r -> r.withArchive(target.toString(), null));
                return dump(record, tree, criu, target, key, request);
            } catch (CriuException | IOException | RuntimeException e) {
                undo(record, tree, request.ifFails());
                throw lost(e).orElseGet(() -> suspension.failed(e, target));
            }
        }
    }

    /**
     * The failure of a dump whose criu was killed, when processes of the stage are gone. A criu that is killed while it
     * is inside of a process may end that process too, which would stay unnoticed. The tree ran from then until now, so
     * a process that is gone may also have ended by itself.
     */
    private Optional<SuspendFailedException> lost(Exception e) {
        if (!(e instanceof CriuException criu && criu.reason() == FailureReason.CRIU_KILLED)) {
            return Optional.empty();
        }
        List<String> gone = dumped.stream()
                .filter(s -> Proc.stat(s.pid())
                        .filter(n -> n.startTicks() == s.startTicks() && (s.zombie() || !n.zombie()))
                        .isEmpty())
                .map(Proc.Stat::comm)
                .distinct()
                .toList();
        return gone.isEmpty()
                ? Optional.empty()
                : Optional.of(new SuspendFailedException(
                        FailureReason.CRIU_KILLED,
                        suspension.id() + "; these ended meanwhile, by themselves or with it: "
                                + String.join(", ", gone),
                        List.of(),
                        e));
    }

    private static void requireFolder(Path archive) {
        Path parent = archive.getParent();
        if (parent == null || !Files.isDirectory(parent) || !Files.isWritable(parent)) {
            throw new SuspendFailedException(FailureReason.BAD_FOLDER, String.valueOf(parent));
        }
        if (Files.isDirectory(archive)) {
            throw new SuspendFailedException(FailureReason.BAD_FOLDER, archive + " is a folder, a file is meant");
        }
    }

    private Checkpoint dump(
            StageJson record, FrozenTree frozen, Criu criu, Path archive, ImageKey key, SealRequest request)
            throws CriuException, IOException {
        boolean idle = record.freezing().handover() == Handover.AT_FREEZE && !request.awaited();
        List<Proc.Stat> tree = frozen.freeze();
        FrozenTree.refuseTraced(tree);
        dumped = tree;
        Optional<Obstacle> unread = UnreadQueues.find(record.init().pid(), tree);
        if (unread.isPresent()) {
            throw new SuspendFailedException(unread.get().reason(), unread.get().words());
        }
        StageFolder.delete(folder.images());
        Files.createDirectory(
                folder.images(), PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        List<String> now = Mounts.ofHost(Proc.mountInfo(record.init().pid()));
        List<String> mounts = record.mounts().stream().filter(now::contains).toList();
        ImageManifest manifest = DumpManifest.of(record, criu, tree);
        CriuRun.Watch watch = new CriuRun.Watch() {
            @Override
            public void started(HostProcess process) throws IOException {
                suspension.change(r ->
                        r.freezing() == null ? r : r.withFreezing(r.freezing().withDumper(process)));
            }

            @Override
            public boolean cancelled() {
                return suspension.cancelled();
            }
        };
        long dumping = System.nanoTime();
        try (Bystanders others = record.container() == null
                ? null
                : Bystanders.hold(suspension.id(), record.container(), frozen.freezer())) {
            criu.dump(
                    new DumpRequest(record.init(), folder, frozen.freezer(), mounts, record.options()),
                    DumpWay.usual(idle),
                    watch);
            if (others != null) {
                others.requireNone(record.container(), frozen.freezer());
            }
        }
        long ended = System.nanoTime();
        StageJson.Freezing freezing = record.freezing();
        ImageManifest timed = manifest.with(new ImageManifest.Timings(
                freezing.preflightMillis(),
                freezing.millis(),
                SuspendAttempt.millis(dumping, ended),
                freezing.handover().name()));
        ImageFixups.apply(folder.images());
        TaskTraits.keep(folder.images(), tree);
        Path measured = folder.logs().resolve("stats-dump");
        if (Files.exists(measured)) {
            Files.copy(measured, folder.images().resolve("stats-dump.img"));
        }
        StageJson.Image image = new StageJson.Image(manifest.createdAt(), null, tree.size(), Proc.bootId());
        new StageFolder(folder.images())
                .writeBesideImages(record.withState(State.SUSPENDED)
                        .withInit(null)
                        .withFreezer(null)
                        .withFreezing(null)
                        .withMounts(mounts)
                        .withImage(image)
                        .withSuspensions(record.suspensions() + 1));
        addTrialPart();
        TriedPacking.Result packed = new TriedPacking(suspension, record, criu, mounts, tree)
                .pack(archive, idle, toWrite(record, archive, key, timed, request.extent()));
        ImageArchive.Written written = packed.written();
        seal(archive, image.sealed(FileStamp.of(archive)), tree);
        return new Checkpoint(
                suspension.id(),
                record.freezing().millis(),
                SuspendAttempt.millis(dumping, ended),
                written.millis(),
                written.imageBytes(),
                written.archiveBytes(),
                tree.size(),
                written.imageId(),
                written.parentId(),
                written.skipped(),
                packed.trial());
    }

    private void addTrialPart() {
        // Only images of this process's own CRIU are tried, and restored elsewhere.
        if (suspension.stages().freezers() == FreezerKind.HELPER) {
            return;
        }
        try {
            ImageTrial.clear(folder.trial());
            TrialPart.add(folder.images(), folder.trial());
        } catch (IOException | RuntimeException e) {
            LOG.log(Level.FINE, e, () -> "the image of " + suspension.id() + " cannot be tried on other hosts");
        }
    }

    private void seal(Path archive, StageJson.Image sealed, List<Proc.Stat> tree) throws IOException {
        List<Long> pids =
                tree.stream().filter(s -> !s.zombie()).map(Proc.Stat::pid).toList();
        boolean noted = false;
        try {
            StageJson after = suspension.change(r -> r.state() != State.SUSPENDING
                    ? r
                    : r.withArchive(archive.toString(), pids).withImage(sealed));
            noted = after.state() == State.SUSPENDING;
        } finally {
            if (!noted) {
                Files.deleteIfExists(archive);
            }
        }
        if (!noted) {
            throw new SuspendFailedException(
                    FailureReason.KILLED, suspension.id().value());
        }
    }

    private WriteRequest toWrite(StageJson record, Path archive, ImageKey key, ImageManifest manifest, Extent extent) {
        WriteRequest request = WriteRequest.of(folder.images(), archive, key, manifest)
                .preserving(
                        record.preserved() == null
                                ? List.of()
                                : record.preserved().stream().map(Path::of).toList());
        return extent == Extent.DIFFERENCE
                ? request.against(folder.imageIndex(), null)
                : request.indexed(folder.imageIndex());
    }

    /** A failure in here does not hide the first one. */
    private void undo(StageJson before, FrozenTree tree, IfDumpFails ifFails) {
        try {
            boolean thaw = ifFails == IfDumpFails.THAW;
            try {
                if (thaw) {
                    tree.thaw();
                } else {
                    // A killed criu leaves the tree running.
                    tree.freezer().freeze(tree.init(), REFREEZE_LIMIT);
                }
            } finally {
                // They hold plain memory: removed even if the tree is gone.
                StageFolder.delete(folder.images());
            }
            suspension.change(r -> r.state() != State.SUSPENDING
                    ? r
                    : r.withState(thaw ? State.RUNNING : State.SUSPENDING)
                            .withFreezing(thaw ? null : r.freezing())
                            .withArchive(null, null)
                            .withImage(before.image()));
        } catch (IOException | RuntimeException e) {
            // The next query finds out whether it is frozen.
        }
    }
}
