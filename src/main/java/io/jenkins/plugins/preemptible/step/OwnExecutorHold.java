package io.jenkins.plugins.preemptible.step;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Computer;
import hudson.model.Executor;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.Result;
import hudson.security.ACL;
import hudson.security.ACLContext;
import io.jenkins.plugins.preemptible.lifecycle.Resumption;
import io.jenkins.plugins.preemptible.lifecycle.stage.ExecutorHold;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.move.MovingRestorer;
import java.io.IOException;
import java.util.Calendar;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import jenkins.model.CauseOfInterruption;
import jenkins.model.Jenkins;
import jenkins.model.queue.AsynchronousExecution;
import jenkins.util.Timer;
import org.jenkinsci.plugins.workflow.steps.FlowInterruptedException;

/**
 * The executor of an own-executor stage.
 *
 * <ol>
 *   <li>{@link #taken} runs on a fresh executor: it starts the body, or restores the stage, or takes a running stage
 *       up again after a restart; then it throws the execution that keeps the executor.
 *   <li>{@link #release} completes that execution, off the calling thread.
 *   <li>{@link #request} schedules the stage's task anew; it waits in the queue like any other item.
 * </ol>
 *
 * The handle is guarded by this object's monitor, which is never held while Jenkins is called.
 */
final class OwnExecutorHold implements ExecutorHold {

    private final OwnExecutorExecution execution;
    private final String stageId;

    @CheckForNull
    private Held held;
    /** From its arrival until it is given back: a second one, which nobody could free, must not take its place. */
    @CheckForNull
    private Executor owner;

    /** Counts what was put into the queue here; the first one may have come from before the controller's restart. */
    private final AtomicLong requests = new AtomicLong();
    /** The queue was seen without the stage after so many requests: it need not be walked through again. */
    private volatile long withoutItem = -1;
    /** Name of the agent whose executor was asked for last by this process of the controller; null before. */
    @CheckForNull
    private volatile String requestedOn;

    private volatile boolean anywhere;

    OwnExecutorHold(OwnExecutorExecution execution, String stageId) {
        this.execution = execution;
        this.stageId = stageId;
    }

    /** On the executor's own thread. */
    void taken(Executor executor, StageTask.StageExecutable executable) throws AsynchronousExecution {
        synchronized (this) {
            if (owner != null) {
                return;
            }
            owner = executor;
        }
        Held now = null;
        try {
            now = runs(executor, executable) ? new Held(execution) : null;
        } finally {
            synchronized (this) {
                held = now;
                owner = now == null ? null : executor;
            }
        }
        if (now == null) {
            return;
        }
        LiveStage live = LiveStage.find(stageId);
        if (live == null || live.ending()) {
            // The body ended while it was being started: nobody else would free the executor.
            free();
        }
        throw now;
    }

    /** @return false when the executor is not needed */
    private boolean runs(Executor executor, StageTask.StageExecutable executable) {
        try {
            return begin(executor, executable) == Resumption.Outcome.RUNS;
        } catch (InterruptedException x) {
            stopped(executor, executable.getParent().resumes());
        } catch (Exception | Error x) {
            if (!Jenkins.get().isTerminating()) {
                StageBody.ended(stageId, null);
                execution.getContext().onFailure(x);
            }
        }
        return false;
    }

    /** A user pressed the executor's stop button, or the controller goes down. */
    private void stopped(Executor executor, boolean resumes) {
        if (Jenkins.get().isTerminating()) {
            return;
        }
        if (resumes) {
            execution.interrupted(executor);
        } else {
            StageBody.ended(stageId, null);
            execution
                    .getContext()
                    .onFailure(new FlowInterruptedException(
                            Result.ABORTED,
                            true,
                            executor.getCausesOfInterruption().toArray(new CauseOfInterruption[0])));
        }
    }

    private Resumption.Outcome begin(Executor executor, StageTask.StageExecutable executable) throws Exception {
        StageTask task = executable.getParent();
        if (!task.resumes()) {
            return execution.begin(executor) ? Resumption.Outcome.RUNS : Resumption.Outcome.ENDED;
        }
        return Resumption.run(
                stageId,
                executor,
                stage -> MovingRestorer.isNeeded(stage, executor.getOwner()) ? new MovingRestorer() : null);
    }

