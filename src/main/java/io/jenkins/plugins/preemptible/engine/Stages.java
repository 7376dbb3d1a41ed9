package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.criu.TaskTraits;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageRecord;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.stage.StageUser;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The stages under one home folder and what is true of them on this host.
 *
 * <ol>
 *   <li>A stage's record says what was last begun; process, exit code and lock say what came of it.
 *   <li>{@link #settle} brings the two together and clears away what an ended stage leaves.
 *   <li>{@link #lock} admits one suspension or resume of a stage at a time, in any process.
 * </ol>
 *
 * @param freezers the only kind of freezer to use, or null for the best one
 * @param user whose stages they are, when this engine runs as root for somebody else; null for its own
 */
record Stages(Path home, CriuSearch criu, FreezerKind freezers, LocalImages localImages, StageUser user) {

    private static final Duration GONE = Duration.ofSeconds(15);

    StageFolder folder(StageId id) {
        return new StageFolder(home.resolve("stages").resolve(id.value()));
    }

    /** Where archives are unpacked; for its owner only, since they hold the memory of stages. */
    Path incoming() throws IOException {
        Path incoming = home.resolve("incoming");
        Set<PosixFilePermission> owner = PosixFilePermissions.fromString("rwx------");
        Files.createDirectories(incoming, PosixFilePermissions.asFileAttribute(owner));
        Files.setPosixFilePermissions(incoming, owner);
        return incoming;
    }

    /** A new folder in there; those of processes that died are removed first. */
    Path unpackingFolder() throws IOException {
        HostProcess self = HostProcess.of(ProcessHandle.current().pid()).orElseThrow();
        try (var entries = Files.list(incoming())) {
            for (Path entry : entries.toList()) {
                if (isOfTheDead(entry.getFileName().toString())) {
                    StageFolder.delete(entry);
                }
            }
        }
        return Files.createTempDirectory(incoming(), "image-" + self.pid() + "-" + self.startTicks() + "-");
    }

    private static boolean isOfTheDead(String name) {
        String[] parts = name.split("-");
        return parts.length == 4
                && parts[1].matches("\\d{1,10}")
                && parts[2].matches("\\d{1,18}")
                && !new HostProcess(Long.parseLong(parts[1]), Long.parseLong(parts[2]), Proc.bootId()).alive();
    }

    /** The ids of all stages, in the order of their names. */
    List<StageId> ids() {
        Path all = home.resolve("stages");
        if (!Files.isDirectory(all)) {
            return List.of();
        }
        try (var entries = Files.list(all)) {
            return entries.filter(p -> new StageFolder(p).exists())
                    .map(p -> StageId.parse(p.getFileName().toString()))
                    .sorted((a, b) -> a.value().compareTo(b.value()))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(all + " cannot be listed", e);
        }
    }

    /**
     * The record as the host bears it out.
     *
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    StageRecord settle(StageId id) {
        StageFolder folder = folder(id);
        StageRecord record = folder.read().orElseThrow(() -> new EngineException(FailureReason.UNKNOWN_STAGE, id.value()));
        try {
            return switch (record.state()) {
                case RUNNING, SUSPENDING -> record.init() == null || record.init().alive() ? record : ended(folder, record);
                case RESUMING -> resuming(folder, record);
                default -> record;
            };
        } catch (IOException e) {
            throw new UncheckedIOException("the state of " + id + " cannot be told", e);
        }
    }

    // Between the look at the record and the one at the process a suspension may have ended: then the record changed.
    private StageRecord ended(StageFolder folder, StageRecord seen) throws IOException {
        Optional<StageFolder.Held> held = folder.lock();
        if (held.isEmpty()) {
            return seen;
        }
        try (StageFolder.Held lock = held.get()) {
            StageRecord now = folder.read().orElse(seen);
            if (!now.equals(seen)) {
                return now;
            }
            freezer(seen).ifPresent(Stages::removeQuietly);
            if (isSealed(seen)) {
                // Killed while it was frozen, by a shortage of memory or the host's end: its image has all of it.
                return folder.change(r -> r.state() == State.KILLED
                                ? r
                                : r.withState(State.SUSPENDED)
                                        .withSuspensions(r.suspensions() + 1)
                                        .withInit(null)
                                        .withFreezer(null)
                                        .withFreezing(null)
                                        .withArchive(r.archive(), null))
                        .orElse(seen);
            }
            StageFolder.delete(folder.images());
            State state = folder.exitCode().isPresent() ? State.ENDED : State.FAILED;
            return folder.change(r -> r.state() == State.KILLED
                            ? r
                            : r.withState(state).withInit(null).withFreezer(null).withFreezing(null).withArchive(null, null))
                    .orElse(seen);
        }
    }

    private static boolean isSealed(StageRecord seen) {
        return seen.state() == State.SUSPENDING
                && seen.dumped() != null
                && seen.archive() != null
                && seen.image() != null
                && Resumption.stamp(Path.of(seen.archive())).equals(seen.image().archiveStamp());
    }

    // Whoever resumed it may have died: its criu went on, and either the stage runs now or it is still suspended.
    private StageRecord resuming(StageFolder folder, StageRecord seen) throws IOException {
        Optional<StageFolder.Held> held = folder.lock();
        if (held.isEmpty()) {
            return seen;
        }
        try (StageFolder.Held lock = held.get()) {
            StageRecord now = folder.read().orElse(seen);
            if (now.state() != State.RESUMING || now.freezer() == null) {
                return now;
            }
            Freezer freezer = freezer(now).orElseThrow();
            Optional<HostProcess> init = Criu.finishedRestore(folder, freezer);
            if (init.isEmpty()) {
                return now.withState(State.SUSPENDED);
            }
            if (Restoration.excess(user, init.get()).isPresent()) {
                killWhole(freezer, init.get());
                return folder.change(r -> r.state() != State.RESUMING ? r
                                : r.withState(State.SUSPENDED).withInit(null).withFreezer(null))
                        .orElse(now);
            }
            TaskTraits.giveBack(folder.path(), init.get().pid());
            freezer.thaw(init.get());
            StageFolder.delete(folder.images());
            return folder.change(r -> r.state() != State.RESUMING ? r : r
                            .withState(State.RUNNING)
                            .withInit(init.get())
                            .withArchive(null, null))
                    .orElse(now);
        }
    }

    StageStatus status(StageId id) {
        StageRecord r = settle(id);
        boolean process = r.init() != null && r.init().alive();
        StageFolder folder = folder(id);
        return new StageStatus(
                id,
                r.name(),
                r.state(),
                process ? r.init().pid() : 0,
                r.state() == State.KILLED ? Integer.valueOf(137) : folder.exitCode().orElse(null),
                Path.of(r.workDir()),
                Instant.parse(r.startedAt()),
                r.state() == State.SUSPENDED && r.archive() != null ? Path.of(r.archive()) : null,
                r.suspensions(),
                r.sandbox() ? null : folder.output(),
                tier(r, folder));
    }

    private static Tier tier(StageRecord record, StageFolder folder) {
        return switch (record.state()) {
            case SUSPENDING -> Tier.FROZEN;
            case SUSPENDED -> {
                boolean archived = record.archive() != null && Files.isRegularFile(Path.of(record.archive()));
                yield NearResumption.localImage(folder, record).isPresent()
                        ? Tier.LOCAL_IMAGE
                        : archived ? Tier.ARCHIVE : null;
            }
            default -> null;
        };
    }

    /**
     * Takes a stage's lock.
     *
     * @throws EngineException {@link FailureReason#STAGE_BUSY}
     */
    StageFolder.Held lock(StageId id) {
        try {
            // A status query holds it for a moment too.
            for (int i = 0; i < 50; i++) {
                Optional<StageFolder.Held> held = folder(id).lock();
                if (held.isPresent()) {
                    return held.get();
                }
                Thread.sleep(2);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IOException e) {
            throw new UncheckedIOException("the lock of " + id + " cannot be taken", e);
        }
        throw new EngineException(FailureReason.STAGE_BUSY, id.value());
    }

    /** A new one; for another user's stage never by signals. */
    Freezer newFreezer(StageId id) throws IOException {
        return user == null ? FreezerKind.create(id, freezers) : FreezerKind.createGroup(id);
    }

    static Optional<Freezer> freezer(StageRecord record) {
        return Optional.ofNullable(record.freezer()).map(FreezerKind::at);
    }

    /** Kills everything of a stage and waits until it is gone. */
    static void killWhole(Freezer freezer, HostProcess init) throws IOException {
        long end = System.nanoTime() + GONE.toNanos();
        do {
            freezer.kill(init);
            if ((init == null || !init.alive()) && freezer.pids(init).isEmpty()) {
                freezer.remove();
                return;
            }
            try {
                Thread.sleep(2);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted", e);
            }
        } while (System.nanoTime() - end < 0);
        throw new IOException("processes of the stage withstand being killed: " + freezer.pids(init));
    }

    private static void removeQuietly(Freezer freezer) {
        try {
            freezer.kill(null);
            freezer.remove();
        } catch (IOException e) {
            // A process that entered from outside and hangs keeps the group; a later kill or forget removes it.
        }
    }
}
