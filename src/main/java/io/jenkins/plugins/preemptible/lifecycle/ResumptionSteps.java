package io.jenkins.plugins.preemptible.lifecycle;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Delivery;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.event.StageRefused;
import io.jenkins.plugins.preemptible.event.StageResumed;
import io.jenkins.plugins.preemptible.lifecycle.Resumption.Outcome;
import io.jenkins.plugins.preemptible.lifecycle.image.ImageGoneException;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.LuggageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageClock;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageStore;
import io.jenkins.plugins.preemptible.lifecycle.stage.StrangeHost;
import io.jenkins.plugins.preemptible.view.ResumedStageAction;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The steps of one attempt to resume a stage, see {@link Resumption}. Everything is given: the tests need no Jenkins.
 *
 * <p>Used once, by one thread, which holds the stage's {@code operation} lock.
 */
final class ResumptionSteps {

    static final int MOST_FAILURES = 3;
    private static final Logger LOGGER = Logger.getLogger(Resumption.class.getName());

    /** The longest pause after an outage: ten minutes by default. */
    static final int MOST_DOUBLINGS = 6;

    private static final String GONE = FailureReason.CONTAINER_GONE.name();

    private final LiveStage live;
    private final StageStore stages;
    private final ResumeSide side;
    private final StageClock clock;

    ResumptionSteps(LiveStage live, StageStore stages, ResumeSide side, StageClock clock) {
        this.live = live;
        this.stages = stages;
        this.side = side;
        this.clock = clock;
    }

    static long retryMillis() {
        return Long.getLong(Resumption.class.getName() + ".retryMillis", TimeUnit.SECONDS.toMillis(10));
    }

    /** The first pause after an outage; each one is twice the last. */
    static long outageMillis() {
        return Long.getLong(Resumption.class.getName() + ".outageMillis", TimeUnit.SECONDS.toMillis(10));
    }

    Outcome run() throws InterruptedException {
        try {
            return resume();
        } catch (RuntimeException x) {
            StageRecord left = stages.find(live.id());
            if (left != null && !left.suspended()) {
                LOGGER.log(Level.WARNING, x, () -> "while resuming stage " + live.id());
                return Outcome.RUNS;
            }
            return outage(x);
        }
    }

    private Outcome resume() throws InterruptedException {
        StageRecord stage = stages.find(live.id());
        if (stage == null || live.ending() || live.aborting()) {
            return Outcome.ENDED;
        }
        if (!stage.suspended()) {
            // It has this executor. One that is SUSPENDING is being thawed, by FrozenStage, until that succeeds.
            return Outcome.RUNS;
        }
        if (stage.state() == StageState.SUSPENDED) {
            stage = stages.update(stage.id(), StageChanges.resuming());
        }
        if (stage == null) {
            return Outcome.ENDED;
        }
        long began = clock.nanoTime();
        AgentStage.Restore restore;
        try {
            restore = restore(stage);
        } catch (InterruptedException x) {
            // Whatever came of it on the agent is found there.
            stages.cutOff(live.id());
            side.findOut();
            throw x;
        } catch (Restorer.NotMovedException x) {
            stages.cutOff(live.id());
            if (x.reason() != null) {
                StageRefused refused = new StageRefused(
                        stage.ref(), clock.nowMillis(), StageRefused.Phase.MOVE, x.reason(), x.getMessage());
                side.tell(listener -> listener.onRefused(refused));
            }
            side.say("Not moved. " + x.getMessage() + " The stage stays suspended.");
            return Outcome.STAYS_SUSPENDED;
        } catch (ImageGoneException x) {
            return failed(AgentStage.Refusal.of(x.getMessage()), false);
        } catch (IOException | RuntimeException x) {
            if (interrupted(x)) {
                stages.cutOff(live.id());
                side.findOut();
                throw (InterruptedException) new InterruptedException().initCause(x);
            }
            return outage(x);
        }
        if (restore == null) {
            stages.cutOff(live.id());
            return lost(stage);
        }
        if (restore.refusal() != null) {
            return GONE.equals(restore.refusal().reason()) ? gone(restore.refusal()) : failed(restore.refusal(), true);
        }
        went(stage, restore, TimeUnit.NANOSECONDS.toMillis(clock.nanoTime() - began));
        return Outcome.RUNS;
    }

    /** Whether somebody has stopped it in the midst of I/O. */
    private static boolean interrupted(Throwable failure) {
        for (Throwable x = failure; x != null; x = x.getCause()) {
            if (x instanceof InterruptedException || x instanceof ClosedByInterruptException) {
                return true;
            }
        }
        return false;
    }