    @Override
    public boolean mayMoveTo(Node agent) {
        return execution.mayRunOn(agent);
    }

    @Override
    public Queue.BuildableItem asItem(StageRecord stage, Node agent) {
        return new Queue.BuildableItem(new Queue.WaitingItem(
                Calendar.getInstance(), execution.task(stage, agent.getNodeName(), false), List.of()));
    }

    @Override
    public Executor executor(StageRecord stage) {
        for (Computer computer : Jenkins.get().getComputers()) {
            for (Executor executor : computer.getExecutors()) {
                Queue.Executable current = executor.getCurrentExecutable();
                if (current instanceof StageTask.StageExecutable
                        && ((StageTask.StageExecutable) current)
                                .getParent()
                                .stageId()
                                .equals(stageId)) {
                    return executor;
                }
            }
        }
        return null;
    }

    @Override
    public void release(StageRecord stage) throws IOException {
        if (!free()) {
            throw new IOException("the stage has no executor to give away");
        }
    }

    /** @return false when there was none */
    boolean free() {
        Held last;
        synchronized (this) {
            last = held;
            held = null;
            if (last != null) {
                owner = null;
            }
        }
        if (last != null) {
            // Off this thread, and never behind a dump.
            Timer.get().execute(() -> last.completed(null));
        }
        return last != null;
    }

    @Override
    public void abandon() {
        free();
    }

    @Override
    public String requestedOn(StageRecord stage) {
        String agent = requestedOn;
        return agent == null ? stage.node() : agent;
    }

    @Override
    public void request(StageRecord stage) throws IOException {
        request(stage, stage.node());
    }

    @Override
    public void request(StageRecord stage, String agent) throws IOException {
        requestedOn = agent;
        anywhere = false;
        request(execution.task(stage, agent, false));
    }

    @Override
    public void requestAnywhere(StageRecord stage) throws IOException {
        requestedOn = stage.node();
        anywhere = true;
        request(execution.task(stage, stage.node(), false).anywhere());
    }

    @Override
    public boolean requestedAnywhere() {
        return anywhere;
    }

    private void request(StageTask task) throws IOException {
        LiveStage live = LiveStage.find(stageId);
        try (ACLContext system = ACL.as2(ACL.SYSTEM2)) {
            // Under the queue's lock, as cancels of the item are: the decision may be older than an abort.
            boolean taken = Queue.callWithLock(() -> live == null
                    || live.aborting()
                    || Queue.getInstance().schedule2(task, 0).getItem() != null);
            if (!taken) {
                throw new IOException("the queue does not take the stage");
            }
        } finally {
            requests.incrementAndGet();
        }
    }

    @Override
    public void withdraw(StageRecord stage) {
        try (ACLContext system = ACL.as2(ACL.SYSTEM2)) {
            execution.withdrawing(true);
            Queue.getInstance().cancel(execution.task(stage, false));
        } finally {
            execution.withdrawing(false);
        }
    }

    /** The restore runs on the executor's own thread already, and its failure frees it. */
    @Override
    public void takeUp(Executor executor) {}

    @Override
    public boolean canRunAgain() {
        return execution.mayRunAgain();
    }

    @Override
    public void runAgain(String why) {
        execution.endToRunAgain(why);
    }

    /** Whether a cancelled item is our own doing. */
    boolean withdrawing() {
        return execution.withdrawing();
    }

    @Override
    public boolean requested(StageRecord stage) {
        long now = requests.get();
        if (now == withoutItem) {
            return false;
        }
        boolean queued = Queue.getInstance().contains(execution.task(stage, false));
        if (!queued) {
            withoutItem = now;
        }
        return queued;
    }

    /** Keeps the executor busy until {@link #completed}. */
    private static final class Held extends AsynchronousExecution {
        private final OwnExecutorExecution execution;

        Held(OwnExecutorExecution execution) {
            this.execution = execution;
        }

        @Override
        public void interrupt(boolean forShutdown) {
            if (!forShutdown) {
                execution.interrupted(getExecutor());
            }
        }

        @Override
        public boolean blocksRestart() {
            LiveStage live = LiveStage.find(execution.stageId());
            return live != null && live.busy();
        }

        @Override
        public boolean displayCell() {
            return true;
        }
    }
}
