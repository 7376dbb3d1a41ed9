package io.jenkins.plugins.preemptible.lifecycle;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Computer;
import hudson.model.Executor;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.event.StageRefused;
import io.jenkins.plugins.preemptible.event.StageResumed;
import io.jenkins.plugins.preemptible.lifecycle.agents.Measured;
import io.jenkins.plugins.preemptible.lifecycle.image.ImageGoneException;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StageMarks;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsInFlight;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.view.Messages;
import io.jenkins.plugins.preemptible.view.ResumedStageAction;
import io.jenkins.plugins.preemptible.view.ShownSentence;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.model.CauseOfInterruption;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.BodyExecution;

/**
 * Resumes one suspended stage, now that it has an executor again.
 *
 * <ol>
 *   <li>Saves the state; takes the best of what there is: the tree that is still frozen on the agent, CRIU's files that
 *       stayed there, or the sealed image, which is brought to the agent; saves the state again.
 *   <li>Then the image is not needed any more: its key is dropped with the state, its file where that can be done.
 *   <li>A restore that the engine refuses keeps image and key, gives the executor back, and is tried again,
 *       {@value #MOST_FAILURES} times in all; then the stage waits for a user's decision ({@link FailedResume}), or
 *       fails where no image is left. An agent or an archive that does not answer is no refusal: the stage waits for it
 *       without a limit, with growing pauses.
 * </ol>
 *
 * Runs on an executor's thread or on {@link StageThreads}; holds the stage's {@code operation} lock all along.
 */
public final class Resumption {

    static final int MOST_FAILURES = 3;

    private static final Logger LOGGER = Logger.getLogger(Resumption.class.getName());
    private static final long RETRY_MILLIS =
            Long.getLong(Resumption.class.getName() + ".retryMillis", TimeUnit.SECONDS.toMillis(10));
    /** The first pause after an outage; each one is twice the last. */
    private static final long OUTAGE_MILLIS =
            Long.getLong(Resumption.class.getName() + ".outageMillis", TimeUnit.SECONDS.toMillis(10));
    /** The longest one: ten minutes by default. */
    private static final int MOST_DOUBLINGS = 6;

    private Resumption() {}

    /** What became of it. */
    public enum Outcome {
        /** The stage runs. */
        RUNS,
        /** It stays suspended and should give the executor back. */
        STAYS_SUSPENDED,
        /** It has ended or is about to. */
        ENDED
    }

    /** Restores the stage on the executor that it has now. */
    public static Outcome run(String stageId, Executor executor) throws InterruptedException {
        LiveStage live = LiveStage.find(stageId);
        if (live == null) {
            return Outcome.ENDED;
        }
        live.operation().lockInterruptibly();
        try {
            live.granted(false);
            return resume(live, executor);
        } catch (RuntimeException x) {
            StageRecord left = StageRegistry.get().find(live.id());
            if (left != null && !left.suspended()) {
                LOGGER.log(Level.WARNING, x, () -> "while resuming stage " + live.id());
                return Outcome.RUNS;
            }
            return outage(live, x);
        } finally {
            live.operation().unlock();
        }
    }