    /** @return null when nothing is left of a stage that was frozen and had no image yet */
    @CheckForNull
    private AgentStage.Restore restore(StageRecord stage) throws IOException, InterruptedException {
        Optional<AgentStage.Restore> elsewhere = side.restoreElsewhere(stage);
        if (elsewhere.isPresent()) {
            return elsewhere.get();
        }
        side.leaseWorkspace(stage);
        StageAgent agent = side.agent();
        boolean ended = OutlivesAgent.isTreeEnded(stage);
        if (stage.luggage() != null) {
            // From now on it may run there, until the agent says that it does not.
            stages.update(stage.id(), LuggageChanges.treeEnded(false));
        }
        AgentStage.Restore here = agent.resumeHere(stage.frozen() ? LastResort.NONE : LastResort.ARCHIVE);
        if (stage.frozen()) {
            return here == null || here.refusal() != null ? unstored(stage, agent, here) : here;
        }
        if (here != null) {
            return here;
        }
        AgentStage.Held left = agent.hold();
        requireAtRest(left);
        if (left == AgentStage.Held.UNKNOWN) {
            if (ended) {
                // It does not run here, and did not run elsewhere before.
                stages.update(stage.id(), LuggageChanges.treeEnded(true));
            }
            throw new Restorer.PostponedException(StrangeHost.sentence(stage));
        }
        Secret key = StageImages.keyOf(stage);
        side.fetchImage(stage);
        return agent.restore(key.getPlainText());
    }

    /** Another call, whose answer was lost, may just have come to its end. */
    private static void requireAtRest(AgentStage.Held left) throws Restorer.PostponedException {
        if (left == AgentStage.Held.FROZEN || left == AgentStage.Held.BUSY) {
            throw new Restorer.PostponedException("The agent is still at work on its processes.");
        }
    }

    /** What the agent has sealed, where nothing else on it serves. */
    @CheckForNull
    private static AgentStage.Restore unstored(
            StageRecord stage, StageAgent agent, @CheckForNull AgentStage.Restore here)
            throws IOException, InterruptedException {
        Secret key = stage.imageKey();
        AgentStage.Restore sealed = key == null ? null : agent.restoreUnstored(key.getPlainText());
        return sealed == null || here != null && sealed.refusal() != null ? here : sealed;
    }

    private Outcome lost(StageRecord stage) throws InterruptedException {
        try {
            AgentStage.Held left = side.agent().hold();
            if (StrangeHost.isAwaited(live, stage, left)) {
                return outage(new Restorer.PostponedException(StrangeHost.sentence(stage)));
            }
            requireAtRest(left);
            return side.lost() ? Outcome.STAYS_SUSPENDED : Outcome.ENDED;
        } catch (IOException x) {
            return outage(x);
        }
    }

    private void went(StageRecord before, AgentStage.Restore restore, long tookMillis) throws InterruptedException {
        long now = clock.nowMillis();
        long suspendedMillis = now - before.suspendedSinceMillis();
        ResumedFrom from = ResumedFrom.of(restore.tier());
        String words = from.words(before);
        Consumer<StageRecord> runs = StageChanges.resumed(restore.enterCommand(), words, now)
                .andThen(StageChanges.contained(restore.contained()));
        StageRecord settled = stages.settle(before.id(), side.runsHere().andThen(runs));
        StageRecord after = settled == null ? before : settled;
        live.outageOver();
        live.known();
        side.ran(before);
        if (from == ResumedFrom.LOCAL_IMAGE || from == ResumedFrom.ARCHIVE) {
            side.measured(after.node(), live.memory().residentBytes(), tookMillis);
        }
        if (live.takeSealingFailed()) {
            live.retryAfter(LiveStage.REFUSED_RETRY_MILLIS);
        }
        side.say("Resumed on " + side.executorShown() + " in " + StageLog.time(tookMillis) + " from " + words
                + " ("
                + from.times(restore) + ") after being suspended for " + hudson.Util.getTimeSpanString(suspendedMillis)
                + ": " + restore.processes() + " processes run again.");
        for (String warning : restore.warnings()) {
            side.say("Not as it was before the suspension: " + warning + ".");
        }
        try {
            if (!before.memoryOnly() && !side.deleteImage(before)) {
                side.say("The image stays among the artifacts, because this artifact manager cannot remove one file;"
                        + " its key is gone, so nobody can read it.");
            }
            side.showResumed(new ResumedStageAction(
                    before.name(),
                    from.name(),
                    words,
                    before.suspendedSinceMillis(),
                    now,
                    tookMillis,
                    before.memoryOnly()));
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot tidy up after resuming " + before);
        }
        side.tell(listener -> listener.onResumed(
                new StageResumed(after.ref(), now, tookMillis, Math.max(0, suspendedMillis), from.name())));
        live.carryOutKill();
    }

