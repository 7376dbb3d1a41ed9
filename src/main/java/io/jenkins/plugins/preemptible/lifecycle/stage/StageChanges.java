package io.jenkins.plugins.preemptible.lifecycle.stage;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Node;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.Event;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import java.util.function.Consumer;

/**
 * What a suspension or a resume changes in a stage's record: one method for each row of the state table in docs/design.md.
 *
 * <p>Each returns a change for {@link StageRegistry#update} or {@link StageRegistry#settle}. No change asks anything: times and
 * keys are passed in.
 */
public final class StageChanges {

    private StageChanges() {}

    /**
     * Who a stage is suspended for.
     *
     * @param preemptor for people; null when the executor is for nobody in particular
     * @param preemptorJob full name of its job; null when it has none
     * @param reason a sentence
     * @param atMillis when the stage was suspended, in milliseconds since 1970
     */
    public record Suspended(
            @CheckForNull String preemptor, @CheckForNull String preemptorJob, String reason, long atMillis) {

        void in(StageRecord stage, Event how) {
            stage.state = StageLifecycle.next(stage.state, how);
            stage.suspendedSinceMillis = atMillis;
            stage.suspensions++;
            stage.preemptor = preemptor;
            stage.preemptorJob = preemptorJob;
            stage.reason = reason;
            triesAnew(stage);
            stage.residentBytes = 0;
            stage.luggage = null;
            stage.luggageMissed = false;
        }
    }

    /** After {@link #frozen}, {@link #frozenOnly} or {@link #dumped}: how much memory it had then. */
    public static Consumer<StageRecord> had(long residentBytes) {
        return stage -> stage.residentBytes = Math.max(0, residentBytes);
    }

    /** What was tried with the image that it had, or was to have, says nothing of another one. */
    static void triesAnew(StageRecord stage) {
        stage.restoreFailures = 0;
        stage.retryAfterMillis = 0;
        stage.whyNotResumed = null;
        stage.unsealed = false;
        stage.notRestorable = false;
    }

    /** It was chosen: RUNNING becomes SUSPENDING. */
    public static Consumer<StageRecord> chosen() {
        return stage -> stage.state = StageLifecycle.next(stage.state, Event.SUSPEND_REQUESTED);
    }

    /**
     * Its processes are frozen and its executor may go: SUSPENDING becomes SUSPENDED, frozen.
     *
     * @param key of the image that follows; null when none does
     */
    public static Consumer<StageRecord> frozen(Suspended suspended, boolean memoryOnly, @CheckForNull Secret key) {
        return stage -> {
            suspended.in(stage, Event.FROZEN);
            stage.frozen = true;
            stage.memoryOnly = memoryOnly;
            stage.imageKey = key;
            stage.archiveBytes = 0;
        };
    }

    /**
     * It cannot be dumped: its processes are frozen for a time, and its executor may go. SUSPENDING becomes SUSPENDED, frozen.
     *
     * @param thawByMillis by when it is to run again, in milliseconds since 1970
     */
    public static Consumer<StageRecord> frozenOnly(Suspended suspended, long thawByMillis) {
        return stage -> {
            // That was for the sake of an image which there will not be.
            stage.memoryOnly &= !stage.notRestorable;
            suspended.in(stage, Event.FROZEN);
            stage.frozen = true;
            stage.thawByMillis = thawByMillis;
            stage.tieTold = true;
            stage.imageKey = null;
            stage.archiveBytes = 0;
        };
    }

    /**
     * Its image was made first and is safe: SUSPENDING becomes SUSPENDED.
     *
     * @param archiveBytes size of the sealed image
     * @param luggage its workspace; null when that is not sealed
     */
    public static Consumer<StageRecord> dumped(
            Suspended suspended, Secret key, long archiveBytes, @CheckForNull SealedLuggage luggage) {
        return stage -> {
            suspended.in(stage, Event.DUMPED);
            stage.frozen = false;
            stage.memoryOnly = false;
            stage.imageKey = key;
            stage.imageFile = ImagePath.FILE;
            stage.archiveBytes = archiveBytes;
            stage.luggage = luggage;
        };
    }

    /** A process entered at the last moment, and the engine thawed the stage: its suspension did not happen. */
    public static Consumer<StageRecord> runsAfterAll() {
        return stage -> {
            stage.state = StageLifecycle.next(StageLifecycle.next(stage.state, Event.RESUME_REQUESTED), Event.RESTORED);
            stage.suspensions--;
            stage.imageKey = null;
        };
    }