    private static Outcome resume(LiveStage live, Executor executor) throws InterruptedException {
        StageRegistry registry = StageRegistry.get();
        StageRecord stage = registry.find(live.id());
        if (stage == null || live.ending() || live.aborting()) {
            return Outcome.ENDED;
        }
        if (!stage.suspended()) {
            // It has this executor. One that is SUSPENDING is being thawed, by FrozenStage, until that succeeds.
            return Outcome.RUNS;
        }
        if (stage.state() == StageState.SUSPENDED) {
            stage = registry.update(stage.id(), StageChanges.resuming());
        }
        if (stage == null) {
            return Outcome.ENDED;
        }
        long began = System.nanoTime();
        AgentStage.Restore restore;
        try {
            restore = restore(live, stage, executor);
        } catch (InterruptedException x) {
            // Whatever came of it on the agent is found there.
            registry.cutOff(live.id());
            Sealing.takeUp(live.id());
            throw x;
        } catch (ImageGoneException x) {
            return failed(live, AgentStage.Refusal.of(x.getMessage()), false);
        } catch (IOException | RuntimeException x) {
            if (interrupted(x)) {
                registry.cutOff(live.id());
                Sealing.takeUp(live.id());
                throw (InterruptedException) new InterruptedException().initCause(x);
            }
            return outage(live, x);
        }
        if (restore == null) {
            registry.cutOff(live.id());
            Sealing.lost(live);
            return Outcome.ENDED;
        }
        if (restore.refusal() != null) {
            return failed(live, restore.refusal());
        }
        went(live, stage, executor, restore, TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began));
        return Outcome.RUNS;
    }

    /** Whether it was interrupted in the midst of I/O. */
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
    private static AgentStage.Restore restore(LiveStage live, StageRecord stage, Executor executor)
            throws IOException, InterruptedException {
        Computer computer = executor.getOwner();
        AgentStage agent = AgentStage.on(computer.getNode(), stage.id());
        AgentStage.Restore here = agent.resumeHere();
        if (here != null || stage.frozen()) {
            return here;
        }
        Run<?, ?> run = live.context().get(Run.class);
        if (stage.imageKey() == null || run == null) {
            throw new ImageGoneException("the image's key is gone");
        }
        StageImages.fetch(run, stage, agent.prepareExchange());
        return agent.restore(stage.imageKey().getPlainText());
    }

    private static void went(
            LiveStage live, StageRecord before, Executor executor, AgentStage.Restore restore, long tookMillis)
            throws InterruptedException {
        long now = System.currentTimeMillis();
        ResumedFrom from = ResumedFrom.of(restore.tier());
        StageRegistry.get().settle(before.id(), StageChanges.resumed(restore.enterCommand(), from.words(), now));
        live.outageOver();
        if (from == ResumedFrom.LOCAL_IMAGE || from == ResumedFrom.ARCHIVE) {
            Measured.of(before.node()).restored(live.memory().residentBytes(), tookMillis);
        }
        if (live.takeSealingFailed()) {
            live.retryAfter(LiveStage.REFUSED_RETRY_MILLIS);
        }
        StageLog.line(
                live.context(),
                "Resumed on " + executor.getOwner().getDisplayName() + " #" + executor.getNumber() + " in "
                        + StageLog.time(tookMillis) + " from " + from.words() + " (" + from.times(restore)
                        + ") after being suspended for "
                        + hudson.Util.getTimeSpanString(now - before.suspendedSinceMillis()) + ": "
                        + restore.processes() + " processes run again.");
        for (String warning : restore.warnings()) {
            StageLog.line(live.context(), "Not as it was before the suspension: " + warning + ".");
        }
        try {
            Run<?, ?> run = live.context().get(Run.class);
            if (run != null && !before.memoryOnly() && !StageImages.delete(run, before.id())) {
                StageLog.line(
                        live.context(),
                        "The image stays among the artifacts, because this artifact manager cannot remove one file;"
                                + " its key is gone, so nobody can read it.");
            }
            List<FlowNode> inFlight = StepsInFlight.of(live).external();
            StageMarks.resumed(live, inFlight);
            StageMarks.went(
                    live,
                    new ResumedStageAction(
                            before.name(),
                            from.name(),
                            from.words(),
                            before.suspendedSinceMillis(),
                            now,
                            tookMillis,
                            before.memoryOnly()),
                    inFlight);
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot tidy up after resuming " + before);
        }
        StageListener.fire(listener -> listener.onResumed(new StageResumed(
                before.ref(), now, tookMillis, Math.max(0, now - before.suspendedSinceMillis()), from.name())));
        live.carryOutKill();
    }

    private static Outcome failed(LiveStage live, AgentStage.Refusal refusal) {
        return failed(live, refusal, true);
    }

    /** @param imageThere whether there is something that a further attempt could resume from */
    private static Outcome failed(LiveStage live, AgentStage.Refusal refusal, boolean imageThere) {
        long now = System.currentTimeMillis();
        Consumer<StageRecord> change = StageChanges.notResumed(RETRY_MILLIS, now);
        if (imageThere) {
            change = change.andThen(StageChanges.undecidedAfter(MOST_FAILURES, refusal.sentence(), now));
        }
        StageRecord stage = StageRegistry.get().settle(live.id(), change);
        if (stage == null) {
            return Outcome.ENDED;
        }
        StageListener.fire(listener -> listener.onRefused(
                new StageRefused(stage.ref(), now, StageRefused.Phase.RESUME, refusal.reason(), refusal.sentence())));
        boolean last = stage.restoreFailures() >= MOST_FAILURES;
        StageLog.refusal(
                live.context(),
                "Not resumed. " + refusal.sentence() + whatFollows(stage, last, refusal),
                refusal.criuLines());
        BodyExecution body = live.body();
        if (last && !imageThere && body != null) {
            FailedResume.end(live, body, refusal.sentence());
            return Outcome.ENDED;
        }
        return Outcome.STAYS_SUSPENDED;
    }

    private static String whatFollows(StageRecord stage, boolean last, AgentStage.Refusal refusal) {
        if (!last) {
            return (refusal.killedCriu() ? " T" : " Nothing of it is lost; t") + "ried again in "
                    + RETRY_MILLIS * stage.restoreFailures() / 1000 + " s.";
        }
        return " This was tried " + MOST_FAILURES + " times"
                + (stage.whyNotResumed() == null
                        ? "."
                        : ": the stage stays suspended, and what it can be resumed from is kept. The page of this build lets you try"
                                + " again, download the image, or give the stage up.");
    }

    /**
     * The agent, the archive or the controller's own disk did not do their part, which says nothing of the stage. It may
     * even run, when only the agent's answer was lost: {@link Sealing} finds that out, and freezes it again.
     */
    private static Outcome outage(LiveStage live, Exception why) {
        LOGGER.log(Level.WARNING, why, () -> "cannot resume stage " + live.id() + " yet");
        long pause = OUTAGE_MILLIS << Math.min(live.outage(), MOST_DOUBLINGS);
        StageRecord stage =
                StageRegistry.get().settle(live.id(), StageChanges.postponed(System.currentTimeMillis() + pause));
        if (stage == null) {
            return Outcome.ENDED;
        }
        StageLog.line(
                live.context(),
                "Resume postponed: the agent or the artifact store is unavailable: "
                        + (why.getMessage() == null ? why.toString() : why.getMessage())
                        + ". The stage waits, nothing of it is lost; tried again in " + StageLog.time(pause) + ".");
        Sealing.takeUp(live.id());
        return Outcome.STAYS_SUSPENDED;
    }

    /** Why a stage whose image could not be restored ended. */
    public static final class NotRestored extends CauseOfInterruption {
        private static final long serialVersionUID = 1L;
        private final String why;

        NotRestored(String why) {
            this.why = why;
        }

        @Override
        public String getShortDescription() {
            return Messages.Resumption_NotRestored(ShownSentence.of(why));
        }
    }
}
