package io.jenkins.plugins.preemptible.lifecycle;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.remoting.RequestAbortedException;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.event.StageRefused;
import io.jenkins.plugins.preemptible.event.StageSealed;
import io.jenkins.plugins.preemptible.lifecycle.image.ArchiveRoom;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.LuggageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageClock;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageStore;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The steps by which the image of one suspension is made, see {@link Sealing}. Everything is given: the tests need no Jenkins.
 *
 * <p>Used by one thread at a time, which holds {@link LiveStage#sealing}.
 */
final class SealingSteps {

    private static final Logger LOGGER = Logger.getLogger(Sealing.class.getName());

    static final int MOST_ATTEMPTS = 2;
    /** Between two looks whether an agent that was away, or busy, can be asked again. */
    static final long LOOK_MILLIS = TimeUnit.SECONDS.toMillis(5);

    /** One whose connection has just been lost, or is just being made, fails as well. */
    private static final int UNTOLD_FAILURES = 3;

    /** The longest pause is five minutes. */
    private static final int MOST_DOUBLINGS = 6;

    /** The stage is not what this side takes it for, or somebody else is at it. */
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

    private final StageStore stages;
    private final StageAgent.Agents agents;
    private final SealSide side;
    private final StageClock clock;
    private final HeldStage heldStage;
    private final long began;
    private int attempts;
    /** How many attempts came to nothing for a reason that nobody expects. */
    private int faults;
    /** How many came to nothing since a call failed, with the agent there. */
    private int failures;
    /** Set when the agent or the controller was away: the agent is asked first in which form it holds the stage. */
    private boolean uncertain;
    /** Its agent has no process of it any more, but what was dumped of it. */
    private boolean treeLost;
    /** The build log says that an attempt came to nothing for such a reason. */
    private boolean faultTold;
    /** The build log says that the controller's disk is too full. */
    private boolean fullTold;
    /** What the agent has sealed; null before. */
    private AgentStage.Dump dump;
    /** How often a workspace that was missed could not be stored afterwards. */
    private int lateFailures;
    /** What is safe among the artifacts, while it is not known whether the frozen processes are killed; else null. */
    private StoredImage stored;

    /** @param uncertain whether the agent is asked first in which form it holds the stage */
    SealingSteps(
            LiveStage live,
            int suspension,
            boolean uncertain,
            StageStore stages,
            StageAgent.Agents agents,
            SealSide side,
            StageClock clock) {
        this.live = live;
        this.suspension = suspension;
        this.uncertain = uncertain;
        this.stages = stages;
        this.agents = agents;
        this.side = side;
        this.clock = clock;
        this.heldStage = new HeldStage(live, stages, side);
        this.began = clock.nanoTime();
    }

    /** A disk may have room again by then. */
    static long retryMillis() {
        return Long.getLong(Sealing.class.getName() + ".retryMillis", TimeUnit.MINUTES.toMillis(1));
    }

    /** @return after how many milliseconds it is to be tried again; 0 = it has come to its end */
    long attempt() throws InterruptedException {
        StageRecord stage = wanted();
        if (stage == null) {
            return 0;
        }
        try {
            StageAgent agent = agents.of(stage.node(), stage.id());
            if (uncertain) {
                long retryMillis = findOut(agent);
                if (retryMillis == 0) {
                    retryMillis = storeLuggageLate();
                }
                if (retryMillis > 0 || wanted() == null) {
                    return retryMillis;
                }
                stage = wanted();
            }
            boolean due = stage != null && !stage.memoryOnly() && stage.thawByMillis() == 0;
            long retryMillis = due ? seal(stage, agent) : 0;
            return retryMillis > 0 ? retryMillis : storeLuggageLate();
        } catch (IOException x) {
            // Most likely the agent is away, and that shows elsewhere.
            LOGGER.log(Level.FINE, x, () -> "cannot seal the image of stage " + live.id() + " yet");
            if (side.isThere(stage.node()) && ++failures >= UNTOLD_FAILURES) {
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

    /** Once: it may go on for as long as the stage is suspended. */
    private void fault(Throwable why) {
        StageRecord stage = wanted();
        if (faultTold || stage == null) {
            return;
        }
        faultTold = true;
        side.say(SealingWords.fault(stage.frozen(), why));
    }

    /** It has come to its end. */
    void close() {
        side.close();
    }

    private long fromTheStart(long pause) {
        uncertain = true;
        dump = null;
        return pause;
    }

    /** The stage, as long as this is what it needs; null when it is resumed, has ended, or has its image. */
    @CheckForNull
    StageRecord wanted() {
        StageRecord stage = stages.find(live.id());
        boolean sameSuspension =
                stage != null && stage.state() == StageState.SUSPENDED && stage.suspensions() == suspension;
        return sameSuspension && (stage.frozen() || uncertain) && !live.ending() && !live.aborting() ? stage : null;
    }

    /** @return after how many milliseconds to ask again; 0 = it is known */
    private long findOut(StageAgent agent) throws IOException, InterruptedException {
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

    private long findOut(StageRecord stage, StageAgent agent) throws IOException, InterruptedException {
        switch (heldStage.ask(stage, agent, stored != null)) {
            case BUSY:
                return LOOK_MILLIS;
            case STRANGE:
                boolean withLuggage = stage.luggage() != null;
                forgetLuggage();
                tellStored(stage, false);
                if (withLuggage) {
                    // Only the right host can say that the stage may go elsewhere.
                    return LOOK_MILLIS;
                }
                break;
            case ENDED:
                // What host that is does not matter any more, nor what workspace it has.
                forgetLuggage();
                tellStored(stage, true);
                break;
            case IMAGE:
                treeLost = stage.frozen();
                tellStored(stage, true);
                break;
            default:
                // What was dumped before was given up for the hold.
                stored = null;
                dump = null;
                treeLost = false;
        }
        uncertain = false;
        return 0;
    }

    private void forgetLuggage() {
        if (LuggageChanges.isMissed(stages.find(live.id()), suspension)) {
            stages.update(live.id(), LuggageChanges.missed(false));
        }
    }

    /** @param gone whether its agent has said that no process of it is left */
    private void tellStored(StageRecord stage, boolean gone) {
        if (stored != null && !stage.frozen()) {
            tellSealed(gone);
        }
        stored = null;
    }

    /**
     * Stores a workspace that was missed, once it is known how the agent holds the stage. Nobody has touched it since: the stage
     * stands still. Under no lock: it takes as long as the workspace is large, and a resume that begins meanwhile makes it
     * useless.
     *
     * @return after how many milliseconds it is to be tried again; 0 = it is stored, or not needed any more
     */
    private long storeLuggageLate() throws InterruptedException {
        StageRecord stage = stages.find(live.id());
        if (uncertain || !LuggageChanges.isMissed(stage, suspension)) {
            return 0;
        }
        boolean taken = false;
        try (SealSide.Luggage again = side.packLuggage(stage)) {
            SealedLuggage luggage = again.store();
            StageRecord sealed = stages.update(
                    live.id(),
                    luggage == null ? LuggageChanges.missed(false) : LuggageChanges.storedLate(suspension, luggage));
            SealedLuggage known = luggage == null || sealed == null ? null : sealed.luggage();
            taken = known != null && known.isSame(luggage);
            if (taken) {
                side.say(SealingWords.luggageLate(luggage));
            }
            return 0;
        } catch (IOException | RuntimeException x) {
            long pause = LOOK_MILLIS << Math.min(lateFailures++, MOST_DOUBLINGS);
            LOGGER.log(
                    Level.WARNING,
                    x,
                    () -> "cannot store the workspace of stage " + live.id() + " afterwards; tried again in "
                            + StageLog.time(pause));
            return LuggageChanges.isMissed(stages.find(live.id()), suspension) ? fromTheStart(pause) : 0;
        } finally {
            side.dropLuggage(stage, taken);
        }
    }

    private long seal(StageRecord stage, StageAgent agent) throws IOException, InterruptedException {
        if (dump != null) {
            return keep(stage, agent, null);
        }
        ArchiveRoom.Shortage full = missingRoom();
        if (full != null) {
            return waitForRoom(full);
        }
        Secret key = stage.imageKey();
        if (key == null && treeLost) {
            return 0;
        }
        if (key == null) {
            // Found out anew, it gets one.
            uncertain = true;
            return LOOK_MILLIS;
        }
        boolean awaited = side.isAwaited(stage);
        try (SealSide.Luggage luggage = awaited ? side.packLuggage(stage) : null) {
            AgentStage.Dump made;
            try (SealSide.Progress progress = side.progress(stage)) {
                made = side.dump(agent, key.getPlainText(), awaited);
            }
            if (made.refusal() != null) {
                return refused(stage, made.refusal());
            }
            dump = made;
            return keep(stage, agent, luggage);
        }
    }

    private long refused(StageRecord stage, AgentStage.Refusal refusal) throws InterruptedException {
        if (wanted() == null) {
            // It is resumed, which is why the dump was given up: the next one must not wait for another look.
            return 0;
        }
        if (treeLost && refusal.reason().equals(FailureReason.STAGE_SUSPENDED.name())) {
            return failed(
                    "The agent's host has lost this stage's processes, and no sealed image of them is on it.", refusal);
        }
        if (UNEXPECTED.contains(refusal.reason())) {
            uncertain = true;
            return LOOK_MILLIS;
        }
        if (refusal.reason().equals(FailureReason.MEMORY_ONLY.name())) {
            return inMemoryOnly(stage);
        }
        if (refusal.reason().equals(FailureReason.NOT_RESTORABLE.name())) {
            return notRestorable(stage, refusal);
        }
        return failed("The image could not be sealed. " + refusal.sentence(), refusal);
    }

    /** @param luggage its workspace, which is being packed already; null where that has not begun */
    private long keep(StageRecord stage, StageAgent agent, @CheckForNull SealSide.Luggage luggage)
            throws IOException, InterruptedException {
        // Before the disk's room, which no image of such a size will ever have.
        String tooLarge = side.tooLarge(dump.archiveBytes());
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
        if (luggage != null) {
            return store(stage, agent, luggage);
        }
        try (SealSide.Luggage packed = side.packLuggage(stage)) {
            return store(stage, agent, packed);
        }
    }

    private long store(StageRecord stage, StageAgent agent, SealSide.Luggage luggage)
            throws IOException, InterruptedException {
        try {
            side.store(agent, dump.archiveBytes());
        } catch (ArchiveRoom.ShortageException x) {
            discard();
            return waitForRoom(x.shortage());
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot archive the image of " + stage);
            // First: a disk that the image has filled needs the room before anything can be saved again.
            discard();
            return failed(
                    "The image could not be archived: " + side.why(x)
                            + ". Make room for its artifacts, or look at the controller's log.",
                    null);
        }
        return commit(agent, luggage(stage, luggage));
    }

    /** What became of the workspace: stored, not to be stored, or missed since its agent was away. */
    private record Kept(@CheckForNull SealedLuggage luggage, boolean missed) {}

    /** The image is whole among the artifacts: for want of its workspace it must not be given up. */
    private Kept luggage(StageRecord stage, SealSide.Luggage packed) throws InterruptedException {
        try {
            return new Kept(packed.store(), false);
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> "cannot store the workspace of " + stage + " yet");
        }
        try (SealSide.Luggage again = side.packLuggage(stage)) {
            return new Kept(again.store(), false);
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot store the workspace of " + stage);
            side.say(SealingWords.withoutLuggage(side.why(x), stage.node()));
            return new Kept(null, true);
        }
    }

    private long commit(StageAgent agent, Kept kept) throws IOException, InterruptedException {
        SealedLuggage luggage = kept.luggage();
        live.operation().lockInterruptibly();
        try {
            if (wanted() == null) {
                discard();
                return 0;
            }
            StageRecord sealed = stages.update(
                    live.id(),
                    StageChanges.sealed(dump.archiveBytes(), luggage).andThen(LuggageChanges.missed(kept.missed())));
            if (sealed == null) {
                discard();
                return 0;
            }
            stored = new StoredImage(sealed, dump, luggage, treeLost);
            AgentStage.NotKilled refusal;
            try {
                refusal = agent.commit();
            } catch (IOException | RuntimeException x) {
                // The image is safe, and the tree is frozen: the agent is asked later.
                LOGGER.log(Level.FINE, x, () -> "the frozen processes of " + sealed + " could not be killed yet");
                uncertain = true;
                return LOOK_MILLIS;
            }
            if (refusal != null) {
                LOGGER.log(Level.WARNING, "{0} is frozen and sealed again: {1}", new Object[] {sealed, refusal.why()});
                uncertain = true;
                if (refusal.tree() == AgentStage.NotKilled.Tree.BUSY) {
                    return LOOK_MILLIS;
                }
                stored = null;
                dump = null;
                return refusal.tree() == AgentStage.NotKilled.Tree.RUNS ? LOOK_MILLIS : ofNoUse(refusal);
            }
            if (luggage != null) {
                stages.update(live.id(), LuggageChanges.treeEnded(true));
            }
            tellSealed(true);
            return 0;
        } finally {
            live.operation().unlock();
        }
    }

    /** A file that the image needs was changed since, for instance. */
    private long ofNoUse(AgentStage.NotKilled why) throws InterruptedException {
        discard();
        stages.update(live.id(), StageChanges.heldFrozen(side.newKey()));
        return failed("The image that was sealed cannot serve. " + why.why(), null);
    }

    /** Once the frozen processes are killed, which may be at a later look. */
    private void tellSealed(boolean gone) {
        side.say(stored.sentence(TimeUnit.NANOSECONDS.toMillis(clock.nanoTime() - began), gone));
        // What a former attempt has met is no reason any more to spare the stage.
        live.takeSealingFailed();
        if (!stored.treeLost()) {
            side.measured(stored.stage().node(), stored.dump().imageBytes(), stored.makingMillis());
        }
        side.showSealed(stored.stage());
        StageSealed event = stored.event(clock.nowMillis());
        side.tell(listener -> listener.onSealed(event));
        stored = null;
    }

    /** Its agent came back as one that makes no images. */
    private long inMemoryOnly(StageRecord stage) throws InterruptedException {
        StageRecord kept = stages.update(stage.id(), StageChanges.inMemoryOnly());
        if (kept != null) {
            side.sayInMemoryOnly(stage.node());
            side.showSealed(kept);
        }
        return 0;
    }

    /** Its image was tried and would not come back: the frozen processes are all there is of it. */
    private long notRestorable(StageRecord stage, AgentStage.Refusal why) {
        StageRecord kept = stages.update(stage.id(), StageChanges.notRestorable());
        if (kept != null) {
            live.sealingFailed();
            side.say("No image is sealed. " + why.sentence(), why.criuLines());
            side.showSealed(kept);
            tellRefused(kept, why);
        }
        return 0;
    }

    private ArchiveRoom.Shortage missingRoom() throws IOException, InterruptedException {
        return side.shortage(dump == null ? 0 : dump.archiveBytes());
    }

    /** That is no failed attempt: nothing of it has to be done again. */
    private long waitForRoom(ArchiveRoom.Shortage full) {
        if (!fullTold && wanted() != null) {
            fullTold = true;
            side.say(SealingWords.withoutRoom(full.sentence()));
        }
        return wanted() == null ? 0 : retryMillis();
    }

    private long failed(String why, AgentStage.Refusal refusal) {
        if (wanted() == null) {
            // It is resumed, or ends: the image is no longer needed.
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
            StageRecord unsealed = stages.settle(live.id(), StageChanges.unsealed());
            if (unsealed != null) {
                side.showSealed(unsealed);
            }
        }
        boolean whole = refusal == null || !refusal.killedCriu();
        side.say(
                why + SealingWords.kept(treeLost, whole) + SealingWords.whatFollows(last ? 0 : retryMillis(), treeLost),
                refusal == null ? List.of() : refusal.criuLines());
        return last ? 0 : retryMillis();
    }

    /** @param refusal of the agent; null when the image could not be stored */
    private void tellRefused(StageRecord stage, @CheckForNull AgentStage.Refusal refusal) {
        side.tell(listener -> listener.onRefused(new StageRefused(
                stage.ref(),
                clock.nowMillis(),
                StageRefused.Phase.SEAL,
                refusal == null ? "" : refusal.reason(),
                refusal == null ? "The image could not be archived." : refusal.sentence())));
    }

    /** Removes what this has put among the artifacts and nobody knows of. */
    private void discard() throws InterruptedException {
        side.discard();
    }
}