    /** A restart of the controller, or a failure, cut its suspension or resume off: it is where it was before. */
    public static Consumer<StageRecord> cutOff() {
        return stage -> {
            if (stage.state == StageState.SUSPENDING) {
                stage.state = StageLifecycle.next(stage.state, Event.DUMP_FAILED);
            } else if (stage.state == StageState.RESUMING) {
                stage.state = StageLifecycle.next(stage.state, Event.RESTORE_FAILED);
            }
        };
    }

    /** Of one whose suspension did not come about, and that was restored: it runs, and a process gets into it by this. */
    public static Consumer<StageRecord> restoredInPlace(EnterCommand enter) {
        return cutOff().andThen(stage -> stage.opened(enter, null));
    }

    /**
     * Of a suspended stage: its agent holds it frozen.
     *
     * @param key of the image that is made now; null when none is
     */
    public static Consumer<StageRecord> heldFrozen(@CheckForNull Secret key) {
        return stage -> {
            stage.frozen = true;
            stage.imageKey = key;
            stage.luggage = null;
            stage.luggageMissed = false;
        };
    }

    /** After {@link #heldFrozen}: by when it is to run again, since it cannot be dumped; 0 when it can. */
    public static Consumer<StageRecord> thawBy(long millis) {
        return stage -> stage.thawByMillis = millis;
    }

    /**
     * The image of a frozen stage is safe: its frozen processes may be killed.
     *
     * @param archiveBytes size of the sealed image
     * @param luggage its workspace; null when that is not sealed
     */
    public static Consumer<StageRecord> sealed(long archiveBytes, @CheckForNull SealedLuggage luggage) {
        return stage -> {
            stage.state = StageLifecycle.next(stage.state, Event.DUMPED);
            stage.frozen = false;
            stage.unsealed = false;
            stage.imageFile = ImagePath.FILE;
            stage.archiveBytes = archiveBytes;
            stage.luggage = luggage;
        };
    }

    /** Of a frozen stage: its agent makes no images any more. */
    public static Consumer<StageRecord> inMemoryOnly() {
        return stage -> {
            stage.memoryOnly = true;
            stage.imageKey = null;
        };
    }

    /** Of a frozen stage: its image was tried and cannot be restored. */
    public static Consumer<StageRecord> notRestorable() {
        return stage -> {
            stage.memoryOnly = true;
            stage.notRestorable = true;
            stage.imageKey = null;
        };
    }

    /** Of a frozen stage: no further attempt is made at an image. */
    public static Consumer<StageRecord> unsealed() {
        return stage -> stage.unsealed = true;
    }

    /** An executor arrived: SUSPENDED becomes RESUMING. From now on it may run, and change its workspace. */
    public static Consumer<StageRecord> resuming() {
        return stage -> {
            stage.state = StageLifecycle.next(stage.state, Event.RESUME_REQUESTED);
            stage.luggageMissed = false;
        };
    }

    /**
     * It runs: RESUMING becomes RUNNING, and the key of its image is dropped.
     *
     * @param enter how a process gets into its sandbox now
     * @param from what it was resumed from, in words
     * @param nowMillis in milliseconds since 1970
     */
    public static Consumer<StageRecord> resumed(@CheckForNull EnterCommand enter, String from, long nowMillis) {
        return stage -> {
            stage.state = StageLifecycle.next(stage.state, Event.RESTORED);
            stage.runningSinceMillis = nowMillis;
            stage.withoutExecutorMillis += Math.max(0, nowMillis - stage.suspendedSinceMillis);
            stage.opened(enter, null);
            stage.contained(null);
            stage.imageKey = null;
            stage.luggage = null;
            stage.frozen = false;
            stage.restoreFailures = 0;
            stage.whyNotResumed = null;
            stage.resumedFrom = from;
            stage.lastFrozenMillis = stage.thawByMillis == 0 ? 0 : Math.max(0, nowMillis - stage.suspendedSinceMillis);
            if (stage.thawByMillis > 0) {
                // Who wanted it suspended has had that; else it would be frozen again at once, for ever.
                stage.notByHand();
                stage.thawByMillis = 0;
            }
            stage.moveTo = null;
            if (!stage.node.equals(stage.restoringOn)) {
                LuggageChanges.leavesAsked(stage);
            }
            stage.restoringOn = null;
            stage.restoringHost = null;
        };
    }

    /** After {@link #resumed}: how a process gets into its part in a container now; null where it has none. */
    public static Consumer<StageRecord> contained(@CheckForNull EnterCommand.Contained contained) {
        return stage -> stage.contained(contained);
    }

