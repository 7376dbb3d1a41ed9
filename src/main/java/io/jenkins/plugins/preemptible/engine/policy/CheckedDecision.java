package io.jenkins.plugins.preemptible.engine.policy;

import io.jenkins.plugins.preemptible.engine.policy.Snapshot.WaitingItem;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * A decision on a snapshot whose items may be said to fit more agents than they do.
 *
 * <ol>
 *   <li>{@link PreemptionPolicy#decide} decides.
 *   <li>Items for which something would be done, or to which an executor is promised, are checked: the caller says which
 *       agents they really fit. There are no more of them than executors, and frozen stages that are resumed.
 *   <li>So is the item by which a frozen stage gets its executor first: one that would keep it beyond the stage's time.
 *   <li>Where that is another answer than the snapshot's, the policy decides again.
 * </ol>
 *
 * What is done is then the same as if every item had been checked before; only the reason of an item for which nothing is
 * done may differ, whether the next executor is kept for a stage that waits long, and whether a stage moves rather than waits
 * for its own agent. A pure function when the check is
 * one. Safe for any thread.
 *
 * @param snapshot with the agents that the checked items fit
 * @param checked ids of the items whose agents are certain
 */
public record CheckedDecision(Snapshot snapshot, List<Action> actions, Set<String> checked) {

    /** Waiting costs an item nothing only as long as no executor is promised or awaited for it. */
    private static final Set<Reason> AT_STAKE =
            Set.of(Reason.EXECUTOR_FREE_ALREADY, Reason.AGENT_ON_ITS_WAY, Reason.EXECUTOR_RESERVED, Reason.ENDS_SOON);

    /**
     * Decides.
     *
     * @param agentsOf names of the agents that an item fits; asked once for each item that matters
     * @param mostRounds how often the policy may decide, at least 1; after the last one items may be left unchecked
     */
    public static CheckedDecision of(Snapshot snapshot, Function<WaitingItem, Set<String>> agentsOf, int mostRounds) {
        Snapshot now = snapshot;
        Set<String> checked = new HashSet<>();
        for (int round = 1; ; round++) {
            List<Action> actions = PreemptionPolicy.decide(now);
            Set<String> matter = actions.stream()
                    .filter(CheckedDecision::isAtStake)
                    .map(Action::claimant)
                    .filter(claimant -> claimant != null && !checked.contains(claimant))
                    .collect(Collectors.toCollection(HashSet::new));
            matter.addAll(outlasting(now, actions, checked));
            if (matter.isEmpty() || round == mostRounds) {
                return new CheckedDecision(now, actions, checked);
            }
            Map<String, WaitingItem> changed = new HashMap<>();
            for (WaitingItem item : now.waiting()) {
                if (matter.contains(item.id())) {
                    Set<String> fitting = agentsOf.apply(item);
                    checked.add(item.id());
                    if (!fitting.equals(item.agents())) {
                        changed.put(item.id(), item.fitting(fitting));
                    }
                }
            }
            if (changed.isEmpty()) {
                return new CheckedDecision(now, actions, checked);
            }
            List<WaitingItem> waiting = new ArrayList<>(now.waiting());
            waiting.replaceAll(item -> changed.getOrDefault(item.id(), item));
            now = now.withWaiting(waiting);
        }
    }

    /** For each stage that would be resumed or has an executor freed: the best of the items that it goes before, unless it is checked. */
    private static Set<String> outlasting(Snapshot snapshot, List<Action> actions, Set<String> checked) {
        Set<String> gets = actions.stream()
                .filter(action -> action instanceof Action.Resume || isAtStake(action))
                .map(Action::claimant)
                .collect(Collectors.toSet());
        return snapshot.suspended().stream()
                .filter(stage -> gets.contains(stage.id()))
                .flatMap(stage -> Claim.outlasting(stage, snapshot)
                        .min(Comparator.comparingInt(WaitingItem::priority)
                                .thenComparing(item -> !checked.contains(item.id())))
                        .stream())
                .map(WaitingItem::id)
                .filter(id -> !checked.contains(id))
                .collect(Collectors.toSet());
    }

    private static boolean isAtStake(Action action) {
        return action instanceof Action.Freeing || AT_STAKE.contains(action.reason());
    }

    /** Whether the action may be carried out: it is not for an item that was left unchecked. */
    public boolean isCertain(Action action) {
        return !(action instanceof Action.Freeing freeing)
                || freeing.forItem() == null
                || checked.contains(freeing.forItem())
                || snapshot.suspended().stream().anyMatch(stage -> stage.id().equals(freeing.forItem()));
    }
}
