package io.jenkins.plugins.preemptible.engine.policy;

import static io.jenkins.plugins.preemptible.engine.policy.Decided.isOften;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.DecisionHistory.Job;
import io.jenkins.plugins.preemptible.engine.policy.DecisionHistory.State;
import io.jenkins.plugins.preemptible.engine.policy.DecisionHistory.Watcher;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.Tag;
import net.jqwik.api.statistics.StatisticsReport;
import net.jqwik.api.statistics.StatisticsReport.StatisticsReportMode;

/**
 * How executor time is shared among equals, on generated histories.
 *
 * <ol>
 *   <li>All have the same priority and fit the same agent, and want far more than there is.
 *   <li>A slice is a tick or two; a suspension takes no time, so that only the decisions count.
 *   <li>What is compared is the executor time that each owner really had.
 * </ol>
 */
@StatisticsReport(StatisticsReportMode.OFF)
@Tag("property")
class FairHistoryPropertyTest {

    private static final Set<String> AGENT = Set.of("a");
    private static final int LONG = 1000;

    private static DecisionHistory history(int executors, int slice) {
        Limits limits = new Limits(true, DecisionHistory.millis(slice), 0, 0);
        return new DecisionHistory(limits, Map.of("a", executors), 0, false, new Watcher() {});
    }

    @Property(edgeCases = EdgeCasesMode.NONE, shrinking = ShrinkingMode.OFF)
    void anOwnerOfFortyStagesDoesNotSlowDownAnOwnerOfOneBeyondItsShare(@ForAll Random random) {
        int executors = 1 + random.nextInt(3);
        int slice = 1 + random.nextInt(2);
        int work = 2 + random.nextInt(4);
        DecisionHistory history = history(executors, slice);
        for (int i = 0; i < 40; i++) {
            history.add(new Job("many" + i, 3, "many", AGENT, LONG, 0));
        }
        int comes = 1 + random.nextInt(5);
        Job one = new Job("one", 3, "one", AGENT, work, comes);
        history.add(one);
        // Half of the executors are its own: it can use one. Two slices until its first turn and in its last.
        int share = (int) Math.ceil(work * Math.max(1, 2.0 / executors));
        int latest = comes + share + 2 * slice;
        while (one.state != State.GONE && history.now <= latest) {
            history.tick();
        }
        assertEquals(State.GONE, one.state, () -> "it has run for " + one.done + " of " + work + " by " + latest);
        isOften("it was suspended meanwhile", one.suspensions > 0);
    }

    @Property(edgeCases = EdgeCasesMode.NONE, shrinking = ShrinkingMode.OFF)
    void tenOwnersGetEqualSharesWithinATenth(@ForAll Random random) {
        int executors = 7 + random.nextInt(4);
        int slices = 200 / executors;
        DecisionHistory history = history(executors, 1);
        for (int owner = 0; owner < 10; owner++) {
            for (int i = 1 + random.nextInt(2); i > 0; i--) {
                history.add(new Job("job" + owner + "/" + i, 3, "owner" + owner, AGENT, LONG, 0));
            }
        }
        for (int i = 0; i <= slices; i++) {
            history.tick();
        }
        Map<String, Integer> had = new HashMap<>();
        history.jobs.values().forEach(job -> had.merge(job.owner, job.done, Integer::sum));
        double fair = executors * slices / 10.0;
        had.forEach((owner, ticks) ->
                assertTrue(Math.abs(ticks - fair) <= fair / 10, () -> owner + " had " + ticks + " of " + fair));
        isOften("some have more stages than others", history.jobs.size() > 10);
    }
}