    /**
     * Before {@link #resumed}: it runs on this agent now, which may be another one than before, or have another host.
     *
     * @param hostToken of its host; empty when that is not known
     */
    public static Consumer<StageRecord> runsOn(Node agent, String hostToken) {
        return stage -> {
            LuggageChanges.leaves(stage, hostToken, stage.node.equals(agent.getNodeName()));
            if (!stage.node.equals(agent.getNodeName())) {
                stage.node = agent.getNodeName();
                stage.moves++;
                stage.notByHand();
                stage.withNode(agent);
            }
        };
    }

    /** As {@link #restoringOn(String, String)}, of an agent whose host is not known; with null: what was asked has answered. */
    public static Consumer<StageRecord> restoringOn(@CheckForNull String agent) {
        return stage -> {
            stage.restoringOn = agent;
            stage.restoringHost = null;
        };
    }

    /**
     * Of a suspended stage: another agent is asked to restore it. One that was asked before, and has not answered, is given up.
     *
     * @param hostToken of its host; empty when that is not known
     */
    public static Consumer<StageRecord> restoringOn(String agent, String hostToken) {
        return stage -> {
            LuggageChanges.leavesAsked(stage);
            stage.restoringOn = agent;
            stage.restoringHost = hostToken;
        };
    }

    /**
     * Of a suspended stage: the agent that was asked to restore it is not waited for any more. What its host may have of the stage
     * is ended when that connects, by whatever name.
     */
    public static Consumer<StageRecord> askedInVain() {
        return stage -> {
            LuggageChanges.leavesAsked(stage);
            stage.restoringOn = null;
            stage.restoringHost = null;
            if (stage.retryAfterMillis != Long.MAX_VALUE) {
                // The pause was for that agent's sake.
                stage.retryAfterMillis = 0;
            }
        };
    }

    /** A user wants it resumed on that agent, and suspended before where it runs; null takes that back. See {@link MoveWish}. */
    public static Consumer<StageRecord> moveTo(@CheckForNull String agent) {
        return stage -> stage.moveTo = agent;
    }

    /**
     * The engine refused its restore: RESUMING becomes SUSPENDED. It is tried again after a pause that grows with the failures.
     *
     * @param pauseMillis after the first failure
     * @param nowMillis in milliseconds since 1970
     */
    public static Consumer<StageRecord> notResumed(long pauseMillis, long nowMillis) {
        return stage -> {
            stage.state = StageLifecycle.next(stage.state, Event.RESTORE_FAILED);
            stage.restoreFailures++;
            stage.retryAfterMillis = nowMillis + pauseMillis * stage.restoreFailures;
            LuggageChanges.treeEnded(true).accept(stage);
        };
    }

    /**
     * Of a suspended stage, after {@link #notResumed}: from that many failures on it waits for a decision of people.
     *
     * @param why a sentence
     * @param nowMillis in milliseconds since 1970
     */
    public static Consumer<StageRecord> undecidedAfter(int failures, String why, long nowMillis) {
        return stage -> {
            if (stage.restoreFailures >= failures) {
                stage.whyNotResumed = why;
                stage.notResumedSinceMillis = nowMillis;
                stage.retryAfterMillis = Long.MAX_VALUE;
            }
        };
    }

    /** Its agent or the artifact store did not answer: it stays suspended, and is tried again then. */
    public static Consumer<StageRecord> postponed(long untilMillis) {
        return stage -> {
            if (stage.state == StageState.RESUMING) {
                stage.state = StageLifecycle.next(stage.state, Event.RESTORE_FAILED);
            }
            stage.retryAfterMillis = untilMillis;
        };
    }

    /** People decided that it is to be resumed: its failures count no more. */
    public static Consumer<StageRecord> tryAgain() {
        return stage -> {
            stage.notByHand();
            stage.whyNotResumed = null;
            stage.restoreFailures = 0;
            stage.retryAfterMillis = 0;
        };
    }

    /** Nothing can be resumed from its image any more. */
    public static Consumer<StageRecord> imageUseless() {
        return stage -> stage.imageKey = null;
    }

    /** It fails since it could not be restored: an image that it has is kept, with its key. */
    public static Consumer<StageRecord> givenUp() {
        return stage -> stage.imageKept = !stage.frozen && stage.imageKey != null;
    }

    /**
     * A preflight has seen the running stage.
     *
     * @param obstacle why it cannot be suspended as it is, in words; null when it can
     * @param undumpable whether something of it cannot be dumped
     * @param tie what keeps it from being dumped but not from being frozen, in words; null when nothing does
     */
    public static Consumer<StageRecord> seen(
            @CheckForNull String obstacle, boolean undumpable, @CheckForNull String tie) {
        return stage -> {
            stage.leak = obstacle;
            stage.tie = tie;
            stage.everUndumpable |= undumpable;
        };
    }
}
