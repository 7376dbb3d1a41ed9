package io.jenkins.plugins.preemptible.queue;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.Nullable;
import hudson.model.Item;
import hudson.model.Queue;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.event.PreemptorStarted;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.queue.snapshot.Reservations;
import io.jenkins.plugins.preemptible.queue.snapshot.WaitingItems;
import io.jenkins.plugins.preemptible.view.LoggedName;
import io.jenkins.plugins.preemptible.view.Messages;
import io.jenkins.plugins.preemptible.view.PreemptorAction;

/**
 * The one for whom a stage is suspended: a queue item, or a suspended stage whose turn it is.
 *
 * <ol>
 *   <li>{@link #chosen} puts the story on the queue item: whom it preempts, where and why.
 *   <li>{@link #served} and {@link #started} add how long it took.
 *   <li>A Pipeline's block gets the story into its build's log and page as well; a freestyle build has it by
 *       the item's action.
 * </ol>
 */
final class Preemptor {

    /** Null when the preemptor is a suspended stage. */
    @Nullable
    private final Queue.BuildableItem item;

    private final String name;
    private final String holder;

    private Preemptor(@Nullable Queue.BuildableItem item, String holder, String name) {
        this.item = item;
        this.holder = holder;
        this.name = name;
    }

    /** The one whom the policy calls by this name in that snapshot, or null when it is gone. */
    @CheckForNull
    static Preemptor of(String holder, WaitingItems items) {
        Queue.BuildableItem item = items.item(holder);
        if (item != null) {
            return new Preemptor(item, holder, item.task.getFullDisplayName());
        }
        StageRecord stage = StageRegistry.get().find(holder);
        return stage == null
                ? null
                : new Preemptor(null, holder, Messages.Preemptor_Stage(stage.name(), stage.build()));
    }

    String name() {
        return name;
    }

    /** Full name of its job; null when it has none. */
    @CheckForNull
    String job() {
        if (item == null) {
            StageRecord stage = StageRegistry.get().find(holder);
            return stage == null ? null : stage.job();
        }
        return job(item);
    }

    @CheckForNull
    private static String job(Queue.Item item) {
        Queue.Task owner = item.task.getOwnerTask();
        return owner instanceof Item ? ((Item) owner).getFullName() : null;
    }

    void chosen(StageRecord victim, Reason reason) {
        if (item != null) {
            item.addOrReplaceAction(new PreemptorAction(
                    victim.build(),
                    victim.job(),
                    victim.name(),
                    victim.node().isEmpty() ? Messages.Preemptor_BuiltIn() : victim.node(),
                    reason.sentence(),
                    System.currentTimeMillis()));
        }
    }

    /** Whether the executor would still be of use. */
    boolean waits() {
        if (item == null) {
            LiveStage live = LiveStage.find(holder);
            StageRecord stage = StageRegistry.get().find(holder);
            return live != null
                    && stage != null
                    && stage.state() == StageState.SUSPENDED
                    && !stage.heldByHand(System.currentTimeMillis())
                    && !live.ending()
                    && !live.aborting();
        }
        Queue.Item now = Queue.getInstance().getItem(item.getId());
        return now instanceof Queue.BuildableItem && !((Queue.BuildableItem) now).isPending();
    }

    /** @param tookMillis from the request until the executor was free, as the victim's log has it */
    void served(long tookMillis) {
        PreemptorAction story = item == null ? null : item.getAction(PreemptorAction.class);
        if (story != null) {
            story.suspended(story.getRequestedMillis() + tookMillis);
        }
    }

    void notServed() {
        if (item != null) {
            item.removeActions(PreemptorAction.class);
        }
    }

    /** The item has left the queue for its executor. Off the queue's lock. */
    static void started(Queue.LeftItem item, Reservations.Reservation reservation) {
        PreemptorAction story = item.getAction(PreemptorAction.class);
        long now = System.currentTimeMillis();
        String why = null;
        if (story != null) {
            if (story.getSuspendedMillis() == 0) {
                story.suspended(reservation.openMillis());
            }
            story.started(now);
            why = story.getReason();
        }
        LiveStage live = LiveStage.find(reservation.stageId());
        StageRecord victim = StageRegistry.get().find(reservation.stageId());
        String name = victim == null
                ? null
                : LoggedName.ofPreemptor(item.task.getFullDisplayName(), job(item), victim.job(), why);
        if (live != null && name != null) {
            StageLog.line(
                    live.context(),
                    LoggedName.atBeginning(name) + " has the executor, "
                            + StageLog.time(now - reservation.sinceMillis()) + " after the decision.");
            StageListener.fire(listener -> listener.onPreemptorStarted(
                    new PreemptorStarted(victim.ref(), now, now - reservation.sinceMillis())));
        }
        if (story != null) {
            tellBuild(item, story);
        }
    }

    private static void tellBuild(Queue.LeftItem item, PreemptorAction story) {
        WaitingPipeline build = WaitingPipeline.of(item.task);
        Run<?, ?> run = build == null ? null : build.build();
        if (run != null) {
            build.line(story.sentenceForLog(run.getParent().getFullName()));
            run.addAction(story);
        }
    }
}
