package io.jenkins.plugins.preemptible.queue;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.engine.policy.Action;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What the policy saw and said last, for those who want to know why something waits.
 *
 * <ol>
 *   <li>Every look at the queue replaces it as a whole; nothing is kept of earlier ones, or over a restart.
 *   <li>An answer is found by whom it is about: a queue item's number or a stage's id.
 *   <li>It may be some seconds old: code that acts on it evaluates again.
 * </ol>
 *
 * Safe for any thread.
 */
public final class LastDecision {

    private static final LastDecision NONE = new LastDecision(null, List.of());

    private static volatile LastDecision last = NONE;

    @CheckForNull
    private final Snapshot snapshot;

    private final List<Action> actions;
    private final Map<String, Action> byClaimant;
    /** Made at the first request. */
    @CheckForNull
    private Map<String, Integer> priorities;

    private LastDecision(@CheckForNull Snapshot snapshot, List<Action> actions) {
        this.snapshot = snapshot;
        this.actions = actions;
        this.byClaimant = new HashMap<>(2 * actions.size());
        for (Action action : actions) {
            if (action.claimant() != null) {
                byClaimant.put(action.claimant(), action);
            }
        }
    }

    public static LastDecision get() {
        return last;
    }

    static void is(Snapshot snapshot, List<Action> actions) {
        last = new LastDecision(snapshot, actions);
    }

    /** No stage is known, so there is nothing to decide. */
    static void none() {
        last = NONE;
    }

    /** What the policy saw; null when nothing was decided yet, or there is no stage. */
    @CheckForNull
    public Snapshot snapshot() {
        return snapshot;
    }

    /** The priority that a waiting item had; null when it was not there. */
    @CheckForNull
    public synchronized Integer priority(String item) {
        if (priorities == null) {
            priorities = new HashMap<>();
            if (snapshot != null) {
                for (Snapshot.WaitingItem waiting : snapshot.waiting()) {
                    priorities.put(waiting.id(), waiting.priority());
                }
            }
        }
        return priorities.get(item);
    }

    /** In the policy's order. */
    public List<Action> actions() {
        return actions;
    }

    /**
     * What was decided about an item or a suspended stage.
     *
     * @param claimant a queue item's number or a stage's id
     */
    @CheckForNull
    public Action of(String claimant) {
        return byClaimant.get(claimant);
    }
}
