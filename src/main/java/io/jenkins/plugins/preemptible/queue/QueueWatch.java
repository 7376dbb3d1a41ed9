package io.jenkins.plugins.preemptible.queue;

import hudson.Extension;
import hudson.model.PeriodicWork;
import hudson.model.Queue;
import hudson.model.Run;
import hudson.model.TaskListener;
import hudson.model.listeners.RunListener;
import hudson.model.queue.QueueListener;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.PlaceholderAccess;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.lifecycle.suspend.Suspension;
import io.jenkins.plugins.preemptible.queue.snapshot.Reservations;
import io.jenkins.plugins.preemptible.view.PreemptorAction;
import io.jenkins.plugins.preemptible.view.WaitReasonAction;
import java.util.concurrent.TimeUnit;
import org.jenkinsci.plugins.workflow.flow.FlowExecutionOwner;

/**
 * Notices when an item waits, when one has started, and when time has passed.
 *
 * <ol>
 *   <li>An item that becomes buildable is looked at {@value #SETTLE_MILLIS} ms later: if an executor was free for it,
 *       Jenkins has dispatched it by then.
 *   <li>An item that leaves the queue ends its reservation, and what waited behind it is looked at.
 *   <li>{@link Clock} looks every few seconds for what no event tells: time slices, exempt times, retries.
 * </ol>
 *
 * The listener runs under the queue's lock: it asks for looks and nothing else.
 */
@Extension
public final class QueueWatch extends QueueListener {

    static final long SETTLE_MILLIS = 100;

    @Override
    public void onEnterBuildable(Queue.BuildableItem item) {
        if (!StageRegistry.get().isEmpty()) {
            Preemption.soon(SETTLE_MILLIS);
        }
    }

    @Override
    public void onLeft(Queue.LeftItem item) {
        StageRecord nested = StageRegistry.get().ofPlaceholder(PlaceholderAccess.context(item.task));
        LiveStage live = nested == null ? null : LiveStage.find(nested.id());
        if (live != null) {
            live.block(null);
        }
        Reservations.Reservation reservation = Reservations.get().drop(Reservations.holder(item));
        if (reservation != null && !item.isCancelled()) {
            StageThreads.submit("telling of " + item, () -> Preemptor.started(item, reservation));
        } else if (reservation != null && !reservation.open()) {
            StageThreads.soonFor(
                    StageThreads.agentOf(reservation.stageId()),
                    "giving back what was being freed for " + item,
                    () -> Suspension.cancel(reservation.stageId()));
        }
        if (!StageRegistry.get().isEmpty()) {
            Preemption.soon(SETTLE_MILLIS);
        }
    }

    /** Looks at the queue now and then, whatever happens. */
    @Extension
    public static final class Clock extends PeriodicWork {
        @Override
        public long getRecurrencePeriod() {
            return Long.getLong(QueueWatch.class.getName() + ".periodMillis", TimeUnit.SECONDS.toMillis(5));
        }

        @Override
        public long getInitialDelay() {
            return getRecurrencePeriod();
        }

        @Override
        protected void doRun() {
            Preemption.soon(0);
        }
    }

    /** Says in a build's own log that it preempted a stage. Pipelines are told where their node block starts. */
    @Extension
    public static final class OfBuilds extends RunListener<Run<?, ?>> {
        @Override
        public void onStarted(Run<?, ?> run, TaskListener listener) {
            PreemptorAction story = run.getAction(PreemptorAction.class);
            if (story != null && !(run instanceof FlowExecutionOwner.Executable)) {
                listener.getLogger()
                        .println(StageLog.MARK
                                + story.sentenceForLog(run.getParent().getFullName()));
            }
            WaitReasonAction waited = run.getAction(WaitReasonAction.class);
            if (story == null && waited != null && waited.getReason() != Reason.EXECUTOR_FREE_ALREADY) {
                listener.getLogger().println(StageLog.MARK + "Waited for an executor. " + waited.getSentence());
            }
        }
    }
}
