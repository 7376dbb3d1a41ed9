package io.jenkins.plugins.preemptible.lifecycle;

import hudson.AbortException;
import hudson.FilePath;
import hudson.model.Executor;
import hudson.model.Node;
import hudson.model.Run;
import hudson.model.TaskListener;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.Event;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Suspends one running stage: from the decision to the executor's release.
 *
 * <ol>
 *   <li>Looks once more whether the stage may be suspended at this moment: every step in it an external process.
 *   <li>Freezes, dumps and seals on the agent; archives the image with the build; saves the state; only then kills the
 *       frozen tree and gives the executor away.
 *   <li>Whatever fails before that last line thaws the tree: the stage runs on and the preemptor waits.
 * </ol>
 *
 * Runs on {@link StageThreads}; holds the stage's {@code operation} lock all along.
 */
public final class Suspension {

    private static final Logger LOGGER = Logger.getLogger(Suspension.class.getName());
    /** Between two `sh` steps, or beside a checkout: worth another look soon, and not worth a line in the log. */
    private static final long BUSY_RETRY_MILLIS = TimeUnit.SECONDS.toMillis(1);
    /** CRIU refused: the cause seldom goes away by itself. */
    private static final long REFUSED_RETRY_MILLIS = TimeUnit.MINUTES.toMillis(5);

    /**
     * For whom and why.
     *
     * @param preemptor for people
     * @param stillWanted asked when the image is safe: false gives the executor back to the stage at once
     * @param beforeRelease run right before the executor is free, so that nobody slips in
     */
    public record Request(
            String preemptor, Reason reason, BooleanSupplier stillWanted, Runnable beforeRelease) {}

    private final LiveStage live;
    private final Request request;
    private final long began = System.nanoTime();

    private Suspension(LiveStage live, Request request) {
        this.live = live;
        this.request = request;
    }

    /**
     * Suspends the stage.
     *
     * @return whether its executor was given away
     */
    public static boolean run(String stageId, Request request) {
        LiveStage live = LiveStage.find(stageId);
        if (live == null || !live.operation.tryLock()) {
            return false;
        }
        try {
            return new Suspension(live, request).suspend();
        } catch (InterruptedException x) {
            Thread.currentThread().interrupt();
            return false;
        } catch (Exception x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot suspend stage " + stageId);
            return false;
        } finally {
            live.operation.unlock();
        }
    }

    private boolean suspend() throws Exception {
        StageRecord stage = StageRegistry.get().find(live.id());
        if (stage == null || stage.state != StageState.RUNNING || live.ending() || stage.enterCommand == null) {
            return false;
        }
        int launchesBefore = live.launches();
        StepsInFlight steps = StepsInFlight.of(live.context());
        Executor executor = live.hold().executor(stage);
        if (steps.objection() != null || executor == null) {
            retryAfter(BUSY_RETRY_MILLIS);
            return false;
        }
        Node node = executor.getOwner().getNode();
        AgentStage agent = AgentStage.on(node, stage.id);
        Secret key = Secret.fromString(ImageKey.generate().export());
        StageRegistry.get().update(stage.id, s -> s.state = StageLifecycle.next(s.state, Event.SUSPEND_REQUESTED));
        StageLog.line(
                live.context(),
                "Suspending this stage for " + request.preemptor() + ": " + request.reason().sentence());

        AgentStage.Dump dump;
        try {
            dump = agent.dump(key.getPlainText(), stage.controlFolders());
        } catch (IOException | RuntimeException x) {
            giveBack(agent, "Not suspended, the agent did not answer: " + x + ". The stage runs on.", BUSY_RETRY_MILLIS);
            return false;
        }
        if (dump.refusal() != null) {
            refused(dump);
            return false;
        }
        try {
            // A step whose result was read before the freeze has ended by now, and its next one has no process yet.
            boolean wentOn = live.launches() != launchesBefore || !steps.equals(StepsInFlight.of(live.context()));
            if (wentOn || live.ending() || live.aborting()) {
                giveBack(agent, "Not suspended: the stage went on to its next step. It runs on.", BUSY_RETRY_MILLIS);
                return false;
            }
            archive(agent);
        } catch (IOException | RuntimeException x) {
            giveBack(
                    agent,
                    "Not suspended, the image could not be archived: " + x.getMessage()
                            + ". The stage runs on; make room for its artifacts, or look at the controller's log.",
                    REFUSED_RETRY_MILLIS);
            LOGGER.log(Level.WARNING, x, () -> "cannot archive the image of " + stage);
            return false;
        }
        if (!request.stillWanted().getAsBoolean()) {
            StageImages.delete(live.context().get(Run.class), stage.id);
            giveBack(agent, request.preemptor() + " does not wait any more. The stage runs on.", 0);
            return false;
        }
        return commit(stage, agent, executor, key, dump, steps);
    }

