package io.jenkins.plugins.preemptible.lifecycle;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Result;
import hudson.model.Run;
import hudson.remoting.RequestAbortedException;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.event.StageRefused;
import io.jenkins.plugins.preemptible.event.StageSealed;
import io.jenkins.plugins.preemptible.lifecycle.agents.Measured;
import io.jenkins.plugins.preemptible.lifecycle.image.ArchiveRoom;
import io.jenkins.plugins.preemptible.lifecycle.image.SealingProgress;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.AbortedStage;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StageMarks;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.view.Messages;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.model.CauseOfInterruption;
import org.jenkinsci.plugins.workflow.steps.BodyExecution;
import org.jenkinsci.plugins.workflow.steps.FlowInterruptedException;

/**
 * Makes the image of a frozen stage whose executor has other work already.
 *
 * <ol>
 *   <li>Dumps and seals on the agent at idle priority, archives the image with the build, saves that there is one; only
 *       then the frozen tree is killed.
 *   <li>A failure loses nothing: the stage stays frozen in its agent's memory, and is resumed from there when it gets an
 *       executor. It is tried {@value #MOST_ATTEMPTS} times.
 *   <li>A stage that is resumed, ends or is aborted meanwhile takes precedence: none of these waits for this.
 *   <li>An image that was tried on the agent and cannot be restored is not stored: the stage stays in memory only.
 *   <li>A stage whose agent makes no images is only looked for, after a restart or an outage; nothing is sealed.
 * </ol>
 *
 * Holds the stage's {@code operation} lock only to save its end, and {@link LiveStage#sealing} all along, so that no
 * second suspension begins before the first one's image is made or given up.
 */
public final class Sealing {

    private static final Logger LOGGER = Logger.getLogger(Sealing.class.getName());
    private static final int MOST_ATTEMPTS = 2;
    /** A disk may have room again by then. */
    private static final long RETRY_MILLIS =
            Long.getLong(Sealing.class.getName() + ".retryMillis", TimeUnit.MINUTES.toMillis(1));
    /** Between two looks whether an agent that was away, or busy, can be asked again. */
    private static final long LOOK_MILLIS = TimeUnit.SECONDS.toMillis(5);

    /** One whose connection has just been lost, or is just being made, fails as well. */
    private static final int UNTOLD_FAILURES = 3;

    /** The longest pause is five minutes. */
    private static final int MOST_DOUBLINGS = 6;

    /** The stage is not what this side takes it for, or it is busy. */
    private static final Set<String> UNEXPECTED = Set.of(
            FailureReason.UNKNOWN_STAGE.name(),
            FailureReason.STAGE_ENDED.name(),
            FailureReason.STAGE_RUNS.name(),
            FailureReason.STAGE_SUSPENDED.name(),
            FailureReason.STAGE_BUSY.name(),
            FailureReason.KILLED.name(),
            FailureReason.GOES_ON.name(),
            FailureReason.NO_CHECKPOINT.name());

    private final LiveStage live;
    /** Which suspension of the stage this is the image of. */
    private final int suspension;

    private final long began = System.nanoTime();
    private int attempts;
    /** How many attempts came to nothing for a reason that nobody expects. */
    private int faults;
    /** How many came to nothing since a call failed, with the agent there. */
    private int failures;
    /** Set when the agent or the controller was away: what there is of the stage has to be found out first. */
    private boolean uncertain;
    /** The build log says that an attempt came to nothing for such a reason. */
    private boolean faultTold;
    /** The build log says that the controller's disk is too full. */
    private boolean fullTold;
    /** What the agent has sealed; null before. */
    private AgentStage.Dump dump;

    private Sealing(LiveStage live, int suspension, boolean uncertain) {
        this.live = live;
        this.suspension = suspension;
        this.uncertain = uncertain;
    }

    /**
     * Begins; the stage's executor has just been given away. Returns at once.
     *
     * @param delayMillis how long it stays in its agent's memory alone, since it is expected to be resumed before
     */
    public static void begin(LiveStage live, StageRecord stage, long delayMillis) {
        Sealing sealing = new Sealing(live, stage.suspensions(), false);
        if (delayMillis == 0) {
            start(sealing);
        } else {
            StageThreads.schedule("sealing the image of stage " + live.id(), delayMillis, () -> start(sealing));
        }
    }

    /**
     * Takes a suspended stage up again after a restart of the controller: one that is frozen is sealed now, one that
     * runs on its agent although it is to be suspended is frozen first. Returns at once.
     */
    public static void takeUp(String stageId) {
        LiveStage live = LiveStage.find(stageId);
        StageRecord stage = StageRegistry.get().find(stageId);
        if (live != null && stage != null && stage.state() == StageState.SUSPENDED) {
            start(new Sealing(live, stage.suspensions(), true));
            // The nodes inside of it that were marked are not known after a restart.
            StageMarks.byHandChanged(live);
        }
    }

