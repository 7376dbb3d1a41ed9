package io.jenkins.plugins.preemptible.engine.policy;

import io.jenkins.plugins.preemptible.engine.policy.Snapshot.SuspendedStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.WaitingItem;
import java.util.Collections;
import java.util.Comparator;
import java.util.stream.Stream;

/**
 * A wish for one executor, of a waiting item or of a suspended stage.
 *
 * <ol>
 *   <li>Better priority goes first, a stage's raised by the time that it has waited; then whose owner has had less
 *       executor time; then who waits longer.
 *   <li>Of two that wait equally long the stage goes first: it has begun already; then the id decides.
 *   <li>A stage that is only frozen goes before its equals, and before whatever is expected to outlast its time, of whatever
 *       priority.
 *   <li>Whether somebody may be suspended for it goes by its own priority, which does not age.
 * </ol>
 *
 * @param rank its priority with its age
 * @param frozenOnly of a stage that cannot be dumped, so that its time is limited
 * @param urgent of such a one that has been frozen for almost as long as it may
 * @param reserved number of the agent where an executor is kept for it, -1 when nowhere
 */
record Claim(
        String id,
        boolean isStage,
        int priority,
        long rank,
        String owner,
        long usedMillis,
        long sinceMillis,
        Fit fit,
        int reserved,
        boolean requested,
        long expectedMillis,
        boolean frozenOnly,
        boolean urgent) {

    /** Before every priority; of several the one first that has to run again first. */
    private static final long BEST_OF_ALL = Long.MIN_VALUE / 2;

    static final Comparator<Claim> BEST_FIRST = Comparator.comparingLong(Claim::rank)
            .thenComparing(claim -> !claim.frozenOnly)
            .thenComparingLong(Claim::usedMillis)
            .thenComparingLong(Claim::sinceMillis)
            .thenComparing(claim -> !claim.isStage)
            .thenComparing(Claim::id);

    static Claim of(WaitingItem item, Snapshot snapshot, Fit.Table fits) {
        Fit fit = fits.of(item.agents());
        return new Claim(
                item.id(),
                false,
                item.priority(),
                item.priority(),
                item.owner(),
                snapshot.usedMillis().getOrDefault(item.owner(), 0L),
                item.sinceMillis(),
                fit,
                reserved(item.reservedAgent(), fit, fits),
                false,
                item.expectedMillis(),
                false,
                false);
    }

    static Claim of(SuspendedStage stage, Snapshot snapshot, Fit.Table fits) {
        boolean urgent = stage.urgent(snapshot.limits(), snapshot.nowMillis());
        Fit fit = stage.thawByMillis() > 0 ? fits.alsoDrained(stage.agents()) : fits.of(stage.agents());
        long ageing = snapshot.limits().ageingMillis();
        long age = Math.max(0, snapshot.nowMillis() - stage.sinceMillis());
        return new Claim(
                stage.id(),
                true,
                stage.priority(),
                urgent
                        ? BEST_OF_ALL + stage.thawByMillis()
                        : beforeThoseThatOutlast(stage, snapshot, stage.priority() - (ageing == 0 ? 0 : age / ageing)),
                stage.owner(),
                snapshot.usedMillis().getOrDefault(stage.owner(), 0L),
                stage.sinceMillis(),
                fit,
                reserved(stage.reservedAgent(), fit, fits),
                stage.requested(),
                0,
                stage.thawByMillis() > 0,
                urgent);
    }

    // What gets the executor first keeps it beyond the stage's time. What had one freed for it was measured before.
    private static long beforeThoseThatOutlast(SuspendedStage stage, Snapshot snapshot, long rank) {
        return outlasting(stage, snapshot).mapToLong(WaitingItem::priority).reduce(rank, Math::min);
    }

    /** The items that a stage goes before since they would keep its executor beyond its time; none where it has no such time. */
    static Stream<WaitingItem> outlasting(SuspendedStage stage, Snapshot snapshot) {
        if (stage.thawByMillis() == 0) {
            return Stream.empty();
        }
        long left = stage.thawByMillis() - snapshot.limits().freezeOnly().leadMillis() - snapshot.nowMillis();
        return snapshot.waiting().stream()
                .filter(item -> item.expectedMillis() > left && item.reservedAgent() == null)
                .filter(item -> !Collections.disjoint(item.agents(), stage.agents()));
    }

    // A reservation on an agent that went away is void: else its item would wait for ever.
    private static int reserved(String agent, Fit fit, Fit.Table fits) {
        int number = agent == null ? -1 : fits.number(agent);
        return number >= 0 && fit.contains(number) ? number : -1;
    }

    boolean isReserved() {
        return reserved >= 0;
    }

    boolean aged() {
        return rank < priority;
    }
}