    private void archive(AgentStage agent) throws IOException, InterruptedException {
        Run<?, ?> run = live.context().get(Run.class);
        TaskListener listener = live.context().get(TaskListener.class);
        if (run == null || listener == null) {
            throw new AbortException("the build does not answer any more");
        }
        FilePath exchange = agent.exchange();
        StageImages.store(run, live.id(), exchange, listener);
    }

    /** @return whether the executor was given away */
    private boolean commit(
            StageRecord before, AgentStage agent, Executor executor, Secret key, AgentStage.Dump dump, StepsInFlight steps)
            throws InterruptedException {
        long now = System.currentTimeMillis();
        StageRecord stage = StageRegistry.get().update(before.id, s -> {
            s.state = StageLifecycle.next(s.state, Event.DUMPED);
            s.suspendedSinceMillis = now;
            s.suspensions++;
            s.preemptor = request.preemptor();
            s.reason = request.reason().sentence();
            s.imageKey = key;
            s.imageBytes = dump.imageBytes();
            s.archiveBytes = dump.archiveBytes();
            s.restoreFailures = 0;
            s.retryAfterMillis = 0;
        });
        if (stage == null) {
            return false;
        }
        try {
            agent.commit();
        } catch (IOException | RuntimeException x) {
            // The image is safe and the tree is frozen: whoever restores it kills what is left first.
            LOGGER.log(Level.WARNING, x, () -> "the frozen processes of " + stage + " could not be killed yet");
        }
        String slot = executor.getOwner().getDisplayName() + " #" + executor.getNumber();
        request.beforeRelease().run();
        try {
            live.hold().release(stage);
        } catch (IOException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot give the executor of " + stage + " away; it goes on at once");
            Resumption.run(stage.id, executor);
            return false;
        }
        StageLog.line(
                live.context(),
                "Suspended in " + StageLog.time(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began)) + " (freeze "
                        + dump.frozenMillis() + " ms, dump " + dump.dumpMillis() + " ms, seal " + dump.archiveMillis()
                        + " ms): " + dump.processes() + " processes, " + StageLog.size(dump.imageBytes())
                        + " of memory and state, sealed into " + StageLog.size(dump.archiveBytes()) + ". Executor "
                        + slot + " goes to " + request.preemptor() + ".");
        StageMarks.suspended(live.context(), stage, steps.external());
        return true;
    }

    private void refused(AgentStage.Dump dump) {
        StageRegistry.get().update(live.id(), s -> s.state = StageLifecycle.next(s.state, Event.DUMP_FAILED));
        boolean justBusy = "OBJECTION".equals(dump.reason()) || "STAGE_BUSY".equals(dump.reason());
        retryAfter(justBusy ? BUSY_RETRY_MILLIS : REFUSED_RETRY_MILLIS);
        StageLog.refusal(
                live.context(),
                "Not suspended. " + dump.refusal() + " The stage runs on, " + request.preemptor() + " waits.",
                dump.criuLines());
    }

    private void giveBack(AgentStage agent, String why, long retryMillis) throws InterruptedException {
        try {
            agent.thaw();
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot thaw stage " + live.id() + " now; tried again soon");
            StageThreads.schedule("thawing stage " + live.id(), BUSY_RETRY_MILLIS, agent::thaw);
        }
        StageRegistry.get().update(live.id(), s -> s.state = StageLifecycle.next(s.state, Event.DUMP_FAILED));
        retryAfter(retryMillis);
        StageLog.line(live.context(), why);
    }

    private void retryAfter(long millis) {
        long until = millis == 0 ? 0 : System.currentTimeMillis() + millis;
        StageRegistry.get().update(live.id(), s -> s.retryAfterMillis = until);
    }
}
