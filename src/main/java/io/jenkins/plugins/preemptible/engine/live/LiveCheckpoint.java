package io.jenkins.plugins.preemptible.engine.live;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuException;
import io.jenkins.plugins.preemptible.engine.fixup.ImageFixups;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.home.Stages;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.WriteRequest;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import io.jenkins.plugins.preemptible.engine.live.memory.CopyPlan;
import io.jenkins.plugins.preemptible.engine.live.memory.MemoryCopies;
import io.jenkins.plugins.preemptible.engine.live.memory.NoCopyException;
import io.jenkins.plugins.preemptible.engine.move.Luggage;
import io.jenkins.plugins.preemptible.engine.move.MoveRefusedException;
import io.jenkins.plugins.preemptible.engine.preflight.Obstacle;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import io.jenkins.plugins.preemptible.engine.suspend.Packing;
import io.jenkins.plugins.preemptible.engine.suspend.StagePreflight;
import io.jenkins.plugins.preemptible.engine.suspend.SuspendAttempt;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * A checkpoint of a stage that keeps running.
 *
 * <ol>
 *   <li>While it runs: the preflight, and a copy of its files, brought up to date until little changes.
 *   <li>While it stands still ({@link Standstill}): CRIU writes its image, and what of the files has changed is copied. The
 *       memory is written then only where its processes cannot be copied; else it is read from the copies afterwards.
 *   <li>While it runs again: both are sealed at idle priority, each into an archive of its own.
 *   <li>Whatever fails, the stage runs on, and there is neither archive.
 * </ol>
 *
 * The image is one of a suspension that never happened here: it resumes where this stage is not known, or is over. It is
 * not tried: its files have changed by then.
 */
public final class LiveCheckpoint {

    /** Less than this is left to be copied while the stage stands still. */
    private static final long LITTLE = 16L << 20;

    private static final int MOST_PASSES = 4;
    private static final Logger LOG = Logger.getLogger(LiveCheckpoint.class.getName());

    private final Stages stages;
    private final StageId id;
    private final LiveRequest request;
    private final StageFolder folder;
    private final SharedWrites shared = new SharedWrites();
    private String wholeWhy;

    public LiveCheckpoint(Stages stages, StageId id, LiveRequest request) {
        this.stages = stages;
        this.id = id;
        this.request = request;
        this.folder = stages.folder(id);
    }

    /** @throws SuspendFailedException with the reason; the stage runs on as before */
    public LiveImage take() {
        stages.settle(id);
        // One may be under way yet whose caller has restarted.
        try (StageFolder.Held live =
                folder.lockLive().orElseThrow(() -> new SuspendFailedException(FailureReason.STAGE_BUSY, id.value()))) {
            return takeAlone();
        } catch (IOException e) {
            throw new SuspendAttempt(stages, id).failed(e);
        }
    }

