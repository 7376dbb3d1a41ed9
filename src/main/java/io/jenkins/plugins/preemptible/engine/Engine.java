package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.Extent;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.api.Leftover;
import io.jenkins.plugins.preemptible.engine.api.PausedContainers;
import io.jenkins.plugins.preemptible.engine.api.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.SealRequest;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.SuspendReport;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import io.jenkins.plugins.preemptible.engine.image.Arrival;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.live.LiveImage;
import io.jenkins.plugins.preemptible.engine.live.LiveRequest;
import io.jenkins.plugins.preemptible.engine.part.StageVerbs;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * All stages of this host under one home folder: starts, suspends, resumes and ends them.
 *
 * <ol>
 *   <li>A stage runs in IPC, PID and mount namespaces and a control group of its own. Its init stays until the stage's
 *       last process has ended.
 *   <li>{@link #freeze} suspends a stage in constant time, {@link #dump} makes a sealed image of it. Then
 *       {@link #commit} kills the frozen processes, or {@link #thaw} lets them run.
 *   <li>{@link #resume} brings the stage back under the same id.
 *   <li>All that is known is on disk: another engine of the same home, in any process, can take the next step.
 * </ol>
 *
 * <p>All methods block. Safe for any threads and processes: one dump, commit, thaw or resume of a stage runs at a time
 * ({@link FailureReason#STAGE_BUSY} for the others); {@link #kill} and the queries never wait for them. Every refusal
 * is an {@link EngineException}; {@link UncheckedIOException} says that the home folder itself cannot be used.
 */
public interface Engine extends StageVerbs {

    /**
     * Opens a home folder. A missing one is made, readable by its owner only.
     *
     * @return the engine for the rights of this process: as root, through the privileged part, or one that can do
     *     nothing but say in {@link #check} what is missing
     * @throws UncheckedIOException when the folder cannot be made
     * @throws EngineException {@link FailureReason#NO_ANSWER}, for a user without root's rights
     */
    static Engine open(Path home) {
        return Engines.open(home);
    }

    /**
     * Whether this engine makes images. An engine that makes none keeps a suspended stage frozen until it is resumed:
     * {@link #freeze} answers {@link Frozen#memoryOnly} and refuses with {@link FailureReason#MEMORY_SHORT} when memory
     * is short; {@link #dump} refuses with {@link FailureReason#MEMORY_ONLY}.
     */
    @Override
    boolean checkpoints();

    /** Tries on this host what suspending needs. Takes less than a second and leaves nothing behind. */
    HostReport check();

    /**
     * Starts a stage and returns when its init is about to run the command.
     *
     * @throws EngineException {@link FailureReason#BAD_SPEC}, {@link FailureReason#LAUNCH_FAILED},
     *     {@link FailureReason#NO_FREEZER}; nothing of the stage is left then
     */
    StageStatus start(StageSpec spec);

    /**
     * Starts a sandbox whose processes live inside of a running container of Docker or Podman, with the rights that its program
     * gives to what it starts there. It is suspended and resumed as any other stage, in this very container only.
     *
     * @param spec without a command and without preserved paths
     * @param marks variables with their values that the container was started with, as {@link #tellContainers} has them
     * @throws EngineException {@link FailureReason#CONTAINER_NOT_ENTERED} with the reason, {@link FailureReason#BAD_SPEC},
     *     {@link FailureReason#NO_FREEZER}; nothing of the stage is left then, and the container is as before
     */
    @Override
    default StageStatus startIn(StageSpec spec, ContainerRef container, List<String> marks) {
        throw new EngineException(
                FailureReason.CONTAINER_NOT_ENTERED, container.shown() + ": the agent's process is not root");
    }

    /**
     * How a command enters a stage: in its caller's working folder and environment, and in a session of its own. Its
     * background processes belong to the stage. Valid until the stage is suspended next; used later, the command ends
     * with exit code 125 and changes nothing.
     *
     * @throws EngineException when the stage does not run
     */
    @Override
    EnterCommand enterCommand(StageId id);

    /**
     * Finds the obstacles: what ties a stage to the outside so that it cannot be dumped. The stage runs meanwhile.
     *
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}, or when the stage has no processes
     */
    PreflightReport preflight(StageId id);

    /**
     * Stops a stage where it is. It counts as suspended from now on, its state is {@link State#SUSPENDING}, and
     * {@link #dump} or {@link #thaw} must follow. The time does not depend on the size of its memory.
     *
     * <p>The preflight comes first: an obstacle refuses before anything is stopped. A stage that is frozen already,
     * because the process that froze it died, is taken over.
     *
     * @throws SuspendFailedException with the reason, such as the worst obstacle's; the stage keeps running;
     *     {@link FailureReason#MEMORY_SHORT} only when no images are made
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    @Override
    Frozen freeze(StageId id, FreezeRequest request);

    /** {@link #dump(StageId, Path, ImageKey, SealRequest)} of a full image, for which nobody waits. */
    default Checkpoint dump(StageId id, Path archive, ImageKey key, IfDumpFails ifFails) {
        return dump(id, archive, key, SealRequest.full(ifFails));
    }

    /**
     * Dumps a frozen stage and seals its image into a file; at idle priority when the stage's executor was released at
     * the freeze, unless somebody waits for the image. The stage stays frozen; {@link #commit} or {@link #thaw} must follow.
     *
     * @param archive a file in an existing folder; replaced when it exists
     * @throws SuspendFailedException with the reason; {@link FailureReason#GOES_ON} when the stage was thawed
     *     meanwhile, {@link FailureReason#NO_CHECKPOINT} when it is not frozen, {@link FailureReason#MEMORY_ONLY} when
     *     this engine makes no images, {@link FailureReason#NOT_RESTORABLE} when the trial of the image failed, {@link
     *     FailureReason#TRIAL_TIMEOUT} when the trial took too long
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    Checkpoint dump(StageId id, Path archive, ImageKey key, SealRequest request);

    /**
     * Kills the frozen processes of a stage whose image is sealed. Its state is then {@link State#SUSPENDED}. CRIU's
     * files stay for the next resume on this host when there is room for them.
     *
     * @throws SuspendFailedException {@link FailureReason#NO_CHECKPOINT} or {@link FailureReason#IMAGE_MISSING};
     *     {@link FailureReason#NOT_RESTORABLE} when another process changed a file that the stage has open, for
     *     instance (the stage is still frozen); {@link FailureReason#ENTERING} when a process entered after the dump
     *     (the stage runs again, and the archive is removed)
     */
    @Override
    void commit(StageId id);

    /**
     * Lets a frozen stage run again and removes its archive. A dump of it that is under way, in any process, is
     * cancelled first. One that has lost a process since its dump is not thawed, since its image has the process: it is
     * suspended afterwards.
     *
     * @throws SuspendFailedException {@link FailureReason#NO_CHECKPOINT} when the stage is not frozen, or cannot be thawed
     *     for that
     */
    @Override
    void thaw(StageId id);

    /** {@link #suspend(StageId, Path, ImageKey, Extent)} into a full image. */
    default SuspendReport suspend(StageId id, Path archive, ImageKey key) {
        return suspend(id, archive, key, Extent.FULL);
    }

    /**
     * {@link #freeze} without a guard, {@link #dump}, then {@link #commit}.
     *
     * @param archive as of {@link #dump}
     * @param extent as of {@link SealRequest}
     * @throws SuspendFailedException of the step that failed; the stage keeps running
     */
    SuspendReport suspend(StageId id, Path archive, ImageKey key, Extent extent);

    /**
     * Makes an image of a running stage and a consistent copy of its files. The stage keeps running; it stands still for
     * as long as CRIU writes its memory. The image resumes on a host that does not know the stage.
     *
     * @throws SuspendFailedException with the reason; {@link FailureReason#STOP_TOO_LONG}, {@link
     *     FailureReason#UNPACKABLE_FILES}, {@link FailureReason#NO_RIGHTS} without root's rights; the stage runs on as
     *     before, and no file is left
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    LiveImage checkpoint(StageId id, LiveRequest request);

    /**
     * Resumes a suspended stage under its own id, from the fastest source that this host has: the frozen processes,
     * CRIU's files or the archive. The archive is kept, unless the stage was still frozen: then it is not needed.
     *
     * @throws ResumeFailedException with the reason; nothing of the stage runs, and the resume can be tried again
     */
    ResumeReport resume(Path archive, ImageKey key);

    /**
     * Unpacks an archive while it still arrives, so that {@link #resume} of it soon after does not have to. May do nothing,
     * and keeps nothing over the end of this process. {@link #dropUnpacked} removes what is not going to be resumed.
     *
     * @param cancelled asked all along; also an interrupt ends it
     * @throws IOException when it does not arrive, or is not authentic as a whole: {@link #resume} has the reason
     */
    default void unpackAhead(Path archive, ImageKey key, Arrival arrival, BooleanSupplier cancelled)
            throws IOException {}

    /** Removes what {@link #unpackAhead} has made of that archive; without effect where there is nothing. */
    default void dropUnpacked(Path archive) throws IOException {}

    /**
     * Resumes a suspended stage from what this host has of it: its frozen processes, or CRIU's files.
     *
     * @param otherwise {@link LastResort#NONE}: why CRIU's files cannot be restored is thrown, and they are kept
     * @return empty when there is neither, or, with {@link LastResort#ARCHIVE}, when it cannot be used: {@link #resume}
     *     with the archive is needed then
     * @throws ResumeFailedException when the stage is not suspended, or as said above
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    Optional<ResumeReport> resumeHere(StageId id, LastResort otherwise);

    /** As {@link #resumeHere(StageId, LastResort)} with {@link LastResort#ARCHIVE}. */
    default Optional<ResumeReport> resumeHere(StageId id) {
        return resumeHere(id, LastResort.ARCHIVE);
    }

    /**
     * The state of a stage now.
     *
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    @Override
    StageStatus status(StageId id);

    /** All stages of this home, by id. Stages whose record cannot be read are left out; the log names them. */
    @Override
    List<StageStatus> list();

    /**
     * Waits for the end of a stage, through suspensions.
     *
     * @return the command's exit code, 128 + n for signal n; 137 when the stage was killed
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    int await(StageId id) throws InterruptedException;

    /**
     * Ends a stage in any state and waits until only its folder is left. A suspended stage's archive stays where it is,
     * but cannot be resumed here any more. Without effect on a stage that has ended.
     *
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     * @throws UncheckedIOException when processes are left, or when none is left but that cannot be recorded
     */
    @Override
    void kill(StageId id);

    /**
     * Removes the folder of a stage that ended, was killed, or is suspended and will be resumed elsewhere. Archives
     * stay. The folder of a stage whose record cannot be read is removed too, if nothing runs in its control group.
     *
     * @throws EngineException {@link FailureReason#STAGE_RUNS} or {@link FailureReason#UNKNOWN_STAGE}
     */
    @Override
    void forget(StageId id);

    /**
     * Removes the leftovers of stages that are over.
     *
     * @param dryRun only reports
     * @param imageAge archives of killed stages are removed too when they are as old as this; null = they stay
     * @return what was removed, or would be
     */
    List<Leftover> clean(boolean dryRun, Duration imageAge);

    /**
     * Tells in which containers of Docker or Podman steps of the stage run now, beside its own tree. They are paused when the
     * stage is frozen and run again when it does; such a stage is never dumped. A container that was not started with the
     * marks, or not on this host, is never touched, and the stage not frozen.
     *
     * @param marks variables with their values, as {@code NAME=value}; at least one, at most ten
     * @throws EngineException {@link FailureReason#UNKNOWN_STAGE}
     */
    @Override
    default void tellContainers(StageId id, List<ContainerRef> containers, List<String> marks) {
        throw new UnsupportedOperationException();
    }

    /** What {@link #tellContainers} has told last. */
    @Override
    default List<ContainerRef> containersOf(StageId id) {
        return List.of();
    }

    /** Which of them are paused with the stage, also when it is over and one could not be let run again. */
    default PausedContainers pausedContainers(StageId id) {
        return PausedContainers.NONE;
    }

    /** Memory that the processes in the stage's containers hold, shared pages counted for each; 0 without containers. */
    default long containedBytes(StageId id) {
        return 0;
    }

    /**
     * Kills what the stage has started in one of its containers, and lets the container run again if it is paused. The stage
     * has it no more then. {@link #kill} does so in all containers that are paused, and removes those that are younger than
     * the stage.
     *
     * @throws EngineException {@link FailureReason#CONTAINER_UNREACHABLE}
     */
    @Override
    default void killInContainer(StageId id, ContainerRef container) {}

    /**
     * Gives a running stage of the host a part that lives in a container, as {@link #startIn} makes a stage; harmless when it
     * has one there already. While only that part has processes of its own, it is what {@link #freeze}, {@link #dump} and the
     * others mean by the stage: it is dumped and restored in that container, and the rest of the stage, which idles, stays
     * as it is. While both have, the stage can be frozen only. A part in another container is ended when nothing runs in it.
     *
     * @param marks as {@link #startIn} has them
     * @return how a command enters the part, a {@link EnterCommand.Contained}; valid as {@link #enterCommand} says
     * @throws EngineException as {@link #startIn} says; the stage is as before then
     */
    default EnterCommand enterContainer(StageId id, ContainerRef container, List<String> marks) {
        throw new EngineException(
                FailureReason.CONTAINER_NOT_ENTERED, container.shown() + ": the agent's process is not root");
    }

    /** How a command enters that part; empty where there is none that runs. */
    default Optional<EnterCommand> containedCommand(StageId id) {
        return Optional.empty();
    }

    /** Ends that part with all that runs in it, before its container ends; without effect where there is none. */
    default void leaveContainer(StageId id) {}
}