    private static void start(Sealing sealing) {
        if (sealing.live.beginSealing()) {
            sealing.again(0);
        } else if (sealing.wanted() != null) {
            // The last one is still at it, or has just seen that it is not wanted any more.
            StageThreads.schedule("sealing the image of stage " + sealing.live.id(), LOOK_MILLIS, () -> start(sealing));
        }
    }

    private void again(long delayMillis) {
        if (delayMillis == 0) {
            StageThreads.sealOn(StageThreads.agentOf(live.id()), "sealing the image of stage " + live.id(), this::run);
        } else {
            // In steps: a stage that is resumed meanwhile may be suspended again as soon as this has ended.
            long stepMillis = Math.min(delayMillis, LOOK_MILLIS);
            StageThreads.schedule("sealing the image of stage " + live.id(), stepMillis, () -> {
                if (wanted() == null) {
                    live.endSealing();
                } else {
                    again(delayMillis - stepMillis);
                }
            });
        }
    }

    private void run() throws InterruptedException {
        long retryMillis = 0;
        try {
            retryMillis = attempt();
        } finally {
            if (retryMillis == 0) {
                live.endSealing();
            }
        }
        if (retryMillis > 0) {
            again(retryMillis);
        }
    }

    /** @return after how many milliseconds it is to be tried again; 0 = it has come to its end */
    private long attempt() throws InterruptedException {
        StageRecord stage = wanted();
        if (stage == null) {
            return 0;
        }
        try {
            AgentStage agent = AgentStage.on(Nodes.named(stage.node()), stage.id());
            if (uncertain) {
                long retryMillis = findOut(agent);
                if (retryMillis > 0 || wanted() == null) {
                    return retryMillis;
                }
                stage = wanted();
            }
            return stage == null || stage.memoryOnly() ? 0 : seal(stage, agent);
        } catch (IOException x) {
            // Most likely the agent is away, and that shows elsewhere.
            LOGGER.log(Level.FINE, x, () -> "cannot seal the image of stage " + live.id() + " yet");
            if (Nodes.rootOf(stage.node()) != null && ++failures >= UNTOLD_FAILURES) {
                fault(x);
            }
            return fromTheStart(LOOK_MILLIS);
        } catch (RequestAbortedException x) {
            LOGGER.log(Level.FINE, x, () -> "the connection was lost while the image of " + live.id() + " was sealed");
            return fromTheStart(LOOK_MILLIS);
        } catch (RuntimeException | LinkageError x) {
            long pause = LOOK_MILLIS << Math.min(faults++, MOST_DOUBLINGS);
            LOGGER.log(
                    Level.WARNING,
                    x,
                    () -> "cannot seal the image of stage " + live.id() + " yet; tried again in "
                            + StageLog.time(pause));
            fault(x);
            return fromTheStart(pause);
        }
    }

    /** Once: it may last for as long as the stage is suspended. */
    private void fault(Throwable why) {
        if (!faultTold && wanted() != null) {
            faultTold = true;
            StageLog.line(
                    live.context(),
                    "The image could not be sealed yet: " + why.getMessage()
                            + ". The stage stays frozen in the agent's memory"
                            + " and is resumed from there when it gets an executor; until then, do not restart the agent's"
                            + " host. Sealing is tried again at growing intervals; the controller's log has more.");
        }
    }

    private long fromTheStart(long pause) {
        uncertain = true;
        dump = null;
        return pause;
    }

    /** The stage, as long as this is what it needs; null when it is resumed, has ended, or has its image. */
    private StageRecord wanted() {
        StageRecord stage = StageRegistry.get().find(live.id());
        boolean sameSuspension =
                stage != null && stage.state() == StageState.SUSPENDED && stage.suspensions() == suspension;
        return sameSuspension && (stage.frozen() || uncertain) && !live.ending() && !live.aborting() ? stage : null;
    }

    /** @return after how many milliseconds to ask again; 0 = it is known */
    private long findOut(AgentStage agent) throws IOException, InterruptedException {
        // A stage that is just being resumed must not be held.
        if (!live.operation().tryLock()) {
            return LOOK_MILLIS;
        }
        try {
            StageRecord stage = wanted();
            return stage == null ? 0 : findOut(stage, agent);
        } finally {
            live.operation().unlock();
        }
    }