    private LiveImage takeAlone() {
        SuspendAttempt attempt = new SuspendAttempt(stages, id);
        StageJson record = running();
        if (record.container() != null) {
            // Its copy would have to bring the container's own files.
            throw new SuspendFailedException(
                    FailureReason.CONTAINER, record.container().container().shown());
        }
        Criu criu = attempt.usableCriu();
        PreflightReport seen = new StagePreflight(stages).of(record);
        Optional<Obstacle> obstacle = seen.obstacles().stream()
                .filter(each -> each.reason() != FailureReason.ENTERING)
                .findFirst();
        if (obstacle.isPresent()) {
            throw new SuspendFailedException(
                    obstacle.get().reason(), obstacle.get().words());
        }
        Path scratch = null;
        boolean whole = false;
        try {
            StageFolder.delete(folder.live());
            Files.createDirectory(
                    folder.live(), PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            Path place = Files.createDirectory(folder.live().resolve("files"));
            Mirror mirror = new Mirror(
                    place, request.folders(), stages.home(), request.mostFileBytes(), request.floorBytes(), this::over);
            idle(() -> prepare(mirror, record));
            long memory = memory(record);
            scratch = stages.incoming().folder(memory);
            Standstill.Prepared prepared =
                    new Standstill.Prepared(mirror, shared, scratch, requireRoom(memory, mirror.bytes(), scratch));
            Standstill.Taken taken;
            try (StageFolder.Held lock = stages.lock(id)) {
                Files.write(folder.standing(), new byte[0]);
                taken = stand(record.withOptions(seen.options()), criu, prepared);
            } finally {
                Files.deleteIfExists(folder.standing());
            }
            LiveImage image = seal(taken, mirror);
            whole = true;
            return image;
        } catch (SuspendFailedException e) {
            throw e;
        } catch (EngineException e) {
            throw new SuspendFailedException(e.reason(), e.detail());
        } catch (Exception e) {
            throw attempt.failed(e);
        } finally {
            if (!whole) {
                delete(request.archive(), request.luggage());
            }
            delete(scratch, folder.live());
        }
    }

    /**
     * What a preflight has seen, unless a checkpoint's own criu traced the stage meanwhile.
     *
     * @throws EngineException {@link FailureReason#STAGE_BUSY}
     */
    public static PreflightReport untraced(Stages stages, StageId id, PreflightReport seen) {
        if (Files.exists(stages.folder(id).live())
                && seen.obstacles().stream().anyMatch(each -> each.reason() == FailureReason.TRACED)) {
            throw new EngineException(FailureReason.STAGE_BUSY, id.value());
        }
        return seen;
    }

    /** Its memory is copied by copies of its processes, where there is much of it and they can be copied. */
    private Standstill.Taken stand(StageJson record, Criu criu, Standstill.Prepared prepared)
            throws IOException, CriuException {
        List<Proc.Stat> tree = Proc.tree(record.init().pid());
        if (CopyPlan.isWorthIt(tree)) {
            Optional<String> obstacle = Files.exists(folder.wholeDump())
                    ? Optional.of(Files.readString(folder.wholeDump()))
                    : CopyPlan.obstacle(tree);
            if (obstacle.isEmpty()) {
                Freezer freezer = Stages.freezer(record).orElseThrow();
                try (MemoryCopies copies = MemoryCopies.start(ThawGuard.file(freezer), ThawGuard.word(freezer))) {
                    Standstill.Taken taken =
                            new Standstill(stages, record, criu, request, prepared, copies).take(running());
                    taken.complete(prepared.room());
                    return taken;
                } catch (NoCopyException e) {
                    boolean filesGivenUp = !prepared.mirror().isWhole();
                    if (e.isLasting() || filesGivenUp) {
                        // The next checkpoint does not try.
                        Files.writeString(folder.wholeDump(), e.getMessage());
                    }
                    if (filesGivenUp) {
                        throw new SuspendFailedException(FailureReason.CRIU_FAILED, e.getMessage());
                    }
                    StageFolder.delete(new StageFolder(prepared.scratch()).images());
                    obstacle = Optional.of(e.getMessage());
                    LOG.log(Level.INFO, e, () -> id + " stands still until its memory is written: " + e.getMessage());
                }
            }
            wholeWhy = obstacle.get();
        }
        return new Standstill(stages, record, criu, request, prepared, null).take(running());
    }

    private StageJson running() {
        StageJson record = stages.settle(id);
        if (!stages.checkpoints()) {
            throw new SuspendFailedException(FailureReason.MEMORY_ONLY, id.value());
        }
        record.state().refusalToSuspend().ifPresent(refusal -> {
            throw new SuspendFailedException(refusal, id.value());
        });
        if (record.state() != State.RUNNING || record.init() == null || record.freezer() == null) {
            throw new SuspendFailedException(FailureReason.STAGE_BUSY, id.value());
        }
        Freezer freezer = Stages.freezer(record).orElseThrow();
        if (freezer.kind() == FreezerKind.HELPER || !HostProcess.isRoot()) {
            throw new SuspendFailedException(FailureReason.NO_RIGHTS, id.value());
        }
        if (freezer.cgroup().isEmpty()) {
            throw new SuspendFailedException(FailureReason.NO_FREEZER, id.value());
        }
        return record;
    }

    private boolean over() {
        return folder.read()
                .filter(r -> r.state() == State.RUNNING || r.state() == State.SUSPENDING)
                .isEmpty();
    }

    private long memory(StageJson record) throws IOException {
        return Proc.tree(record.init().pid()).stream()
                .mapToLong(each -> Proc.residentBytes(each.pid()))
                .sum();
    }

    private record Need(Room room, long bytes) {}

    /**
     * For CRIU's files and for both archives, at their worst: whole ones that cannot be compressed. The copy of the files is
     * there already.
     *
     * @return of the disk that CRIU's files are on; null when they are in memory
     */
    private Room requireRoom(long memory, long files, Path scratch) throws IOException {
        Room image = room(scratch);
        boolean onDisk = image.shares(room(folder.live()));
        List<Need> needs = List.of(
                new Need(room(parent(request.archive())), memory),
                new Need(room(parent(request.luggage())), files),
                new Need(image, onDisk ? memory : 0));
        for (Need each : onDisk ? needs : needs.subList(0, 2)) {
            each.room()
                    .require(needs.stream()
                            .filter(other -> other.room().shares(each.room()))
                            .mapToLong(Need::bytes)
                            .sum());
        }
        return onDisk ? image : null;
    }

    private Room room(Path at) throws IOException {
        return Room.of(at, request.floorBytes());
    }

    private static Path parent(Path archive) {
        return archive.toAbsolutePath().getParent();
    }

    private Void prepare(Mirror mirror, StageJson record) throws IOException {
        long last = Long.MAX_VALUE;
        for (int pass = 0; pass < MOST_PASSES; pass++) {
            shared.add(Proc.tree(record.init().pid()));
            long copied = mirror.pass(Set.of(), Long.MAX_VALUE, () -> false);
            if (copied < LITTLE || copied > last / 2) {
                return null;
            }
            last = copied;
        }
        return null;
    }

    private interface Work<T> {
        T run() throws Exception;
    }

    private <T> T idle(Work<T> work) throws IOException {
        BooleanSupplier over = this::over;
        return new Packing(request.archive(), true, over).run(givenUp -> work.run());
    }

    private LiveImage seal(Standstill.Taken taken, Mirror mirror) throws IOException {
        long begun = System.nanoTime();
        Room room = room(parent(request.archive()));
        return idle(() -> {
            try {
                return seal(taken, mirror, room, begun);
            } catch (ImageException e) {
                if (room.wasLow()) {
                    throw room.refusal(0);
                }
                throw e;
            } catch (MoveRefusedException e) {
                throw refusal(e, room);
            }
        });
    }

    private LiveImage seal(Standstill.Taken taken, Mirror mirror, Room room, long begun) throws IOException {
        Path images = taken.images();
        ImageFixups.apply(images);
        CheckpointIndexes indexes = CheckpointIndexes.of(folder, request);
        BooleanSupplier enough = () -> room.isLow() || over();
        ImageArchive.Written image =
                ImageArchive.write(WriteRequest.of(images, request.archive(), request.key(), taken.manifest())
                        .apart(indexes.image(), indexes.imageBase())
                        .unless(enough));
        mirror.finish();
        Luggage.Packed files = Luggage.pack(
                id,
                request.folders(),
                mirror.copies(),
                request.luggage(),
                request.key(),
                write -> write.apart(indexes.files(), indexes.filesBase()).unless(enough));
        indexes.removeOthers();
        return new LiveImage(
                id,
                taken.stopMillis(),
                SuspendAttempt.millis(begun, System.nanoTime()),
                image.imageBytes(),
                image.archiveBytes(),
                files.contentBytes(),
                taken.copiedBytes(),
                files.archiveBytes(),
                image.difference(),
                files.difference(),
                wholeWhy,
                taken.processes(),
                taken.sizes());
    }

    /** In the words of this agent: what packs the files speaks of moves. */
    private static SuspendFailedException refusal(MoveRefusedException e, Room room) {
        return switch (e.misfit().obstacle()) {
            case DISK_FULL -> room.refusal(0);
            case UNPACKABLE ->
                new SuspendFailedException(
                        FailureReason.UNPACKABLE_FILES, e.misfit().detail());
            default ->
                new SuspendFailedException(FailureReason.CRIU_FAILED, e.misfit().sentence(), List.of(), e);
        };
    }

    private static void delete(Path... paths) {
        for (Path path : paths) {
            try {
                if (path != null) {
                    StageFolder.delete(path);
                }
            } catch (IOException e) {
                // The next checkpoint, or the end of the stage, removes it.
            }
        }
    }
}
