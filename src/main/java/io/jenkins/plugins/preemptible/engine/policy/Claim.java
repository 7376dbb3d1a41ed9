package io.jenkins.plugins.preemptible.engine.policy;

import io.jenkins.plugins.preemptible.engine.policy.Snapshot.SuspendedStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.WaitingItem;
import java.util.Comparator;
import java.util.Set;
import java.util.TreeSet;

/**
 * A wish for one executor, of a waiting item or of a suspended stage.
 *
 * <ol>
 *   <li>Better priority goes first, then who waits longer.
 *   <li>Of two that wait equally long the stage goes first: it has begun already; then the id decides.
 *   <li>Only agents that accept builds are among its agents, in the order of their names.
 * </ol>
 */
record Claim(
        String id,
        boolean isStage,
        int priority,
        long sinceMillis,
        TreeSet<String> agents,
        String reservedAgent,
        boolean requested) {

    static final Comparator<Claim> BEST_FIRST = Comparator.comparingInt(Claim::priority)
            .thenComparingLong(Claim::sinceMillis)
            .thenComparing(claim -> !claim.isStage)
            .thenComparing(Claim::id);

    static Claim of(WaitingItem item, Set<String> accepting) {
        return new Claim(
                item.id(),
                false,
                item.priority(),
                item.sinceMillis(),
                among(item.agents(), accepting),
                item.reservedAgent(),
                false);
    }

    static Claim of(SuspendedStage stage, Set<String> accepting) {
        return new Claim(
                stage.id(),
                true,
                stage.priority(),
                stage.sinceMillis(),
                among(stage.agents(), accepting),
                stage.reservedAgent(),
                stage.requested());
    }

    private static TreeSet<String> among(Set<String> agents, Set<String> accepting) {
        TreeSet<String> both = new TreeSet<>(agents);
        both.retainAll(accepting);
        return both;
    }
}
