package io.jenkins.plugins.preemptible.engine.suspend;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuException;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.home.Stages;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import io.jenkins.plugins.preemptible.engine.trial.ChangeSinceDump;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * What the steps of one suspension share: the stage, its lock, its record, and how failures are worded.
 *
 * <ol>
 *   <li>{@link Freezing} comes first, {@link Dumping} follows, {@link CommitOrThaw} ends it either way.
 *   <li>The stage's lock is held during each of them, not between them.
 *   <li>The record is all that a step knows of the one before, which may have run in another process.
 * </ol>
 */
public record SuspendAttempt(Stages stages, StageId id) {

    private static final long MEGABYTE = 1 << 20;
    private static final Duration CHECKPOINT_LIMIT = TimeLimits.of(Duration.ofSeconds(60));

    StageFolder folder() {
        return stages.folder(id);
    }

    /**
     * Takes the stage's lock after its record was settled.
     *
     * @throws SuspendFailedException {@link FailureReason#STAGE_BUSY}
     */
    StageFolder.Held lock() {
        stages.settle(id);
        long end = System.nanoTime() + CHECKPOINT_LIMIT.toNanos();
        while (true) {
            try {
                return stages.lock(id);
            } catch (EngineException e) {
                // A checkpoint of the running stage is over in a moment.
                if (!Files.exists(folder().standing()) || System.nanoTime() - end > 0) {
                    throw new SuspendFailedException(e.reason(), e.detail());
                }
            }
        }
    }

    StageJson record() {
        return folder().read().orElseThrow(() -> new SuspendFailedException(FailureReason.UNKNOWN_STAGE, id.value()));
    }

    StageJson change(UnaryOperator<StageJson> change) throws IOException {
        return folder().change(change)
                .orElseThrow(() -> new SuspendFailedException(FailureReason.UNKNOWN_STAGE, id.value()));
    }

    FrozenTree tree(StageJson record) {
        Freezer freezer = Stages.freezer(record).orElseThrow();
        return new FrozenTree(id, freezer, record.init());
    }

    /**
     * @throws SuspendFailedException when no step of a suspension starts from the record's state
     */
    void requireSuspendable(StageJson record) {
        record.state().refusalToSuspend().ifPresent(refusal -> {
            throw new SuspendFailedException(refusal, id.value());
        });
    }

    /** Whether the dump under way has to end: a thaw was asked for, or the stage was killed. */
    boolean cancelled() {
        return folder().thawAsked() || record().state() == State.KILLED;
    }

    /** @throws SuspendFailedException when none is installed, or it does not work */
    public Criu usableCriu() {
        return stages.criu().usable().orElseThrow(() -> {
            List<Path> installed = stages.criu().installed();
            return installed.isEmpty()
                    ? new SuspendFailedException(FailureReason.CRIU_MISSING, null)
                    : new SuspendFailedException(FailureReason.CRIU_UNUSABLE, installed.toString());
        });
    }

    /**
     * What others have changed since the dump, so that the image cannot be restored any more; empty for images of the
     * privileged part, which this process may not compare.
     */
    Optional<String> changeSinceDump(StageJson record, List<Long> dumped) throws IOException {
        return stages.freezers() == FreezerKind.HELPER || !Files.isDirectory(folder().images())
                ? Optional.empty()
                : ChangeSinceDump.find(
                        folder().images(),
                        dumped,
                        record.preserved().stream().map(Path::of).toList());
    }

    /** Any failure of a step as the engine's exception. */
    public SuspendFailedException failed(Exception e) {
        return failed(e, null);
    }

    /**
     * Any failure of a dump as the engine's exception.
     *
     * @param archive where the image had to go, null where that was not asked for
     */
    SuspendFailedException failed(Exception e, Path archive) {
        if (e instanceof SuspendFailedException told) {
            return told;
        }
        if (e instanceof CriuException criu) {
            if (criu.reason() == FailureReason.NO_SPACE) {
                return new SuspendFailedException(criu.reason(), noRoomAtHome(), criu.lines(), criu);
            }
            return new SuspendFailedException(criu.reason(), id.value(), criu.lines(), criu);
        }
        if (e instanceof ImageException image) {
            boolean noSpace = image.reason() == ImageException.Reason.NO_SPACE;
            return new SuspendFailedException(
                    noSpace ? FailureReason.NO_SPACE : FailureReason.IMAGE_UNUSABLE,
                    noSpace && archive != null ? image.finding() + "; " + noRoomFor(archive) : image.finding(),
                    List.of(),
                    image);
        }
        String words = String.valueOf(e.getMessage());
        boolean full =
                words.contains("No space left") || folder().path().toFile().getUsableSpace() < 64 * 1024;
        return full
                ? new SuspendFailedException(FailureReason.NO_SPACE, noRoomAtHome() + "; " + words, List.of(), e)
                : new SuspendFailedException(FailureReason.CRIU_FAILED, words, List.of(), e);
    }

    private String noRoomAtHome() {
        return "the home folder " + stages.home() + room(stages.home());
    }

    private String noRoomFor(Path archive) {
        Path folder = archive.toAbsolutePath().getParent();
        return folder + room(folder) + "; another folder may be chosen for the image";
    }

    private String room(Path folder) {
        long memory = folder().read()
                .flatMap(Stages::freezer)
                .map(this::residentBytes)
                .orElse(0L);
        long free = folder.toFile().getUsableSpace();
        return ": " + (memory == 0 ? "" : "the image may take " + (memory + MEGABYTE - 1) / MEGABYTE + " MB, ")
                + "free are " + free / MEGABYTE + " MB";
    }

    private long residentBytes(Freezer group) {
        try {
            HostProcess init = record().init();
            return group.pids(init).stream().mapToLong(Proc::residentBytes).sum();
        } catch (IOException e) {
            // Only for a message, which then lacks one number.
            return 0;
        }
    }

    public static long millis(long from, long to) {
        return Duration.ofNanos(to - from).toMillis();
    }
}
