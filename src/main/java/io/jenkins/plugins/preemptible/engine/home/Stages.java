package io.jenkins.plugins.preemptible.engine.home;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.criu.TaskTraits;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.logging.Level;
import java.util.logging.Logger;

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
 * @param checkpoints whether images are made; else suspended stages stay in memory
 */
public record Stages(Path home, CriuSearch criu, FreezerKind freezers, LocalImages localImages, boolean checkpoints) {

    private static final Logger LOG = Logger.getLogger(Stages.class.getName());
    /** What a verb waits for the end of processes that it kills. */
    public static final Duration GONE = Duration.ofSeconds(15);
    /** What a mere look may wait for the end of processes. */
    private static final Duration MOMENT = Duration.ofSeconds(1);

    public StageFolder folder(StageId id) {
        return new StageFolder(home.resolve("stages").resolve(id.value()));
    }

    /** Where archives are unpacked. */
    public Incoming incoming() {
        // What the privileged part restores has to lie where its user may read it.
        return new Incoming(home, freezers != FreezerKind.HELPER);
    }

    /** The ids of all stages, in the order of their names. */
    public List<StageId> ids() {
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
     * The record as the host bears it out. What cannot be written down, on a full disk, is told all the same.
     *
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    public StageJson settle(StageId id) {
        StageFolder folder = folder(id);
        StageJson record =
                folder.read().orElseThrow(() -> new EngineException(FailureReason.UNKNOWN_STAGE, id.value()));
        try {
            return switch (record.state()) {
                case RUNNING, SUSPENDING -> {
                    if (record.init() == null) {
                        yield unstarted(folder, record);
                    }
                    if (!record.init().alive()) {
                        yield ended(folder, record);
                    }
                    yield runsOn(record) ? thawed(folder, record) : record;
                }
                case RESUMING -> resuming(folder, record);
                case SUSPENDED -> record.freezer() == null ? record : committed(folder, record);
                default -> record;
            };
        } catch (IOException e) {
            throw new UncheckedIOException("the state of " + id + " cannot be told", e);
        }
    }

    /** What is found and done once nobody else changes the stage. */
    private interface Finding {
        StageJson at(StageJson now) throws IOException;
    }

    // Whoever holds the lock does his own part: then what was seen stands for now.
    private static StageJson underLock(StageFolder folder, StageJson seen, Finding finding) throws IOException {
        Optional<StageFolder.Held> held = folder.lock();
        if (held.isEmpty()) {
            return seen;
        }
        try (StageFolder.Held lock = held.get()) {
            return finding.at(folder.read().orElse(seen));
        }
    }

    // Between the look at the record and the one at the process a suspension may have ended: then the record changed.
    private StageJson ended(StageFolder folder, StageJson seen) throws IOException {
        return underLock(folder, seen, now -> {
            if (!now.equals(seen)) {
                return now;
            }
            boolean gone = freezer(seen).map(Stages::removed).orElse(true);
            if (isSealed(seen)) {
                // Killed while it was frozen, by a shortage of memory or the host's end: its image has all of it.
                return note(
                        folder,
                        seen,
                        r -> r.withState(State.SUSPENDED)
                                .withSuspensions(r.suspensions() + 1)
                                .withInit(null)
                                .withFreezer(gone ? null : r.freezer())
                                .withFreezing(null)
                                .withArchive(r.archive(), null));
            }
            StageFolder.delete(folder.images());
            State state = folder.exitCode().isPresent() ? State.ENDED : State.FAILED;
            return note(
                    folder,
                    seen,
                    r -> r.withState(state)
                            .withInit(null)
                            .withFreezer(gone ? null : r.freezer())
                            .withFreezing(null)
                            .withArchive(null, null));
        });
    }

    // The record follows the host. A disk that has no room for it hinders nobody: the next look finds the same.
    private static StageJson note(StageFolder folder, StageJson seen, UnaryOperator<StageJson> next) {
        UnaryOperator<StageJson> unlessKilled = r -> r.state() == State.KILLED ? r : next.apply(r);
        try {
            return folder.change(unlessKilled).orElse(seen);
        } catch (IOException e) {
            LOG.log(Level.WARNING, e, () -> "what became of " + seen.id() + " cannot be written down yet");
            return unlessKilled.apply(seen);
        }
    }

    // A start holds the lock until it knows the init: without either, whoever started it died.
    private static StageJson unstarted(StageFolder folder, StageJson seen) throws IOException {
        return underLock(folder, seen, now -> {
            if (!now.equals(seen)) {
                return now;
            }
            HostProcess init = StageLaunch.find(folder).orElse(null);
            try {
                killWhole(freezer(seen).orElseThrow(), init, MOMENT);
            } catch (IOException e) {
                LOG.log(Level.WARNING, e, () -> "what was started of " + seen.id() + " cannot be killed yet");
                return seen;
            }
            return note(folder, seen, r -> r.withState(State.FAILED).withFreezer(null));
        });
    }

    // Without criu inside, which stops the tree in its own way.
    private static boolean runsOn(StageJson record) throws IOException {
        Optional<Freezer> freezer = freezer(record);
        boolean dumping = record.freezing() != null
                && record.freezing().dumper() != null
                && record.freezing().dumper().alive();
        return record.state() == State.SUSPENDING
                && freezer.isPresent()
                && !dumping
                && !freezer.get().holds(record.init())
                && Proc.tracer(record.init().pid()) == 0;
    }

    // Whoever thawed it, or was about to freeze it, could not write it down any more.
    private static StageJson thawed(StageFolder folder, StageJson seen) throws IOException {
        return underLock(folder, seen, now -> {
            if (!now.equals(seen) || !runsOn(now)) {
                return now;
            }
            try {
                SealedImages.dropImage(folder, now);
            } catch (IOException e) {
                LOG.log(Level.WARNING, e, () -> "the image of " + now.id() + ", which runs on, cannot be removed");
            }
            return note(
                    folder,
                    now,
                    r -> r.withState(State.RUNNING).withFreezing(null).withArchive(null, null));
        });
    }

    // A commit that was cut off: its archive is safe, but what it has to kill still holds its memory.
    private StageJson committed(StageFolder folder, StageJson seen) throws IOException {
        return underLock(folder, seen, now -> {
            if (now.state() != State.SUSPENDED || now.freezer() == null) {
                return now;
            }
            try {
                return InterruptedSteps.finishCommit(this, folder, now, MOMENT);
            } catch (IOException e) {
                LOG.log(Level.WARNING, e, () -> "the frozen processes of " + now.id() + " cannot be killed yet");
                return now;
            }
        });
    }

    private static boolean isSealed(StageJson seen) {
        return seen.state() == State.SUSPENDING && SealedImages.ownsArchive(seen);
    }

    // Whoever resumed it may have died: its criu went on, and either the stage runs now or it is still suspended.
    private StageJson resuming(StageFolder folder, StageJson seen) throws IOException {
        return underLock(folder, seen, now -> {
            if (now.state() != State.RESUMING || now.freezer() == null) {
                return now;
            }
            Freezer freezer = freezer(now).orElseThrow();
            Optional<HostProcess> init = Criu.finishedRestore(folder, freezer);
            if (init.isEmpty()) {
                return now.withState(State.SUSPENDED);
            }
            TaskTraits.giveBackTaken(folder.path(), init.get().pid());
            freezer.thaw(init.get());
            StageFolder.delete(folder.images());
            incoming().sweep();
            return note(
                    folder,
                    now,
                    r -> r.state() != State.RESUMING
                            ? r
                            : r.withState(State.RUNNING).withInit(init.get()).withArchive(null, null));
        });
    }

    public StageStatus status(StageId id) {
        StageJson r = settle(id);
        boolean process = r.init() != null && r.init().alive();
        StageFolder folder = folder(id);
        return new StageStatus(
                id,
                r.name(),
                r.state(),
                process ? r.init().pid() : 0,
                r.state() == State.KILLED
                        ? Integer.valueOf(137)
                        : folder.exitCode().orElse(null),
                Path.of(r.workDir()),
                Instant.parse(r.startedAt()),
                r.state() == State.SUSPENDED && r.archive() != null ? Path.of(r.archive()) : null,
                r.suspensions(),
                r.sandbox() ? null : folder.output(),
                tier(r, folder));
    }

    private static Tier tier(StageJson record, StageFolder folder) {
        return switch (record.state()) {
            case SUSPENDING -> Tier.FROZEN;
            case SUSPENDED -> {
                boolean archived = record.archive() != null && Files.isRegularFile(Path.of(record.archive()));
                yield SealedImages.localImage(folder, record).isPresent()
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
    public StageFolder.Held lock(StageId id) {
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

    public static Optional<Freezer> freezer(StageJson record) {
        return Optional.ofNullable(record.freezer()).map(FreezerKind::at);
    }

    /** Kills everything of a stage and waits until it is gone. */
    public static void killWhole(Freezer freezer, HostProcess init) throws IOException {
        killWhole(freezer, init, GONE);
    }

    static void killWhole(Freezer freezer, HostProcess init, Duration limit) throws IOException {
        long end = System.nanoTime() + limit.toNanos();
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

    private static boolean removed(Freezer freezer) {
        try {
            freezer.kill(null);
            freezer.remove();
            return true;
        } catch (IOException e) {
            // A process that entered from outside and hangs keeps the group; a later kill or forget removes it.
            return false;
        }
    }
}
