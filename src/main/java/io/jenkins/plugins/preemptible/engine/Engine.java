package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostCheck;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostReport;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.LaunchAs;
import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageLaunch;
import io.jenkins.plugins.preemptible.engine.stage.StageRecord;
import io.jenkins.plugins.preemptible.engine.stage.StageSpec;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus.State;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * All stages of this host under one home folder: starts, suspends, resumes and ends them.
 *
 * <ol>
 *   <li>A stage runs in IPC, PID and mount namespaces and a control group of its own, under an init that stays until
 *       its last process ended.
 *   <li>{@link #dump} freezes and images it, then {@link #commit} or {@link #thaw} decides; {@link #resume} brings it
 *       back under the same id.
 *   <li>Everything known is on disk, so that another engine of the same home, in any process, goes on with it.
 * </ol>
 *
 * <p>All methods block. Safe for any threads and processes: one dump, commit, thaw or resume of a stage runs at a time
 * ({@link FailureReason#STAGE_BUSY} for the others); {@link #kill} and the queries never wait for them. Every refusal
 * is an {@link EngineException}; {@link UncheckedIOException} tells that the home folder itself cannot be used.
 */
public final class Engine {

    private static final int KILLED_BY_SIGNAL = 128 + 9;
    private static final Duration POLL = Duration.ofMillis(25);

    /** One for all engines of this process: agents open an engine for every verb, and {@code criu check} takes its time. */
    private static final CriuSearch INSTALLED = new CriuSearch();

    private final Stages stages;

    private Engine(Stages stages) {
        this.stages = stages;
    }

    /**
     * Opens a home folder, which is made for its owner only when it is not there.
     *
     * @throws UncheckedIOException when it cannot be made
     */
    public static Engine open(Path home) {
        return open(home, INSTALLED, null);
    }

    /** As above, with these criu programs and this kind of freezer only (null for any). */
    static Engine open(Path home, CriuSearch criu, FreezerKind freezers) {
        try {
            Path absolute = home.toAbsolutePath().normalize();
            if (!Files.isDirectory(absolute)) {
                Files.createDirectories(
                        absolute,
                        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            }
            return new Engine(new Stages(absolute.toRealPath(), criu, freezers));
        } catch (IOException e) {
            throw new UncheckedIOException("the home folder " + home + " cannot be made", e);
        }
    }

    /** Tries what suspending needs on this host. */
    public HostReport check() {
        return new HostCheck(stages.criu()).report();
    }

    /**
     * Starts a stage and returns when its init is about to run the command.
     *
     * @throws EngineException {@link FailureReason#BAD_SPEC}, {@link FailureReason#LAUNCH_FAILED},
     *     {@link FailureReason#NO_FREEZER}; nothing is left of it then
     */
    public StageStatus start(StageSpec spec) {
        return start(spec, null);
    }

    /** As above, for another user, who has to be {@link #forUser}'s. */
    public StageStatus start(StageSpec spec, LaunchAs as) {
        StageFolder folder = stages.folder(spec.id());
        if (Files.exists(folder.path())) {
            throw new EngineException(FailureReason.BAD_SPEC, "the id " + spec.id() + " is in use already");
        }
        // What another user may see of the host's folders is not this engine's to tell: his own processes go there.
        if (as == null && !Files.isDirectory(spec.workDir())) {
            throw new EngineException(FailureReason.BAD_SPEC, "the working folder " + spec.workDir() + " does not exist");
        }
        Freezer freezer = null;
        try {
            folder.create();
            try {
                freezer = FreezerKind.create(spec.id(), stages.freezers());
            } catch (IOException e) {
                throw new EngineException(FailureReason.NO_FREEZER, e.getMessage(), List.of(), e);
            }
            folder.write(new StageRecord(
                    spec.id().value(),
                    spec.name(),
                    spec.workDir().toString(),
                    spec.command().isEmpty(),
                    State.RUNNING,
                    null,
                    freezer.location(),
                    Instant.now().toString(),
                    null,
                    0,
                    null,
                    List.of(),
                    folder.path().toString()));
            HostProcess init = StageLaunch.start(spec, folder, freezer, as);
            List<String> mounts = Mounts.ofHost(Proc.mountInfo(init.pid()));
            folder.change(r -> r.withInit(init).withMounts(mounts));
            return status(spec.id());
        } catch (EngineException e) {
            abandon(folder, freezer);
            throw e;
        } catch (IOException e) {
            abandon(folder, freezer);
            throw new EngineException(FailureReason.LAUNCH_FAILED, e.getMessage(), List.of(), e);
        }
    }

    private static void abandon(StageFolder folder, Freezer freezer) {
        try {
            if (freezer != null) {
                Stages.killWhole(freezer, null);
            }
            StageFolder.delete(folder.path());
        } catch (IOException e) {
            // The first failure is the one to tell.
        }
    }

    /**
     * The argument vector in front of a command that has to run inside a stage, in its caller's working folder and
     * environment and a session of its own. What it leaves in the background belongs to the stage. Valid until the
     * stage is suspended next; used later, it ends with exit code 125 and changes nothing.
     *
     * @throws EngineException when the stage does not run
     */
    public List<String> enterCommand(StageId id) {
        StageRecord record = stages.settle(id);
        FailureReason reason =
                switch (record.state()) {
                    case RUNNING -> null;
                    case SUSPENDING, RESUMING -> FailureReason.STAGE_BUSY;
                    case SUSPENDED -> FailureReason.STAGE_SUSPENDED;
                    case KILLED -> FailureReason.KILLED;
                    case ENDED, FAILED -> FailureReason.STAGE_ENDED;
                };
        if (reason != null || record.init() == null) {
            throw new EngineException(reason == null ? FailureReason.STAGE_BUSY : reason, id.value());
        }
        return StageLaunch.enter(record.init(), Stages.freezer(record).orElseThrow());
    }

    /**
     * Freezes a stage and seals its image into a file. The stage stays frozen; {@link #commit} or {@link #thaw} must
     * follow.
     *
     * @param archive a file in an existing folder; replaced when it exists
     * @param guard asked once while the stage is frozen
     * @throws SuspendFailedException with the reason; the stage runs on and no file is left
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    public Checkpoint dump(StageId id, Path archive, ImageKey key, DumpGuard guard) {
        return new Suspension(stages, id).dump(archive, key, guard);
    }

    /**
     * Kills the frozen tree of a stage whose image is sealed. Its state is then {@link State#SUSPENDED}.
     *
     * @throws SuspendFailedException {@link FailureReason#NO_CHECKPOINT}, {@link FailureReason#IMAGE_MISSING} (still
     *     frozen), or {@link FailureReason#ENTERING} when a process came in after the dump (the stage runs on then, and
     *     the archive is removed)
     */
    public void commit(StageId id) {
        new Suspension(stages, id).commit();
    }

    /**
     * Lets a dumped stage run on and removes its archive.
     *
     * @throws SuspendFailedException {@link FailureReason#NO_CHECKPOINT}
     */
    public void thaw(StageId id) {
        new Suspension(stages, id).thaw();
    }

    /** {@link #dump} without a guard, then {@link #commit}. */
    public SuspendReport suspend(StageId id, Path archive, ImageKey key) {
        long begun = System.nanoTime();
        Checkpoint checkpoint = dump(id, archive, key, DumpGuard.NONE);
        long sealed = System.nanoTime();
        commit(id);
        long end = System.nanoTime();
        return new SuspendReport(
                checkpoint,
                Duration.ofNanos(end - sealed).toMillis(),
                Duration.ofNanos(end - begun).toMillis());
    }

    /**
     * Restores a stage from its archive, under the id that it had. The archive is kept.
     *
     * @throws ResumeFailedException with the reason; nothing of the stage runs, and it can be tried again
     */
    public ResumeReport resume(Path archive, ImageKey key) {
        return new Resumption(stages, archive, key).resume();
    }

    /**
     * What is true of a stage now.
     *
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    public StageStatus status(StageId id) {
        return stages.status(id);
    }

    /** All stages of this home, by id. */
    public List<StageStatus> list() {
        List<StageStatus> known = new ArrayList<>();
        for (StageId id : stages.ids()) {
            try {
                known.add(stages.status(id));
            } catch (EngineException e) {
                // Forgotten by somebody else since the ids were read.
                if (e.reason() != FailureReason.UNKNOWN_STAGE) {
                    throw e;
                }
            }
        }
        return List.copyOf(known);
    }

    /**
     * Waits for the end of a stage, through suspensions.
     *
     * @return the command's exit code, 128 + n for signal n; 137 when the stage was killed
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    public int await(StageId id) throws InterruptedException {
        while (true) {
            StageStatus now = status(id);
            switch (now.state()) {
                case ENDED, KILLED, FAILED:
                    return now.exitCode() == null ? KILLED_BY_SIGNAL : now.exitCode();
                default:
                    Thread.sleep(POLL.toMillis());
            }
        }
    }

    /**
     * Ends a stage in whatever state it is and waits until nothing of it is left but its folder. A suspended stage's
     * archive stays where it is, but cannot be resumed here any more. Without effect on a stage that ended.
     *
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    public void kill(StageId id) {
        StageRecord record = stages.settle(id);
        if (record.state() == State.ENDED || record.state() == State.FAILED) {
            return;
        }
        StageFolder folder = stages.folder(id);
        try {
            folder.change(r -> r.withState(State.KILLED));
            Optional<Freezer> freezer = Stages.freezer(record);
            if (freezer.isPresent()) {
                Stages.killWhole(freezer.get(), record.init());
            }
            Suspension.deleteImages(folder);
            folder.change(r -> r.withInit(null).withFreezer(null));
        } catch (IOException e) {
            throw new UncheckedIOException("the stage " + id + " could not be killed", e);
        }
    }

    /**
     * Removes the folder of a stage that ended, was killed, or is suspended and goes on elsewhere. Archives stay.
     *
     * @throws EngineException {@link FailureReason#STAGE_RUNS} or {@link FailureReason#UNKNOWN_STAGE}
     */
    public void forget(StageId id) {
        StageRecord record = stages.settle(id);
        switch (record.state()) {
            case RUNNING, SUSPENDING, RESUMING:
                throw new EngineException(FailureReason.STAGE_RUNS, id.value());
            default:
        }
        try {
            Optional<Freezer> freezer = Stages.freezer(record);
            if (freezer.isPresent()) {
                Stages.killWhole(freezer.get(), record.init());
            }
            StageFolder.delete(stages.folder(id).path());
        } catch (IOException e) {
            throw new UncheckedIOException("the folder of " + id + " cannot be removed", e);
        }
    }
}