    private long findOut(StageRecord stage, AgentStage agent) throws IOException, InterruptedException {
        if (!stage.frozen()) {
            try {
                agent.commit();
            } catch (IOException | RuntimeException x) {
                LOGGER.log(Level.FINE, x, () -> "no kill of " + stage + " was due");
            }
        }
        AgentStage.Held held = agent.hold();
        LOGGER.log(Level.FINE, "{0} is held as {1}", new Object[] {stage, held});
        switch (held) {
            case BUSY:
                return LOOK_MILLIS;
            case GONE:
                if (stage.frozen()) {
                    lost(live);
                }
                uncertain = false;
                return 0;
            case IMAGE:
                uncertain = false;
                return 0;
            default:
                Secret key = stage.memoryOnly()
                        ? null
                        : Secret.fromString(ImageKey.generate().export());
                StageRegistry.get().update(stage.id(), StageChanges.heldFrozen(key));
                uncertain = false;
                return 0;
        }
    }

    private long seal(StageRecord stage, AgentStage agent) throws IOException, InterruptedException {
        if (dump == null) {
            ArchiveRoom.Shortage full = missingRoom();
            if (full != null) {
                return waitForRoom(full);
            }
            Secret key = stage.imageKey();
            if (key == null) {
                // Found out anew, it gets one.
                uncertain = true;
                return LOOK_MILLIS;
            }
            AgentStage.Dump made;
            try (SealingProgress progress = SealingProgress.of(live, stage.node())) {
                made = agent.dump(key.getPlainText(), true);
            }
            if (made.refusal() != null && wanted() == null) {
                // It is resumed, which is why the dump was given up: the next one must not wait for another look.
                return 0;
            }
            if (made.refusal() != null && UNEXPECTED.contains(made.refusal().reason())) {
                uncertain = true;
                return LOOK_MILLIS;
            }
            if (made.refusal() != null && made.refusal().reason().equals(FailureReason.MEMORY_ONLY.name())) {
                return inMemoryOnly(stage);
            }
            if (made.refusal() != null && made.refusal().reason().equals(FailureReason.NOT_RESTORABLE.name())) {
                return notRestorable(stage, made.refusal());
            }
            if (made.refusal() != null) {
                return failed("The image could not be sealed. " + made.refusal().sentence(), made.refusal());
            }
            dump = made;
        }
        // Before the disk's room, which no image of such a size will ever have.
        String tooLarge = StageImages.tooLarge(dump.archiveBytes());
        if (tooLarge != null) {
            return failed("No image is stored. " + tooLarge, null);
        }
        ArchiveRoom.Shortage full = missingRoom();
        if (full != null) {
            return waitForRoom(full);
        }
        if (wanted() == null) {
            return 0;
        }
        try {
            StageImages.store(live, agent, dump.archiveBytes());
        } catch (ArchiveRoom.ShortageException x) {
            discard();
            return waitForRoom(x.shortage());
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot archive the image of " + stage);
            // First: a disk that the image has filled needs the room before anything can be saved again.
            discard();
            return failed(
                    "The image could not be archived: " + StageImages.why(x)
                            + ". Make room for its artifacts, or look at the controller's log.",
                    null);
        }
        return commit(agent);
    }

