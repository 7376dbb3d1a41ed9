package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuException;
import io.jenkins.plugins.preemptible.engine.criu.CriuOptions;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.fixup.ImageFixups;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.image.ImageArchive;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageRecord;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus.State;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * One suspension of a stage: its dump, and what follows the dump.
 *
 * <ol>
 *   <li>{@link #dump}: freeze, look, dump, seal; the tree stays frozen. Any failure thaws it and leaves nothing.
 *   <li>{@link #commit}: the image is safe, so the frozen tree is killed; nothing of it ran in between.
 *   <li>{@link #thaw}: the other way; the image is discarded and the tree runs on.
 * </ol>
 *
 * The stage's lock is held during each of the three, not between them.
 */
final class Suspension {

    private static final Duration FREEZE_LIMIT = Duration.ofSeconds(5);
    private static final Duration ENTRY_LIMIT = Duration.ofSeconds(3);

    private final Stages stages;
    private final StageId id;
    private final StageFolder folder;

    Suspension(Stages stages, StageId id) {
        this.stages = stages;
        this.id = id;
        this.folder = stages.folder(id);
    }

    Checkpoint dump(Path archive, ImageKey key, DumpGuard guard) {
        stages.settle(id);
        try (StageFolder.Held lock = lock()) {
            StageRecord record = dumpable();
            requireFolder(archive);
            Criu criu = usableCriu();
            Freezer freezer = Stages.freezer(record).orElseThrow();
            change(r -> r.withState(State.SUSPENDING).withImage(null, null));
            try {
                return dump(record, freezer, criu, archive, key, guard);
            } catch (SuspendFailedException e) {
                undo(record, freezer);
                throw e;
            } catch (CriuException e) {
                undo(record, freezer);
                throw new SuspendFailedException(e.reason(), id.value(), e.lines(), e);
            } catch (ImageException e) {
                undo(record, freezer);
                FailureReason reason = e.reason() == ImageException.Reason.NO_SPACE
                        ? FailureReason.NO_SPACE
                        : FailureReason.IMAGE_UNUSABLE;
                throw new SuspendFailedException(reason, e.finding(), List.of(), e);
            } catch (IOException | RuntimeException e) {
                undo(record, freezer);
                throw failed(e);
            }
        } catch (IOException e) {
            throw failed(e);
        }
    }

    private SuspendFailedException failed(Exception e) {
        String words = String.valueOf(e.getMessage());
        boolean full = words.contains("No space left") || folder.path().toFile().getUsableSpace() < 64 * 1024;
        return new SuspendFailedException(full ? FailureReason.NO_SPACE : FailureReason.CRIU_FAILED, words, List.of(), e);
    }

    private StageFolder.Held lock() {
        try {
            return stages.lock(id);
        } catch (EngineException e) {
            throw new SuspendFailedException(e.reason(), e.detail());
        }
    }

    private StageRecord dumpable() {
        StageRecord record = folder.read().orElseThrow();
        FailureReason reason =
                switch (record.state()) {
                    case RUNNING -> null;
                    case SUSPENDING, RESUMING -> FailureReason.STAGE_BUSY;
                    case SUSPENDED -> FailureReason.STAGE_SUSPENDED;
                    case KILLED -> FailureReason.KILLED;
                    case ENDED, FAILED -> FailureReason.STAGE_ENDED;
                };
        if (reason == null && (record.init() == null || record.freezer() == null)) {
            reason = FailureReason.STAGE_BUSY;
        }
        if (reason != null) {
            throw new SuspendFailedException(reason, id.value());
        }
        return record;
    }

    private static void requireFolder(Path archive) {
        Path parent = archive.toAbsolutePath().getParent();
        if (parent == null || !Files.isDirectory(parent) || !Files.isWritable(parent)) {
            throw new SuspendFailedException(FailureReason.BAD_FOLDER, String.valueOf(parent));
        }
        if (Files.isDirectory(archive)) {
            throw new SuspendFailedException(FailureReason.BAD_FOLDER, archive + " is a folder, a file is meant");
        }
    }

    private Criu usableCriu() {
        return stages.criu().usable().orElseThrow(() -> {
            List<Path> installed = stages.criu().installed();
            return installed.isEmpty()
                    ? new SuspendFailedException(FailureReason.CRIU_MISSING, null)
                    : new SuspendFailedException(FailureReason.CRIU_UNUSABLE, installed.toString());
        });
    }

    private Checkpoint dump(
            StageRecord record, Freezer freezer, Criu criu, Path archive, ImageKey key, DumpGuard guard)
            throws CriuException, IOException {
        HostProcess init = record.init();
        long begun = System.nanoTime();
        List<Proc.Stat> tree = freezeWhole(freezer, init);
        long frozen = System.nanoTime();
        Optional<String> objection = guard.objection(id);
        if (objection.isPresent()) {
            throw new SuspendFailedException(FailureReason.OBJECTION, objection.get());
        }
        refuseTraced(tree);
        StageFolder.delete(folder.images());
        Files.createDirectory(folder.images());
        List<String> now = Mounts.ofHost(Proc.mountInfo(init.pid()));
        List<String> mounts = record.mounts().stream().filter(now::contains).toList();
        long dumping = System.nanoTime();
        criu.dump(init, folder, freezer, mounts, CriuOptions.PLAIN);
        ImageFixups.apply(folder.images());
        long dumped = System.nanoTime();
        new StageFolder(folder.images())
                .write(record.withState(State.SUSPENDED)
                        .withInit(null)
                        .withFreezer(null)
                        .withMounts(mounts)
                        .withSuspensions(record.suspensions() + 1));
        ImageArchive.Written written = ImageArchive.write(folder.images(), archive, key, manifest(record, criu, tree));
        StageFolder.delete(folder.images());
        List<Long> pids = tree.stream().map(Proc.Stat::pid).toList();
        StageRecord after = change(r -> r.withImage(archive.toAbsolutePath().toString(), pids));
        if (after.state() != State.SUSPENDING) {
            Files.deleteIfExists(archive);
            throw new SuspendFailedException(FailureReason.KILLED, id.value());
        }
        return new Checkpoint(
                id,
                millis(begun, frozen),
                millis(dumping, dumped),
                written.millis(),
                written.imageBytes(),
                written.archiveBytes(),
                tree.size());
    }

    private static long millis(long from, long to) {
        return Duration.ofNanos(to - from).toMillis();
    }

    /**
     * Freezes at a moment when everything of the stage is below its init and nothing is half started.
     *
     * <p>A process that is just entering has a parent outside: it would be frozen, left out of the dump and then killed.
     */
    private List<Proc.Stat> freezeWhole(Freezer freezer, HostProcess init) throws IOException {
        long end = System.nanoTime() + ENTRY_LIMIT.toNanos();
        while (true) {
            try {
                freezer.freeze(init, FREEZE_LIMIT);
            } catch (IOException e) {
                throw new SuspendFailedException(FailureReason.NO_FREEZER, e.getMessage(), List.of(), e);
            }
            List<Proc.Stat> tree = resting(init);
            if (tree.isEmpty()) {
                throw new SuspendFailedException(FailureReason.STAGE_ENDED, id.value());
            }
            List<Long> strangers = strangers(freezer, init, tree.stream().map(Proc.Stat::pid).toList());
            // CRIU would wait for the parent, which waits for the child, which is frozen.
            Optional<Proc.Stat> vfork = tree.stream().filter(s -> Proc.inVfork(s.pid())).findFirst();
            if (strangers.isEmpty() && vfork.isEmpty()) {
                return tree;
            }
            freezer.thaw(init);
            if (System.nanoTime() - end > 0) {
                throw strangers.isEmpty()
                        ? new SuspendFailedException(FailureReason.KERNEL_WAIT, "process " + vfork.get().comm())
                        : new SuspendFailedException(FailureReason.ENTERING, name(strangers.get(0)));
            }
            pause(5);
        }
    }

    // The kernel counts a process that is about to sleep in vfork(2) as frozen; where it waits shows only afterwards.
    private static List<Proc.Stat> resting(HostProcess init) throws IOException {
        List<Proc.Stat> tree = Proc.tree(init.pid());
        for (int i = 0; i < 50 && tree.stream().anyMatch(s -> s.state() == 'R'); i++) {
            pause(1);
            tree = Proc.tree(init.pid());
        }
        return tree;
    }

    private static void pause(long millis) throws IOException {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    private static String name(long pid) {
        String text = pid + " " + Proc.commandLine(pid);
        return "process " + (text.length() > 120 ? text.substring(0, 120) + "…" : text);
    }

    private static List<Long> strangers(Freezer freezer, HostProcess init, List<Long> known) throws IOException {
        Set<Long> all = new HashSet<>(freezer.pids(init));
        all.removeAll(known);
        return all.stream()
                .filter(p -> Proc.stat(p).map(s -> !s.zombie()).orElse(false))
                .sorted()
                .toList();
    }

    // CRIU would take it for a zombie when the tree is frozen already, and try again until its time is up.
    private static void refuseTraced(List<Proc.Stat> tree) {
        for (Proc.Stat s : tree) {
            long tracer = Proc.tracer(s.pid());
            if (tracer != 0) {
                String by = Proc.stat(tracer).map(Proc.Stat::comm).orElse("unknown");
                throw new SuspendFailedException(
                        FailureReason.TRACED, "process " + s.comm() + " by " + by);
            }
        }
    }

    private ImageManifest manifest(StageRecord record, Criu criu, List<Proc.Stat> tree) {
        List<ImageManifest.ProcessInfo> processes = tree.stream()
                .map(s -> new ImageManifest.ProcessInfo(
                        Proc.innerPid(s.pid()),
                        s.pid() == record.init().pid() ? 0 : Proc.innerPid(s.ppid()),
                        s.comm(),
                        Proc.commandLine(s.pid())))
                .toList();
        return new ImageManifest(
                ImageArchive.FORMAT_VERSION,
                id.value(),
                record.name(),
                Instant.now().toString(),
                criu.version(),
                Proc.kernelRelease(),
                Proc.machine(),
                tree.size(),
                0,
                processes);
    }

    /** Leaves the stage as it was before; what cannot be cleared away does not hide why. */
    private void undo(StageRecord before, Freezer freezer) {
        try {
            freezer.thaw(before.init());
            StageFolder.delete(folder.images());
            change(r -> r.state() == State.SUSPENDING ? r.withState(State.RUNNING).withImage(null, null) : r);
        } catch (IOException | RuntimeException e) {
            // The state is derived again from the host at the next look.
        }
    }

    private StageRecord change(java.util.function.UnaryOperator<StageRecord> change) throws IOException {
        return folder.change(change).orElseThrow(() -> new SuspendFailedException(FailureReason.UNKNOWN_STAGE, id.value()));
    }

    void commit() {
        stages.settle(id);
        try (StageFolder.Held lock = lock()) {
            StageRecord record = waiting();
            Freezer freezer = Stages.freezer(record).orElseThrow();
            List<Long> strangers = strangers(freezer, record.init(), record.dumped());
            if (!strangers.isEmpty()) {
                discard(record, freezer);
                throw new SuspendFailedException(FailureReason.ENTERING, "process " + strangers);
            }
            change(r -> r.withState(State.SUSPENDED).withSuspensions(r.suspensions() + 1));
            Stages.killWhole(freezer, record.init());
            change(r -> r.withInit(null).withFreezer(null).withImage(r.archive(), null));
        } catch (IOException e) {
            throw failed(e);
        }
    }

    void thaw() {
        stages.settle(id);
        try (StageFolder.Held lock = lock()) {
            StageRecord record = folder.read().orElseThrow();
            if (record.state() != State.SUSPENDING || record.freezer() == null) {
                throw new SuspendFailedException(FailureReason.NO_CHECKPOINT, id.value());
            }
            discard(record, Stages.freezer(record).orElseThrow());
        } catch (IOException e) {
            throw failed(e);
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

    private void discard(StageRecord record, Freezer freezer) throws IOException {
        freezer.thaw(record.init());
        StageFolder.delete(folder.images());
        change(r -> r.withState(State.RUNNING).withImage(null, null));
        if (record.archive() != null) {
            Files.deleteIfExists(Path.of(record.archive()));
        }
    }

    private StageRecord waiting() {
        StageRecord record = folder.read().orElseThrow();
        if (record.state() != State.SUSPENDING || record.dumped() == null) {
            throw new SuspendFailedException(FailureReason.NO_CHECKPOINT, id.value());
        }
        if (!Files.isRegularFile(Path.of(record.archive()))) {
            throw new SuspendFailedException(FailureReason.IMAGE_MISSING, record.archive());
        }
        return record;
    }
}
