package io.jenkins.plugins.preemptible.lifecycle.agents;

import hudson.model.Computer;
import hudson.model.Descriptor;
import hudson.model.Executor;
import hudson.model.ExecutorListener;
import hudson.model.Queue;
import hudson.model.Slave;
import hudson.slaves.RetentionStrategy;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.util.concurrent.TimeUnit;

/**
 * Stands in for the retention strategy of a cloud's agent while a stage is suspended on it.
 *
 * <ol>
 *   <li>Keeps the end of a task from it, which a once-only strategy takes for the end of the agent; all else it is told.
 *   <li>Does not let it look for idle agents: one that is just connecting looks idle.
 *   <li>Afterwards the agent's own strategy hears of the last end that was kept from it, unless the agent is busy: with the
 *       end of what it runs then, the strategy decides itself.
 * </ol>
 *
 * Saved with the node, it is read as the agent's own strategy.
 */
final class KeepingStrategy extends RetentionStrategy<Computer> implements ExecutorListener {

    /** What waited for the stage's end, such as the rest of its node block, has its executor by then. */
    private static final long SETTLE_MILLIS = TimeUnit.SECONDS.toMillis(5);

    private final RetentionStrategy<Computer> own;
    private transient volatile Runnable keptBack;

    KeepingStrategy(RetentionStrategy<Computer> own) {
        this.own = own;
    }

    RetentionStrategy<Computer> own() {
        return own;
    }

    private Object readResolve() {
        return own;
    }

    /** No stage is suspended on the agent any more, and its own strategy is back. */
    void over(Slave slave) {
        if (keptBack == null) {
            return;
        }
        StageThreads.schedule("giving back " + slave.getNodeName(), SETTLE_MILLIS, () -> {
            Computer computer = slave.toComputer();
            if (computer != null && computer.isIdle() && slave.getRetentionStrategy() == own) {
                keptBack.run();
            }
        });
    }

    @Override
    public long check(Computer computer) {
        if (computer.isOffline()
                && computer.isLaunchSupported()
                && !computer.isConnecting()
                && computer.getOfflineCause() == null) {
            computer.connect(false);
        }
        return 1;
    }

    @Override
    public void start(Computer computer) {
        own.start(computer);
    }

    @Override
    public boolean isManualLaunchAllowed(Computer computer) {
        return own.isManualLaunchAllowed(computer);
    }

    @Override
    public boolean isAcceptingTasks(Computer computer) {
        return own.isAcceptingTasks(computer);
    }

    @Override
    public Descriptor<RetentionStrategy<?>> getDescriptor() {
        return own.getDescriptor();
    }

    @Override
    public void taskAccepted(Executor executor, Queue.Task task) {
        if (own instanceof ExecutorListener listener && !(task instanceof SuspendedStagesTask)) {
            listener.taskAccepted(executor, task);
        }
    }

    @Override
    public void taskStarted(Executor executor, Queue.Task task) {
        if (own instanceof ExecutorListener listener && !(task instanceof SuspendedStagesTask)) {
            listener.taskStarted(executor, task);
        }
    }

    @Override
    public void taskCompleted(Executor executor, Queue.Task task, long durationMillis) {
        if (own instanceof ExecutorListener listener) {
            ended(executor, task, () -> listener.taskCompleted(executor, task, durationMillis));
        }
    }

    @Override
    public void taskCompletedWithProblems(Executor executor, Queue.Task task, long durationMillis, Throwable problems) {
        if (own instanceof ExecutorListener listener) {
            ended(executor, task, () -> listener.taskCompletedWithProblems(executor, task, durationMillis, problems));
        }
    }

    private void ended(Executor executor, Queue.Task task, Runnable told) {
        if (task instanceof SuspendedStagesTask) {
            return;
        }
        if (KeptAgents.holds(executor.getOwner().getName())) {
            keptBack = told;
        } else {
            told.run();
        }
    }
}