    private long commit(AgentStage agent) throws IOException, InterruptedException {
        live.operation().lockInterruptibly();
        try {
            if (wanted() == null) {
                discard();
                return 0;
            }
            StageRecord sealed = StageRegistry.get().update(live.id(), StageChanges.sealed(dump.archiveBytes()));
            if (sealed == null) {
                discard();
                return 0;
            }
            String refusal;
            try {
                refusal = agent.commit();
            } catch (IOException | RuntimeException x) {
                // The image is safe, and the tree is frozen: it is found out later what there is of it.
                LOGGER.log(Level.FINE, x, () -> "the frozen processes of " + sealed + " could not be killed yet");
                uncertain = true;
                return LOOK_MILLIS;
            }
            if (refusal != null) {
                LOGGER.log(Level.WARNING, "{0} is frozen and sealed again: {1}", new Object[] {sealed, refusal});
                uncertain = true;
                dump = null;
                return LOOK_MILLIS;
            }
            StageLog.line(
                    live.context(),
                    "Image sealed " + StageLog.time(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began))
                            + " after that (dump " + dump.dumpMillis() + " ms, seal " + dump.archiveMillis() + " ms): "
                            + dump.processes() + " processes, " + StageLog.size(dump.imageBytes())
                            + " of memory and state, sealed into " + StageLog.size(dump.archiveBytes())
                            + ". The frozen processes are gone from the agent's memory.");
            // What a former attempt has met is no reason any more to spare the stage.
            live.takeSealingFailed();
            Measured.of(sealed.node()).dumped(dump.imageBytes(), dump.dumpMillis() + dump.archiveMillis());
            StageMarks.sealed(live, sealed);
            StageListener.fire(listener -> listener.onSealed(new StageSealed(
                    sealed.ref(),
                    System.currentTimeMillis(),
                    dump.dumpMillis(),
                    dump.archiveMillis(),
                    dump.imageBytes(),
                    dump.archiveBytes())));
            return 0;
        } finally {
            live.operation().unlock();
        }
    }

    /** Its agent came back as one that makes no images. */
    private long inMemoryOnly(StageRecord stage) throws InterruptedException {
        StageRecord kept = StageRegistry.get().update(stage.id(), StageChanges.inMemoryOnly());
        if (kept != null) {
            ToldInMemoryOnly.once(live, stage.node());
            StageMarks.sealed(live, kept);
        }
        return 0;
    }

    /** Its image was tried and would not come back: the frozen processes are all there is of it. */
    private long notRestorable(StageRecord stage, AgentStage.Refusal why) {
        StageRecord kept = StageRegistry.get().update(stage.id(), StageChanges.notRestorable());
        if (kept != null) {
            live.sealingFailed();
            StageLog.refusal(live.context(), "No image is sealed. " + why.sentence(), why.criuLines());
            StageMarks.sealed(live, kept);
            tellRefused(kept, why);
        }
        return 0;
    }

    private ArchiveRoom.Shortage missingRoom() throws IOException, InterruptedException {
        return ArchiveRoom.missing(live.context().get(Run.class), dump == null ? 0 : dump.archiveBytes());
    }

    /** That is no failed attempt: nothing of it has to be done again. */
    private long waitForRoom(ArchiveRoom.Shortage full) {
        if (!fullTold && wanted() != null) {
            fullTold = true;
            StageLog.line(
                    live.context(),
                    "No image is stored yet. " + full.sentence()
                            + " The stage stays frozen in the agent's memory and is"
                            + " resumed from there when it gets an executor; until then, do not restart the agent's host."
                            + " Make room on the controller's disk, or ask an administrator to lower the disk floor.");
        }
        return wanted() == null ? 0 : RETRY_MILLIS;
    }

    private long failed(String why, AgentStage.Refusal refusal) {
        if (wanted() == null) {
            // It is resumed, or ends: nobody needs the image any more.
            return 0;
        }
        attempts++;
        live.sealingFailed();
        StageRecord stage = wanted();
        if (stage != null) {
            tellRefused(stage, refusal);
        }
        boolean last = attempts >= MOST_ATTEMPTS;
        if (last) {
            StageRecord unsealed = StageRegistry.get().settle(live.id(), StageChanges.unsealed());
            if (unsealed != null) {
                StageMarks.sealed(live, unsealed);
            }
        }
        StageLog.refusal(
                live.context(),
                why + " The stage stays frozen in the agent's memory and is resumed from there when it gets an executor"
                        + (refusal != null && refusal.killedCriu() ? "." : "; nothing of it is lost.")
                        + (last
                                ? " No image is made: a restart of the agent's host loses the stage."
                                : " Sealing is tried again in " + StageLog.time(RETRY_MILLIS) + "."),
                refusal == null ? List.of() : refusal.criuLines());
        return last ? 0 : RETRY_MILLIS;
    }

    /** @param refusal of the agent; null when the image could not be stored */
    private static void tellRefused(StageRecord stage, @CheckForNull AgentStage.Refusal refusal) {
        StageListener.fire(listener -> listener.onRefused(new StageRefused(
                stage.ref(),
                System.currentTimeMillis(),
                StageRefused.Phase.SEAL,
                refusal == null ? "" : refusal.reason(),
                refusal == null ? "The image could not be archived." : refusal.sentence())));
    }

    /** Removes what this has put among the artifacts and nobody knows of. */
    private void discard() throws InterruptedException {
        StageImages.discard(live);
    }

    /** Ends a stage of which neither processes nor an image are left. */
    static void lost(LiveStage live) {
        StageRecord stage = StageRegistry.get().find(live.id());
        BodyExecution body = live.body();
        if (stage == null || body == null || live.ending() || live.aborting()) {
            return;
        }
        live.markAborting();
        NotSealed cause = new NotSealed(stage.node(), stage.memoryOnly() && !stage.notRestorable());
        StageLog.line(live.context(), cause.getShortDescription() + ".");
        AbortedStage.endSteps(live.id());
        body.cancel(new FlowInterruptedException(Result.FAILURE, false, cause));
    }

    /** Why a frozen stage ended whose agent lost its memory. */
    public static final class NotSealed extends CauseOfInterruption {
        private static final long serialVersionUID = 1L;
        private final String node;
        /** False in what versions that knew no such thing have saved. */
        private final boolean memoryOnly;

        NotSealed(String node, boolean memoryOnly) {
            this.node = node;
            this.memoryOnly = memoryOnly;
        }

        @Override
        public String getShortDescription() {
            if (memoryOnly) {
                return Messages.Sealing_LostInMemoryOnly(node);
            }
            return Messages.Sealing_LostBeforeSealed(node);
        }
    }
}
