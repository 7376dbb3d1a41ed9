package io.jenkins.plugins.preemptible.lifecycle.suspend;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Executor;
import hudson.model.Run;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.event.StageRefused;
import io.jenkins.plugins.preemptible.event.StageSealed;
import io.jenkins.plugins.preemptible.event.StageSuspended;
import io.jenkins.plugins.preemptible.lifecycle.Resumption;
import io.jenkins.plugins.preemptible.lifecycle.Sealing;
import io.jenkins.plugins.preemptible.lifecycle.ToldInMemoryOnly;
import io.jenkins.plugins.preemptible.lifecycle.agents.Measured;
import io.jenkins.plugins.preemptible.lifecycle.image.ArchiveRoom;
import io.jenkins.plugins.preemptible.lifecycle.image.SealingProgress;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.EnclosingTimeouts;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StageMarks;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsInFlight;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.view.LoggedName;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Suspends one running stage: from the decision to the executor's release.
 *
 * <ol>
 *   <li>Looks once more whether the stage may be suspended at this moment: every step in it an external process. Then
 *       freezes it, and looks again.
 *   <li>Where the agent has memory enough, that is all: the state is saved, the executor goes to the preemptor, and
 *       {@link Sealing} makes the image meanwhile. Else the image is made, sealed and archived first, and the frozen tree
 *       is killed before the executor goes.
 *   <li>An agent that makes no images refuses in the latter case; in the former the stage stays in its memory.
 *   <li>Whatever fails before the state is saved thaws the tree: the stage runs on and the preemptor waits.
 * </ol>
 *
 * Runs on {@link StageThreads}; holds the stage's {@code operation} lock all along.
 */
public final class Suspension {

    private static final Logger LOGGER = Logger.getLogger(Suspension.class.getName());
    /** Between two `sh` steps, or beside a checkout: worth another look soon, and not worth a line in the log. */
    private static final long BUSY_RETRY_MILLIS = TimeUnit.SECONDS.toMillis(1);
    /** A connection or a lock that is there now may be gone by then. */
    private static final long PASSING_RETRY_MILLIS = Long.getLong(
            "io.jenkins.plugins.preemptible.lifecycle.Suspension.passingRetryMillis", TimeUnit.SECONDS.toMillis(30));

    private static final Set<String> JUST_BUSY = Set.of("OBJECTION", "STAGE_BUSY", "ENTERING");

    /**
     * For whom and why.
     *
     * @param preemptor for people; null when the executor is for nobody in particular
     * @param preemptorJob full name of its job, by which it is known who may see that; null when it has none
     * @param stillWanted asked before the executor is given away, and before and after an image that has to be made first:
     *     false lets the stage run on
     * @param beforeRelease run right before the executor is free, so that nobody slips in
     * @param sealAfterMillis how long it may stay frozen before its image is made; 0 = it is made at once
     * @param requestedNanos when this was decided, by {@link System#nanoTime}
     */
    public record Request(
            @CheckForNull String preemptor,
            @CheckForNull String preemptorJob,
            Reason reason,
            BooleanSupplier stillWanted,
            Runnable beforeRelease,
            long sealAfterMillis,
            long requestedNanos) {

        /** Decided now. */
        public Request(
                @CheckForNull String preemptor,
                @CheckForNull String preemptorJob,
                Reason reason,
                BooleanSupplier stillWanted,
                Runnable beforeRelease,
                long sealAfterMillis) {
            this(preemptor, preemptorJob, reason, stillWanted, beforeRelease, sealAfterMillis, System.nanoTime());
        }

        /** Its image is made at once. */
        public Request(
                @CheckForNull String preemptor,
                @CheckForNull String preemptorJob,
                Reason reason,
                BooleanSupplier stillWanted,
                Runnable beforeRelease) {
            this(preemptor, preemptorJob, reason, stillWanted, beforeRelease, 0);
        }
    }

    private final LiveStage live;
    private final Request request;
    /** For whom, in the stage's build log; null when for nobody in particular. */
    @CheckForNull
    private String preemptor;

    /** From the request until the executor was free; -1 before. */
    private long tookMillis = -1;

    private Suspension(LiveStage live, Request request) {
        this.live = live;
        this.request = request;
    }

