package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.Extent;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.Leftover;
import io.jenkins.plugins.preemptible.engine.api.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.SuspendReport;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.freeze.HelperFreezer;
import io.jenkins.plugins.preemptible.engine.home.CleanUp;
import io.jenkins.plugins.preemptible.engine.home.KillAndForget;
import io.jenkins.plugins.preemptible.engine.home.LocalImages;
import io.jenkins.plugins.preemptible.engine.home.StageLaunch;
import io.jenkins.plugins.preemptible.engine.home.Stages;
import io.jenkins.plugins.preemptible.engine.host.HostMemory;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.InsideReader;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.check.HostCheck;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.preflight.Preflight;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedPart;
import io.jenkins.plugins.preemptible.engine.privileged.install.InstalledLevel;
import io.jenkins.plugins.preemptible.engine.resume.ArchiveResume;
import io.jenkins.plugins.preemptible.engine.resume.LocalResume;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import io.jenkins.plugins.preemptible.engine.suspend.CommitOrThaw;
import io.jenkins.plugins.preemptible.engine.suspend.Dumping;
import io.jenkins.plugins.preemptible.engine.suspend.Freezing;
import io.jenkins.plugins.preemptible.engine.suspend.MemoryGuard;
import io.jenkins.plugins.preemptible.engine.suspend.SuspendAttempt;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * All stages of this host under one home folder: starts, suspends, resumes and ends them.
 *
 * <ol>
 *   <li>A stage runs in IPC, PID and mount namespaces and a control group of its own, under an init that stays until
 *       its last process ended.
 *   <li>{@link #freeze} suspends it in constant time, {@link #dump} images and seals it, then {@link #commit} or
 *       {@link #thaw} decides; {@link #resume} brings it back under the same id.
 *   <li>Everything known is on disk, so that another engine of the same home, in any process, goes on with it.
 * </ol>
 *
 * <p>All methods block. Safe for any threads and processes: one dump, commit, thaw or resume of a stage runs at a time
 * ({@link FailureReason#STAGE_BUSY} for the others); {@link #kill} and the queries never wait for them. Every refusal
 * is an {@link EngineException}; {@link UncheckedIOException} tells that the home folder itself cannot be used.
 */
public class Engine {

    private static final int KILLED_BY_SIGNAL = 128 + 9;
    private static final Logger LOG = Logger.getLogger(Engine.class.getName());
    private static final Duration POLL = Duration.ofMillis(25);

    /** One for all engines of this process: agents open an engine for every verb, and {@code criu check} takes its time. */
    private static final CriuSearch INSTALLED = new CriuSearch();

    private final Stages stages;

    private Engine(Stages stages) {
        this.stages = stages;
    }

    /** For an engine that has every verb done by somebody with more rights. */
    protected Engine() {
        this(null);
    }

    /**
     * Opens a home folder, which is made for its owner only when it is not there.
     *
     * @throws UncheckedIOException when it cannot be made
     * @throws EngineException {@link FailureReason#NO_ANSWER}, for a user without root's rights
     */
    public static Engine open(Path home) {
        if (!HostProcess.isRoot()) {
            Optional<PrivilegedPart> privileged = PrivilegedPart.find();
            if (privileged.isPresent()) {
                InstalledLevel level = InstalledLevel.of(privileged.get());
                // Without images, too: a stage of this level is one of the same kind whether it is dumped or not.
                return level.criu()
                        .map(criu -> open(
                                home,
                                CriuSearch.ofHelper(criu),
                                FreezerKind.HELPER,
                                LocalImages.of(System.getenv()),
                                makesCheckpoints()))
                        .orElseGet(() -> SudoEngine.open(home, privileged.get()));
            }
        }
        return open(home, INSTALLED, null, LocalImages.of(System.getenv()), makesCheckpoints());
    }

    /** As above, with these criu programs and this kind of freezer only (null for any). */
    static Engine open(Path home, CriuSearch criu, FreezerKind freezers, LocalImages localImages) {
        return open(home, criu, freezers, localImages, true);
    }

    static Engine open(Path home, CriuSearch criu, FreezerKind freezers, LocalImages localImages, boolean checkpoints) {
        try {
            Path absolute = home.toAbsolutePath().normalize();
            if (!Files.isDirectory(absolute)) {
                Files.createDirectories(
                        absolute, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            }
            return new Engine(new Stages(absolute.toRealPath(), criu, freezers, localImages, checkpoints));
        } catch (IOException e) {
            throw new UncheckedIOException("the home folder " + home + " cannot be made", e);
        }
    }

    /**
     * Whether the administrator leaves images allowed: PREEMPTIBLE_CHECKPOINTS=off, in this process's environment or as
     * a system property, keeps suspended stages in memory only.
     */
    protected static boolean makesCheckpoints() {
        return makesCheckpoints(System.getenv()) && !"off".equals(System.getProperty("PREEMPTIBLE_CHECKPOINTS"));
    }

    static boolean makesCheckpoints(Map<String, String> environment) {
        return !environment.getOrDefault("PREEMPTIBLE_CHECKPOINTS", "").equals("off");
    }

    /**
     * Whether this engine makes images. One that does not keeps a suspended stage frozen until it goes on: its
     * {@link #freeze} answers {@link Frozen#memoryOnly} and refuses with {@link FailureReason#MEMORY_SHORT} where
     * another one's executor would be free after the dump only; its {@link #dump} refuses with
     * {@link FailureReason#MEMORY_ONLY}.
     */
    public boolean checkpoints() {
        return stages.checkpoints();
    }

    /**
     * For the {@link #freeze} of an engine that makes no images, before anything is frozen.
     *
     * @param floorBytes as of {@link FreezeRequest}; 0 = it is not looked at
     * @throws SuspendFailedException {@link FailureReason#MEMORY_SHORT}
     */
    protected static void requireMemory(long floorBytes) {
        MemoryGuard.require(HostMemory.now(), floorBytes);
    }

    /** For the {@link #dump} of an engine that makes no images: the refusal, once the stage is as the caller wants it. */
    protected final SuspendFailedException refusedDump(StageId id, IfDumpFails ifFails) {
        SuspendFailedException refusal = new SuspendFailedException(FailureReason.MEMORY_ONLY, id.value());
        try {
            if (ifFails == IfDumpFails.THAW && status(id).state() == State.SUSPENDING) {
                thaw(id);
            }
        } catch (EngineException e) {
            refusal.addSuppressed(e);
        }
        return refusal;
    }

    /** Tries what suspending needs on this host. */
    public HostReport check() {
        if (stages.freezers() == FreezerKind.HELPER) {
            return SudoEngine.report(PrivilegedPart.find().orElseThrow(), stages.checkpoints());
        }
        HostReport report = new HostCheck(stages.criu(), stages.checkpoints()).report();
        return HostProcess.isRoot() ? report : SudoEngine.withRemains(report);
    }

    /**
     * Starts a stage and returns when its init is about to run the command.
     *
     * @throws EngineException {@link FailureReason#BAD_SPEC}, {@link FailureReason#LAUNCH_FAILED},
     *     {@link FailureReason#NO_FREEZER}; nothing is left of it then
     */
    public StageStatus start(StageSpec spec) {
        StageFolder folder = stages.folder(spec.id());
        if (Files.exists(folder.path())) {
            throw new EngineException(FailureReason.BAD_SPEC, "the id " + spec.id() + " is in use already");
        }
        if (!Files.isDirectory(spec.workDir())) {
            throw new EngineException(
                    FailureReason.BAD_SPEC, "the working folder " + spec.workDir() + " does not exist");
        }
        requireOutside(spec.preserved());
        Freezer freezer = null;
        HostProcess init = null;
        try {
            folder.create();
        } catch (IOException e) {
            throw new EngineException(FailureReason.LAUNCH_FAILED, e.getMessage(), List.of(), e);
        }
        try {
            // As long as it is held, whoever finds a record without an init knows that this one still starts it.
            try (StageFolder.Held lock = stages.lock(spec.id())) {
                freezer = freezer(spec.id());
                folder.write(StageJson.starting(
                        spec,
                        freezer.location(),
                        Instant.now().toString(),
                        folder.path().toString()));
                init = StageLaunch.start(spec, folder, freezer);
                HostProcess started = init;
                // As they were before the command could mount anything: that is the stage's own.
                List<String> mounts = Mounts.ofHost(Proc.lines(folder.path().resolve("mounts")));
                folder.change(r -> r.withInit(started).withMounts(mounts));
            }
            return status(spec.id());
        } catch (RuntimeException e) {
            abandon(folder, freezer, init);
            throw e;
        } catch (IOException e) {
            abandon(folder, freezer, init);
            throw new EngineException(FailureReason.LAUNCH_FAILED, e.getMessage(), List.of(), e);
        }
    }

    // Put back, the records would be those of an earlier time.
    private void requireOutside(List<Path> preserved) {
        for (Path path : preserved) {
            if (stages.home().toAbsolutePath().normalize().startsWith(path.normalize())) {
                throw new EngineException(
                        FailureReason.BAD_SPEC,
                        "the preserved path " + path + " holds the stages' own folder " + stages.home());
            }
        }
    }

    private Freezer freezer(StageId id) {
        try {
            return FreezerKind.create(id, stages.freezers());
        } catch (IOException e) {
            throw new EngineException(FailureReason.NO_FREEZER, e.getMessage(), List.of(), e);
        }
    }

    private static void abandon(StageFolder folder, Freezer freezer, HostProcess init) {
        try {
            if (freezer != null) {
                Stages.killWhole(freezer, init);
            }
            StageFolder.delete(folder.path());
        } catch (IOException e) {
            // The first failure is the one to tell.
        }
    }

    /**
     * How a command gets into a stage, in its caller's working folder and environment and a session of its own. What it
     * leaves in the background belongs to the stage. Valid until the stage is suspended next; used later, it ends with
     * exit code 125 and changes nothing.
     *
     * @throws EngineException when the stage does not run
     */
    public EnterCommand enterCommand(StageId id) {
        StageJson record = enterable(id);
        return StageLaunch.enter(id, record.init(), Stages.freezer(record).orElseThrow());
    }

    private StageJson enterable(StageId id) {
        StageJson record = stages.settle(id);
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
        return record;
    }

    /**
     * Looks for what ties a stage to the outside so that it cannot be dumped; it runs on untouched.
     *
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}, or when no process of it exists
     */
    public PreflightReport preflight(StageId id) {
        StageJson record = stages.settle(id);
        FailureReason refusal = SuspendAttempt.refusal(record.state());
        if (refusal != null || record.init() == null) {
            throw new EngineException(refusal == null ? FailureReason.STAGE_BUSY : refusal, id.value());
        }
        return inspect(record);
    }

    PreflightReport inspect(StageJson record) {
        Freezer freezer = Stages.freezer(record).orElseThrow();
        StageFolder folder = stages.folder(StageId.parse(record.id()));
        try (InsideReader inside = inside(freezer, record)) {
            PreflightReport seen = Preflight.of(new Preflight.Subject(
                    record.init(),
                    freezer.pids(record.init()),
                    record.mounts(),
                    record.connections(),
                    folder.images(),
                    inside));
            return checkpoints() ? seen : seen.withoutDump();
        } catch (IOException e) {
            throw new UncheckedIOException("the processes of " + record.id() + " cannot be listed", e);
        }
    }

    // Nobody outside of the stage's user namespace may look into its processes.
    private static InsideReader inside(Freezer freezer, StageJson record) {
        return freezer instanceof HelperFreezer helper
                ? helper.part().inspect(helper.id(), record.init().pid())
                : InsideReader.NONE;
    }

    /**
     * Stops a stage where it is. It counts as suspended from here on, its state is {@link State#SUSPENDING}, and
     * {@link #dump} or {@link #thaw} must follow. Takes the same time at any size of its memory.
     *
     * <p>The preflight comes first: an obstacle refuses before anything is stopped. One that is frozen already, since
     * whoever suspended it died, is taken over.
     *
     * @throws SuspendFailedException with the reason, of the worst obstacle for instance; the stage runs on;
     *     {@link FailureReason#MEMORY_SHORT} only where no images are made
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    public Frozen freeze(StageId id, FreezeRequest request) {
        return new Freezing(new SuspendAttempt(stages, id), this::inspect).freeze(request);
    }

    /**
     * Dumps a frozen stage and seals its image into a file, at idle priority when its executor was given away at the
     * freeze. The stage stays frozen; {@link #commit} or {@link #thaw} must follow.
     *
     * @param archive a file in an existing folder; replaced when it exists
     * @param ifFails what becomes of the stage then; no file is left in either case
     * @throws SuspendFailedException with the reason; {@link FailureReason#GOES_ON} when it was thawed meanwhile,
     *     {@link FailureReason#NO_CHECKPOINT} when it is not frozen, {@link FailureReason#MEMORY_ONLY} when this engine
     *     makes no images, {@link FailureReason#NOT_RESTORABLE} when the trial of the image failed, {@link
     *     FailureReason#TRIAL_TIMEOUT} when it was not through in time
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    public Checkpoint dump(StageId id, Path archive, ImageKey key, IfDumpFails ifFails) {
        return dump(id, archive, key, ifFails, Extent.FULL);
    }

    /**
     * The same; {@link Extent#DIFFERENCE} asks for what changed since the last full image only, which is good where that
     * stays beside the new archive.
     */
    public Checkpoint dump(StageId id, Path archive, ImageKey key, IfDumpFails ifFails, Extent extent) {
        if (!checkpoints()) {
            throw refusedDump(id, ifFails);
        }
        return new Dumping(new SuspendAttempt(stages, id)).dump(archive, key, ifFails, extent);
    }

    /**
     * Kills the frozen tree of a stage whose image is sealed. Its state is then {@link State#SUSPENDED}. CRIU's files
     * stay for the next resume on this host when there is room for them.
     *
     * @throws SuspendFailedException {@link FailureReason#NO_CHECKPOINT}; {@link FailureReason#IMAGE_MISSING} or
     *     {@link FailureReason#NOT_RESTORABLE}, when somebody has changed a file that the stage has open for instance (still
     *     frozen); or {@link FailureReason#ENTERING} when a process came in after the dump (the stage runs on then, and
     *     the archive is removed)
     */
    public void commit(StageId id) {
        new CommitOrThaw(new SuspendAttempt(stages, id)).commit();
    }

    /**
     * Lets a frozen stage run on and removes its archive. A dump of it that is under way, in whatever process, gives up
     * first.
     *
     * @throws SuspendFailedException {@link FailureReason#NO_CHECKPOINT}
     */
    public void thaw(StageId id) {
        new CommitOrThaw(new SuspendAttempt(stages, id)).thaw();
    }

    /** {@link #freeze} without a guard, {@link #dump}, then {@link #commit}; a failure leaves the stage running. */
    public SuspendReport suspend(StageId id, Path archive, ImageKey key) {
        return suspend(id, archive, key, Extent.FULL);
    }

    /** The same, of this extent; see {@link #dump(StageId, Path, ImageKey, IfDumpFails, Extent)}. */
    public SuspendReport suspend(StageId id, Path archive, ImageKey key, Extent extent) {
        if (!checkpoints()) {
            throw new SuspendFailedException(FailureReason.MEMORY_ONLY, id.value());
        }
        long begun = System.nanoTime();
        Frozen frozen = freeze(id, FreezeRequest.plain());
        Checkpoint checkpoint = dump(id, archive, key, IfDumpFails.THAW, extent);
        long sealed = System.nanoTime();
        commitOrThaw(id);
        long end = System.nanoTime();
        return new SuspendReport(
                frozen,
                checkpoint,
                Duration.ofNanos(end - sealed).toMillis(),
                Duration.ofNanos(end - begun).toMillis());
    }

    // Whoever asks for all of it at once has no hand in between: a stage whose archive vanished must not stay frozen.
    private void commitOrThaw(StageId id) {
        try {
            commit(id);
        } catch (EngineException e) {
            try {
                if (status(id).state() == State.SUSPENDING) {
                    thaw(id);
                }
            } catch (EngineException another) {
                e.addSuppressed(another);
            }
            throw e;
        }
    }

    /**
     * Lets a suspended stage go on under the id that it had, from the best tier. The archive is kept, unless the stage
     * was still frozen: then the archive is of no more use.
     *
     * @throws ResumeFailedException with the reason; nothing of the stage runs, and it can be tried again
     */
    public ResumeReport resume(Path archive, ImageKey key) {
        return new ArchiveResume(stages, archive, key).resume();
    }

    /**
     * Lets a suspended stage go on from what is left of it on this host: its frozen tree, or CRIU's own files.
     *
     * @return empty when there is neither, or it cannot be used: then the archive has to be brought for {@link #resume}
     * @throws ResumeFailedException when the stage is not suspended
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    public Optional<ResumeReport> resumeHere(StageId id) {
        return new LocalResume(stages, id).resume();
    }

    /**
     * What is true of a stage now.
     *
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    public StageStatus status(StageId id) {
        return stages.status(id);
    }

    /** All stages of this home, by id; those whose record cannot be read are left out, the log names them. */
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
            } catch (UncheckedIOException e) {
                LOG.log(
                        Level.WARNING,
                        e,
                        () -> "nothing can be told of the stage " + id + "; kill and forget remove it");
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
     * @throws UncheckedIOException when processes are left; or none is, and only that cannot be written down
     */
    public void kill(StageId id) {
        new KillAndForget(stages, id).kill();
    }

    /**
     * Removes the folder of a stage that ended, was killed, or is suspended and goes on elsewhere. Archives stay. One
     * whose record cannot be read goes too, if nothing runs in its control group.
     *
     * @throws EngineException {@link FailureReason#STAGE_RUNS} or {@link FailureReason#UNKNOWN_STAGE}
     */
    public void forget(StageId id) {
        new KillAndForget(stages, id).forget();
    }

    /**
     * Removes what is left of stages that nobody has any more.
     *
     * @param dryRun only tells
     * @param imageAge archives of stages that were killed go, too, when they are as old as this; null = they stay
     * @return what was removed, or would be
     */
    public List<Leftover> clean(boolean dryRun, Duration imageAge) {
        return new CleanUp(this::list, this::forget, Optional.ofNullable(stages)).clean(dryRun, imageAge);
    }
}
