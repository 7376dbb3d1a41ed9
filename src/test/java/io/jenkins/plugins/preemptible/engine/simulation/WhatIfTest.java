package io.jenkins.plugins.preemptible.engine.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.simulation.workload.PastJob;
import io.jenkins.plugins.preemptible.engine.simulation.workload.SimAgent;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class WhatIfTest {

    private static final Limits LIMITS = new Limits(true, 0, 0, 0);

    private static PastJob job(String label, int priority, long queued, long started, long ended) {
        return new PastJob("", queued, started, ended, label, priority, "", priority > 3, -1);
    }

    private static Comparison compare(List<PastJob> history, List<SimAgent> agents) {
        return WhatIf.compare(history, agents, LIMITS, Rates.DEFAULT);
    }

    /** One at midnight less a minute and one at midnight, in a zone two hours ahead of UTC. */
    @Test
    void waitsAreAddedUpByDay() {
        long midnight = 22 * 3_600_000;
        List<PastJob> history = List.of(
                job("", 5, midnight - 60_000, midnight - 60_000, midnight + 3_540_000),
                job("", 1, midnight, midnight + 3_540_000, midnight + 3_600_000));
        List<Discipline> told = new ArrayList<>();

        Comparison comparison = WhatIf.compare(
                history, WhatIf.agentsOf(history, 0), LIMITS, Rates.DEFAULT, ZoneOffset.ofHours(2), told::add);

        assertEquals(List.of(Discipline.values()), told);
        DayWaits first = comparison.days().get(0);
        assertEquals("1970-01-01", first.day());
        assertEquals(1, first.jobs());
        assertEquals(0, first.secondsAvoided());
        assertTrue(first.secondsHeldUp() >= 60, () -> "it made room for a minute: " + first);
        DayWaits second = comparison.days().get(1);
        assertEquals(new DayWaits("1970-01-02", 1, 3_540, 1, 0), second);
        assertEquals(3_539, first.plus(second).secondsAvoided());
        assertEquals(2, comparison.days().size());
    }

    @Test
    void aHistoryIsComparedWithWhatItsJobsReallyWaited() {
        List<PastJob> history = List.of(job("", 5, 0, 0, 3_600_000), job("", 1, 60_000, 3_600_000, 3_660_000));
        List<SimAgent> agents = WhatIf.agentsOf(history, 0);
        assertEquals(1, agents.size());
        assertEquals(1, agents.get(0).executors());
        Comparison comparison = compare(history, agents);
        assertEquals(
                List.of("priority 1", "priority 5"),
                comparison.recorded().stream().map(WaitFigures::kind).toList());
        assertEquals(3_540, comparison.recorded().get(0).p95Seconds());
        assertEquals(
                3_540, comparison.of(Discipline.FIRST_COME).waits("priority 1").p95Seconds());
        assertEquals(1, comparison.of(Discipline.SUSPEND).waits("priority 1").p95Seconds());
        assertEquals(1, comparison.of(Discipline.SUSPEND).suspensions());
        assertEquals(0, comparison.leftOut());
    }

    @Test
    void theAgentsOfAHistoryHaveTheExecutorsThatItUsedAtOnce() {
        List<PastJob> history = List.of(
                job("linux", 3, 0, 0, 10),
                job("linux", 3, 0, 0, 10),
                job("linux", 3, 0, 5, 8),
                job("linux", 3, 0, 10, 20),
                job("mac", 3, 0, 0, 0));
        List<SimAgent> agents = WhatIf.agentsOf(history, 0);
        assertEquals(3, executors(agents, "linux"));
        assertEquals(1, executors(agents, "mac"));
    }

    private static int executors(List<SimAgent> agents, String label) {
        return agents.stream()
                .filter(agent -> agent.labels().equals(Set.of(label)))
                .mapToInt(SimAgent::executors)
                .sum();
    }

    @Test
    void theNewestOfTooManyJobsAreReplayedAndTheOthersCounted() {
        List<PastJob> history = IntStream.range(0, 15)
                .mapToObj(number -> job("", number < 5 ? 1 : 3, number * 10L, number * 10L, number * 10L + 1))
                .toList();
        Comparison comparison =
                WhatIf.compare(history, List.of(new SimAgent("a", Set.of(), 1, 0)), LIMITS, Rates.DEFAULT, 10);
        assertEquals(5, comparison.leftOut());
        assertEquals(10, comparison.jobs());
        assertEquals(WhatIf.MOST_JOBS, WhatIf.mostJobs(1));
        assertTrue(WhatIf.mostJobs(1_000) < 1_000);
        assertEquals(
                List.of("priority 3"),
                comparison.recorded().stream().map(WaitFigures::kind).toList());
    }

    @Test
    void aLabelOfNoAgentIsNamed() {
        IllegalArgumentException refused = assertThrows(
                IllegalArgumentException.class,
                () -> compare(List.of(job("windows", 3, 0, 0, 1)), List.of(new SimAgent("a", Set.of(), 1, 0))));
        assertTrue(refused.getMessage().contains("windows"), refused.getMessage());
    }
}