    /**
     * Nobody needs the executor any more: a suspension that is still making its image is given up, and the stage runs
     * on. One that has given the executor away is not changed.
     */
    public static void cancel(String stageId) throws InterruptedException {
        StageRecord stage = StageRegistry.get().find(stageId);
        if (stage == null || stage.state() != StageState.SUSPENDING) {
            return;
        }
        try {
            // The engine gives the dump up, and the thread that waits for it finds that the stage runs.
            AgentStage.on(Nodes.named(stage.node()), stageId).thaw();
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> "cannot give the suspension of " + stage + " up; it comes to its end");
        }
    }

    /**
     * Suspends the stage.
     *
     * @return how many milliseconds after the request its executor was given away; empty when it was not
     */
    public static OptionalLong run(String stageId, Request request) {
        LiveStage live = LiveStage.find(stageId);
        if (live == null || !live.operation().tryLock()) {
            return OptionalLong.empty();
        }
        Suspension suspension = new Suspension(live, request);
        try {
            return suspension.suspend() ? OptionalLong.of(suspension.tookMillis) : OptionalLong.empty();
        } catch (InterruptedException x) {
            Thread.currentThread().interrupt();
            return OptionalLong.empty();
        } catch (Exception x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot suspend stage " + stageId);
            return OptionalLong.empty();
        } finally {
            live.operation().unlock();
        }
    }

    private boolean suspend() throws Exception {
        StageRecord stage = StageRegistry.get().find(live.id());
        if (stage == null || stage.state() != StageState.RUNNING || live.ending() || !stage.hasSandbox()) {
            return false;
        }
        preemptor = LoggedName.ofPreemptor(
                request.preemptor(),
                request.preemptorJob(),
                stage.job(),
                request.reason().sentence());
        if (live.sealing()) {
            // The attempt at an image of its last suspension has not come to its end yet.
            live.retryAfter(BUSY_RETRY_MILLIS);
            if (request.preemptor() == null && live.tellWaiting()) {
                StageLog.line(
                        live.context(),
                        "This stage is suspended as soon as the image of its last suspension, which is"
                                + " no longer needed, has been given up. Until then it keeps running.");
            }
            return false;
        }
        int launchesBefore = live.launches();
        StepsInFlight steps = StepsInFlight.of(live);
        Executor executor = live.hold().executor(stage);
        if (steps.objection() != null || executor == null) {
            live.retryAfter(BUSY_RETRY_MILLIS);
            return false;
        }
        AgentStage agent = AgentStage.on(executor.getOwner().getNode(), stage.id());
        StageRegistry.get().update(stage.id(), StageChanges.chosen());
        StageLog.line(
                live.context(),
                "Suspending this stage" + (preemptor == null ? "" : " for " + preemptor) + ": "
                        + request.reason().sentence());
        try {
            return freeze(stage, agent, executor, steps, launchesBefore);
        } catch (Exception | LinkageError x) {
            StageRecord now = StageRegistry.get().find(stage.id());
            if (now != null && now.state() == StageState.SUSPENDING) {
                LOGGER.log(Level.WARNING, x, () -> "cannot suspend " + stage);
                if (x instanceof IOException) {
                    // The connection was lost, or the agent did not answer: nothing is known against the stage.
                    giveBack(
                            "Not suspended, since the agent could not be asked: " + x.getMessage()
                                    + ". The stage keeps running, and is suspended later if that is still needed.",
                            PASSING_RETRY_MILLIS);
                    return false;
                }
                // A record that could not be saved says nothing against the stage either.
                giveBack(
                        "Not suspended: " + x + ". The stage keeps running; the controller's log has more.",
                        x instanceof UncheckedIOException ? PASSING_RETRY_MILLIS : LiveStage.REFUSED_RETRY_MILLIS);
                return false;
            }
            throw x;
        }
    }

    private boolean freeze(
            StageRecord stage, AgentStage agent, Executor executor, StepsInFlight steps, int launchesBefore)
            throws IOException, InterruptedException {
        AgentStage.Freeze frozen = agent.freeze(
                stage.controlFolders(), PreemptibleConfiguration.get().memoryFloorBytes());
        if (frozen.refusal() != null) {
            refused(frozen.refusal());
            return false;
        }
        live.memory().seen(System.currentTimeMillis(), frozen.residentBytes());
        // A step whose result was read before the freeze has ended by now, and its next one has no process yet.
        if (wentOn(launchesBefore) || !steps.equals(StepsInFlight.of(live))) {
            giveBack("Not suspended: the stage went on to its next step. It keeps running.", BUSY_RETRY_MILLIS);
            return false;
        }
        if (!request.stillWanted().getAsBoolean()) {
            giveBack(notWanted(), 0);
            return false;
        }
        if (frozen.memoryOnly()) {
            return handOver(stage, executor, null, frozen, steps);
        }
        Secret key = Secret.fromString(ImageKey.generate().export());
        if (frozen.handOver()) {
            return handOver(stage, executor, key, frozen, steps);
        }
        if (withoutRoom(0)) {
            return false;
        }
        StageLog.line(live.context(), frozen.handOverWhy() + ".");
        return dump(stage, agent, executor, key, frozen, steps, launchesBefore);
    }

    /**
     * Gives the executor away now; the image follows.
     *
     * @param key null when no image follows
     * @return whether that was done
     */
    private boolean handOver(
            StageRecord before,
            Executor executor,
            @CheckForNull Secret key,
            AgentStage.Freeze frozen,
            StepsInFlight steps)
            throws InterruptedException {
        StageRecord stage =
                StageRegistry.get().update(before.id(), StageChanges.frozen(suspended(), frozen.memoryOnly(), key));
        if (stage == null || !release(stage, executor)) {
            return false;
        }
        StageLog.line(
                live.context(),
                "Executor " + slot(executor) + goes() + " after " + elapsed() + ": "
                        + frozen.processes() + " processes with " + StageLog.size(frozen.residentBytes())
                        + " are frozen in the agent's memory (preflight " + frozen.preflightMillis() + " ms, freeze "
                        + frozen.freezeMillis() + " ms), and " + whatFollows(frozen));
        StageMarks.suspended(live, stage, steps.external());
        EnclosingTimeouts.warn(live, steps.external());
        tell(stage, frozen);
        if (frozen.memoryOnly()) {
            ToldInMemoryOnly.once(live, executor.getOwner().getDisplayName());
        } else {
            Sealing.begin(live, stage, request.sealAfterMillis());
        }
        return true;
    }

    private String whatFollows(AgentStage.Freeze frozen) {
        if (frozen.memoryOnly()) {
            return "stay there until the stage is resumed: no images are made on this agent.";
        }
        return request.sealAfterMillis() == 0
                ? "the image is being sealed meanwhile."
                : "stay there: " + preemptor + " should finish within " + StageLog.time(request.sealAfterMillis())
                        + ", and no image is made until then.";
    }

    /** Makes the image first, since the agent has no memory for the preemptor beside the frozen stage. */
    private boolean dump(
            StageRecord stage,
            AgentStage agent,
            Executor executor,
            Secret key,
            AgentStage.Freeze frozen,
            StepsInFlight steps,
            int launchesBefore)
            throws IOException, InterruptedException {
        AgentStage.Dump dump;
        try (SealingProgress progress = SealingProgress.of(live, stage.node())) {
            dump = agent.dump(key.getPlainText(), false);
        }
        if (dump.refusal() != null) {
            refused(dump.refusal());
            return false;
        }
        String tooLarge = StageImages.tooLarge(dump.archiveBytes());
        if (tooLarge != null) {
            giveBack("Not suspended. " + tooLarge + " The stage keeps running.", LiveStage.REFUSED_RETRY_MILLIS);
            return false;
        }
        if (withoutRoom(dump.archiveBytes())) {
            return false;
        }
        try {
            StageImages.store(live, agent, dump.archiveBytes());
        } catch (IOException | RuntimeException x) {
            if (!request.stillWanted().getAsBoolean()) {
                // It was given up meanwhile, and took the image with it.
                giveBack(notWanted(), 0);
                return false;
            }
            LOGGER.log(Level.WARNING, x, () -> "cannot archive the image of " + stage);
            giveBack(
                    "Not suspended, the image could not be archived: " + StageImages.why(x)
                            + ". The stage keeps running; make room for its artifacts, or look at the controller's log.",
                    LiveStage.REFUSED_RETRY_MILLIS);
            return false;
        }
        if (wentOn(launchesBefore)) {
            giveBack("Not suspended: the stage is being aborted.", BUSY_RETRY_MILLIS);
            return false;
        }
        if (!request.stillWanted().getAsBoolean()) {
            giveBack(notWanted(), 0);
            return false;
        }
        return commit(stage, agent, executor, key, frozen, dump, steps);
    }

    /** Thaws the stage, since its image has no room on the controller. @return whether that was done */
    private boolean withoutRoom(long imageBytes) throws IOException, InterruptedException {
        ArchiveRoom.Shortage full = ArchiveRoom.missing(live.context().get(Run.class), imageBytes);
        if (full != null) {
            giveBack(
                    "Not suspended, since its image would have to be stored first. " + full.sentence()
                            + " The stage keeps running. Make room on the controller's disk, or ask an administrator to lower"
                            + " the disk floor.",
                    LiveStage.REFUSED_RETRY_MILLIS);
        }
        return full != null;
    }

    private boolean wentOn(int launchesBefore) {
        return live.launches() != launchesBefore || live.ending() || live.aborting();
    }

    /** @return whether the executor was given away */
    private boolean commit(
            StageRecord before,
            AgentStage agent,
            Executor executor,
            Secret key,
            AgentStage.Freeze frozen,
            AgentStage.Dump dump,
            StepsInFlight steps)
            throws IOException, InterruptedException {
        StageRecord stage =
                StageRegistry.get().update(before.id(), StageChanges.dumped(suspended(), key, dump.archiveBytes()));
        if (stage == null) {
            return false;
        }
        String refusal;
        try {
            refusal = agent.commit();
        } catch (IOException | RuntimeException | LinkageError x) {
            // The image is safe and the tree is frozen: a resume finds what is left first.
            LOGGER.log(Level.WARNING, x, () -> "the frozen processes of " + stage + " could not be killed yet");
            refusal = null;
        }
        if (refusal != null) {
            runsAfterAll(refusal);
            return false;
        }
        if (!release(stage, executor)) {
            return false;
        }
        Measured.of(stage.node()).dumped(dump.imageBytes(), dump.dumpMillis() + dump.archiveMillis());
        StageLog.line(
                live.context(),
                "Suspended in " + elapsed() + " (freeze " + frozen.freezeMillis() + " ms, dump " + dump.dumpMillis()
                        + " ms, seal " + dump.archiveMillis() + " ms): " + dump.processes() + " processes, "
                        + StageLog.size(dump.imageBytes()) + " of memory and state, sealed into "
                        + StageLog.size(dump.archiveBytes()) + ". Executor " + slot(executor) + goes() + ".");
        StageMarks.suspended(live, stage, steps.external());
        EnclosingTimeouts.warn(live, steps.external());
        tell(stage, frozen);
        StageListener.fire(listener -> listener.onSealed(new StageSealed(
                stage.ref(),
                stage.suspendedSinceMillis(),
                dump.dumpMillis(),
                dump.archiveMillis(),
                dump.imageBytes(),
                dump.archiveBytes())));
        return true;
    }

    private void tell(StageRecord stage, AgentStage.Freeze frozen) {
        StageListener.fire(listener -> listener.onSuspended(new StageSuspended(
                stage.ref(),
                stage.startedMillis(),
                System.currentTimeMillis(),
                tookMillis,
                request.reason().name(),
                request.reason().sentence(),
                request.preemptor(),
                request.preemptorJob(),
                frozen.processes(),
                frozen.residentBytes(),
                frozen.memoryOnly())));
    }

    private StageChanges.Suspended suspended() {
        return new StageChanges.Suspended(
                request.preemptor(), request.preemptorJob(), request.reason().sentence(), System.currentTimeMillis());
    }

    /** @return false when Jenkins would not let go of the executor: then the stage is resumed */
    private boolean release(StageRecord stage, Executor executor) throws InterruptedException {
        request.beforeRelease().run();
        try {
            live.hold().release(stage);
            tookMillis = sinceRequested();
            return true;
        } catch (IOException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot give the executor of " + stage + " away; it is resumed at once");
            Resumption.run(stage.id(), executor);
            return false;
        }
    }

    private String goes() {
        return preemptor == null ? " is free" : " goes to " + preemptor;
    }

    private String notWanted() {
        return preemptor == null
                ? "Suspension cancelled; the stage keeps running."
                : LoggedName.atBeginning(preemptor) + " no longer waits; the stage keeps running.";
    }

    private static String slot(Executor executor) {
        return executor.getOwner().getDisplayName() + " #" + executor.getNumber();
    }

    private String elapsed() {
        return StageLog.time(tookMillis);
    }

    private long sinceRequested() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - request.requestedNanos());
    }

    /** A process entered at the last moment: the engine has thawed the tree, in place of killing it. */
    private void runsAfterAll(String refusal) throws InterruptedException {
        deleteImage();
        StageRegistry.get().settle(live.id(), StageChanges.runsAfterAll());
        live.retryAfter(BUSY_RETRY_MILLIS);
        StageLog.line(live.context(), "Not suspended. " + refusal + " The stage keeps running.");
        live.carryOutKill();
    }

    private void refused(AgentStage.Refusal refusal) {
        StageRegistry.get().cutOff(live.id());
        if (JUST_BUSY.contains(refusal.reason())) {
            live.retryAfter(BUSY_RETRY_MILLIS);
        } else {
            live.retryAfter(refusal.lasting() ? LiveStage.REFUSED_RETRY_MILLIS : PASSING_RETRY_MILLIS);
            StageRecord stage = StageRegistry.get().find(live.id());
            if (stage != null) {
                StageListener.fire(listener -> listener.onRefused(new StageRefused(
                        stage.ref(),
                        System.currentTimeMillis(),
                        StageRefused.Phase.SUSPEND,
                        refusal.reason(),
                        refusal.sentence())));
            }
        }
        StageLog.refusal(
                live.context(),
                "Not suspended. " + refusal.sentence() + " The stage keeps running"
                        + (preemptor == null ? "." : ", " + preemptor + " waits."),
                refusal.criuLines());
        live.carryOutKill();
    }

    private void giveBack(String why, long retryMillis) throws InterruptedException {
        // First: a disk that the image has filled needs the room before anything can be saved again.
        deleteImage();
        live.retryAfter(retryMillis);
        StageLog.line(live.context(), why);
        FrozenStage.thaw(live.id());
    }

    private void deleteImage() throws InterruptedException {
        StageImages.discard(live);
    }
}