    /** Where the stage could be resumed is no more: it ends as one that ran when that ended. */
    private Outcome gone(AgentStage.Refusal refusal) {
        long now = clock.nowMillis();
        StageRecord stage = stages.settle(
                live.id(), StageChanges.notResumed(retryMillis(), now).andThen(StageChanges.imageUseless()));
        if (stage == null) {
            return Outcome.ENDED;
        }
        side.tell(listener -> listener.onRefused(
                new StageRefused(stage.ref(), now, StageRefused.Phase.RESUME, refusal.reason(), refusal.sentence())));
        side.say("Not resumed. " + refusal.sentence());
        return side.fail(refusal.sentence()) ? Outcome.ENDED : Outcome.STAYS_SUSPENDED;
    }

    /** @param imageThere whether there is something that a further attempt could resume from */
    private Outcome failed(AgentStage.Refusal refusal, boolean imageThere) throws InterruptedException {
        long now = clock.nowMillis();
        Consumer<StageRecord> change = StageChanges.notResumed(retryMillis(), now);
        if (imageThere) {
            change = change.andThen(StageChanges.undecidedAfter(MOST_FAILURES, refusal.sentence(), now));
        }
        StageRecord stage = stages.settle(live.id(), change);
        if (stage == null) {
            return Outcome.ENDED;
        }
        side.tell(listener -> listener.onRefused(
                new StageRefused(stage.ref(), now, StageRefused.Phase.RESUME, refusal.reason(), refusal.sentence())));
        boolean last = stage.restoreFailures() >= MOST_FAILURES;
        boolean goesBack = last && imageThere && stage.frozen() && side.mayGoBack(stage) && isTreeGone();
        side.say(
                "Not resumed. " + refusal.sentence()
                        + (goesBack
                                ? " This was tried " + MOST_FAILURES + " times."
                                : whatFollows(stage, last, refusal)),
                refusal.criuLines());
        if (goesBack) {
            goBack();
        }
        return last && !imageThere && side.fail(refusal.sentence()) ? Outcome.ENDED : Outcome.STAYS_SUSPENDED;
    }

    /** Frozen processes are better than a checkpoint, whatever is in their way. */
    private boolean isTreeGone() throws InterruptedException {
        try {
            AgentStage.Held left = side.agent().hold();
            return left == AgentStage.Held.IMAGE || left == AgentStage.Held.GONE;
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> "it is not known what is left of stage " + live.id());
            return false;
        }
    }

    private void goBack() throws InterruptedException {
        try {
            side.goBack();
        } catch (IOException x) {
            LOGGER.log(Level.WARNING, x, () -> "stage " + live.id() + " cannot go back now");
        }
    }

    private static String whatFollows(StageRecord stage, boolean last, AgentStage.Refusal refusal) {
        if (!last) {
            return (refusal.killedCriu() ? " T" : " Nothing of it is lost; t") + "ried again in "
                    + retryMillis() * stage.restoreFailures() / 1000 + " s.";
        }
        return " This was tried " + MOST_FAILURES + " times"
                + (stage.whyNotResumed() == null
                        ? "."
                        : ": the stage stays suspended, and what it can be resumed from is kept. The page of this build lets you try"
                                + (stage.frozen()
                                        ? " again, or give the stage up."
                                        : " again, download the image, or give the stage up."));
    }

    private static String withoutStop(String words) {
        return words.endsWith(".") ? words.substring(0, words.length() - 1) : words;
    }

    /**
     * The agent, the archive or the controller's own disk did not do their part, which says nothing of the stage. It may
     * even run, when only the agent's answer was lost: {@link Sealing} finds that out, and freezes it again.
     */
    private Outcome outage(Exception why) {
        LOGGER.log(Level.WARNING, why, () -> "cannot resume stage " + live.id() + " yet");
        long pause = outageMillis() << Math.min(live.outage(), MOST_DOUBLINGS);
        StageRecord stage = stages.settle(live.id(), StageChanges.postponed(clock.nowMillis() + pause));
        if (stage == null) {
            return Outcome.ENDED;
        }
        String words = withoutStop(why.getMessage() == null ? why.toString() : why.getMessage());
        side.say("Resume postponed: "
                + (why instanceof Restorer.PostponedException || why instanceof Delivery.NoRoomException
                        ? words
                        : "the agent or the artifact store is unavailable: " + words)
                + ". The stage waits, nothing of it is lost; tried again in " + StageLog.time(pause) + ".");
        side.findOut();
        return Outcome.STAYS_SUSPENDED;
    }
}
