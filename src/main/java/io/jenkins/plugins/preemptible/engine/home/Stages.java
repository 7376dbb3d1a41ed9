package io.jenkins.plugins.preemptible.engine.home;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The stages under one home folder and their state on this host.
 *
 * <ol>
 *   <li>A stage's record says which step began last; process, exit code and lock say what became of that step.
 *   <li>{@link #settle} compares the two, and removes what an ended stage leaves.
 *   <li>{@link #lock} admits one suspension or resume of a stage at a time, in any process.
 * </ol>
 *
 * @param freezers the only kind of freezer to use, or null for the best one
 * @param checkpoints whether images are made; else suspended stages stay in memory
 */
public record Stages(Path home, CriuSearch criu, FreezerKind freezers, LocalImages localImages, boolean checkpoints) {

    private static final Logger LOG = Logger.getLogger(Stages.class.getName());
    /** How long a verb waits for the end of processes that it kills. */
    public static final Duration GONE = TimeLimits.of(Duration.ofSeconds(15));

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
     * The record, brought up to date with what the host shows. A full disk does not hinder the answer.
     *
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    public StageJson settle(StageId id) {
        return new Settling(this).settle(id);
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
                        ? Integer.valueOf(StageStatus.KILLED_EXIT_CODE)
                        : folder.exitCode().orElse(null),
                Path.of(r.workDir()),
                Instant.parse(r.startedAt()),
                r.state() == State.SUSPENDED && r.archive() != null ? Path.of(r.archive()) : null,
                r.suspensions(),
                r.sandbox() ? null : folder.output(),
                tier(r, folder));
    }

    /** All stages of this home, by id. Stages whose record cannot be read are left out; the log names them. */
    public List<StageStatus> list() {
        List<StageStatus> known = new ArrayList<>();
        for (StageId id : ids()) {
            try {
                known.add(status(id));
            } catch (EngineException e) {
                // Another process has forgotten it since the ids were read.
                if (e.reason() != FailureReason.UNKNOWN_STAGE) {
                    throw e;
                }
            } catch (UncheckedIOException e) {
                LOG.log(
                        Level.WARNING,
                        e,
                        () -> "the state of the stage " + id + " cannot be read; kill and forget remove it");
            }
        }
        return List.copyOf(known);
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
}
