package io.jenkins.plugins.preemptible.engine.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.FreezeOnly;
import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.policy.MovePace;
import io.jenkins.plugins.preemptible.engine.policy.Slices;
import io.jenkins.plugins.preemptible.engine.policy.UndumpableStages;
import io.jenkins.plugins.preemptible.engine.simulation.workload.GitHubMix;
import io.jenkins.plugins.preemptible.engine.simulation.workload.SimAgent;
import io.jenkins.plugins.preemptible.engine.simulation.workload.SimJob;
import io.jenkins.plugins.preemptible.engine.simulation.workload.Workload;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Small workloads, computed by hand where that is possible; what holds for all of them on made-up ones. */
class SimulationTest {

    private static final Limits NONE = new Limits(true, 0, 0, 0);
    private static final List<SimAgent> ONE = List.of(new SimAgent("one", Set.of(), 1, 0));
    private static final long MEGABYTE = 1_000_000;
    /** A dump of 200 MB takes 1150 ms, a restore 550 ms: 150 ms of each at any size. */
    private static final Rates RATES = new Rates(200 * MEGABYTE, 500 * MEGABYTE, 1_000);

    private static SimJob job(String name, int priority, double atSeconds, double seconds, boolean preemptible) {
        return new SimJob(
                name,
                "all",
                name,
                "",
                priority,
                Math.round(atSeconds * 1000),
                Math.round(seconds * 1000),
                200 * MEGABYTE,
                preemptible,
                false);
    }

    private static Outcome run(Discipline discipline, Limits limits, List<SimAgent> agents, SimJob... jobs) {
        return Simulation.run(new Workload(List.of(jobs), agents), limits, RATES, discipline);
    }

    /** Seconds. */
    private static double start(Outcome outcome, int job) {
        return outcome.progresses().get(job).firstStartMillis / 1000.0;
    }

    private static double end(Outcome outcome, int job) {
        return outcome.progresses().get(job).endMillis / 1000.0;
    }

    @Test
    void firstComeFirstServedAsComputedByHand() {
        SimJob[] jobs = {job("a", 3, 0, 10, false), job("b", 3, 2, 5, false), job("c", 1, 3, 1, false)};
        Outcome outcome = run(Discipline.FIRST_COME, NONE, ONE, jobs);
        assertEquals(0, start(outcome, 0));
        assertEquals(10, start(outcome, 1));
        assertEquals(15, start(outcome, 2));
        assertEquals(16, end(outcome, 2));
        WaitFigures waits = outcome.figures().waits("all");
        assertEquals(8, waits.p50Seconds());
        assertEquals(12, waits.p95Seconds());
        Outcome byPriority = run(Discipline.PRIORITY_ONLY, NONE, ONE, jobs);
        assertEquals(10, start(byPriority, 2));
        assertEquals(11, start(byPriority, 1));
    }

    @Test
    void twoExecutorsServeTwoAtOnce() {
        List<SimAgent> two = List.of(new SimAgent("two", Set.of(), 2, 0));
        Outcome outcome = run(
                Discipline.FIRST_COME,
                NONE,
                two,
                job("a", 3, 0, 10, false),
                job("b", 3, 0, 4, false),
                job("c", 3, 1, 1, false));
        assertEquals(0, start(outcome, 1));
        assertEquals(4, start(outcome, 2));
        // Busy while jobs arrive, 0 to 1 s: both.
        assertEquals(1, outcome.utilisation());
    }

    @Test
    void aSuspensionCostsItsDumpAndItsRestore() {
        Outcome outcome =
                run(Discipline.SUSPEND, NONE, ONE, job("long", 5, 0, 100, true), job("short", 1, 10, 20, false));
        assertEquals(11, start(outcome, 1));
        assertEquals(31, end(outcome, 1));
        JobProgress victim = outcome.progresses().get(0);
        assertEquals(1, victim.suspensions);
        assertEquals(1_150, victim.dumpMillis);
        assertEquals(550, victim.restoreMillis);
        // 11 s were done; the restore holds the executor, the dump does not.
        assertEquals(31 + 0.550 + 89, end(outcome, 0));
        assertEquals(1.7 / 3600, outcome.figures().wastedHours(), 1e-9);
    }

    /** Its agent is taken from 11 s on, the other one is busy until 20 s; the move takes 2 s and 4 s for 200 MB. */
    @Test
    void aStageMovesWhereItsOwnAgentIsBusyForLonger() {
        List<SimAgent> agents = List.of(new SimAgent("a", Set.of(), 1, 0), new SimAgent("b", Set.of(), 1, 0));
        SimJob[] jobs = {
            job("long", 5, 0, 100, true), job("other", 2, 0, 20, false), job("urgent", 1, 10, 60, false),
        };
        Workload workload = new Workload(List.of(jobs), agents);
        Outcome stays = Simulation.run(workload, NONE, RATES, Discipline.SUSPEND);
        assertEquals(71 + 0.550 + 89, end(stays, 0));
        Outcome moves = Simulation.run(workload, NONE, RATES.moving(MovePace.DEFAULT), Discipline.SUSPEND);
        assertEquals(20 + 6 + 89, end(moves, 0));
        List<JobProgress.Hold> holds = moves.progresses().get(0).holds;
        assertEquals(2, holds.stream().map(JobProgress.Hold::agent).distinct().count());
        assertEquals(end(stays, 1), end(moves, 1));
        assertEquals(end(stays, 2), end(moves, 2));
    }

    /** The other agent is idle from 22 s on; on the stage's own one a job runs from 20 s on that took 4 s before. */
    private static Outcome withAKnownJob(double itTakes) {
        List<SimAgent> agents = List.of(new SimAgent("a", Set.of(), 1, 0), new SimAgent("b", Set.of(), 1, 0));
        SimJob[] jobs = {
            job("long", 5, 0, 100, true),
            job("known", 1, 0, 4, false),
            job("other", 2, 5, 17, false),
            job("urgent", 1, 10, 9, false),
            job("known", 1, 19, itTakes, false),
        };
        return Simulation.run(
                new Workload(List.of(jobs), agents), NONE, RATES.moving(MovePace.DEFAULT), Discipline.SUSPEND);
    }

    @Test
    void aStageWaitsForAJobThatIsKnownToEndSoon() {
        assertEquals(24 + 0.550 + 89, end(withAKnownJob(4), 0));
    }

    /** The clock asks at 25 s. */
    @Test
    void aStageMovesWhenThatJobIsOverdue() {
        assertEquals(25 + 6 + 89, end(withAKnownJob(30), 0));
    }

    @Test
    void aDumpThatThePreemptorOutrunsIsGivenUp() {
        Outcome outcome =
                run(Discipline.SUSPEND, NONE, ONE, job("long", 5, 0, 100, true), job("short", 1, 10, 0.5, false));
        JobProgress victim = outcome.progresses().get(0);
        assertEquals(500, victim.dumpMillis);
        assertEquals(0, victim.restoreMillis);
        assertEquals(11.5 + 89, end(outcome, 0));
    }

    @Test
    void aStageStaysFrozenForAPreemptorThatIsKnownToBeBrief() {
        List<SimAgent> roomy = List.of(new SimAgent("roomy", Set.of(), 1, 16L << 30));
        Outcome outcome = run(
                Discipline.SUSPEND,
                NONE,
                roomy,
                job("short", 1, 0, 20, false),
                job("long", 5, 20, 100, true),
                job("short", 1, 30, 20, false));
        JobProgress victim = outcome.progresses().get(1);
        assertEquals(1, victim.suspensions);
        assertEquals(0, victim.dumpMillis + victim.restoreMillis);
        assertEquals(31, start(outcome, 2));
        assertEquals(51 + 89, end(outcome, 1));
    }

    @Test
    void whereMemoryIsShortTheExecutorIsFreeAfterTheDump() {
        List<SimAgent> narrow = List.of(new SimAgent("narrow", Set.of(), 1, 300 * MEGABYTE));
        Outcome outcome = run(
                Discipline.SUSPEND,
                NONE.withMemory(0, 200 * MEGABYTE),
                narrow,
                job("long", 5, 0, 100, true),
                job("short", 1, 10, 20, false));
        assertEquals(11 + 1.150, start(outcome, 1));
        assertEquals(121.7, end(outcome, 0));
    }

    @Test
    void aKillLosesAllWork() {
        Outcome outcome = run(
                Discipline.KILL_AND_REQUEUE, NONE, ONE, job("long", 5, 0, 100, true), job("short", 1, 10, 20, false));
        assertEquals(11, start(outcome, 1));
        assertEquals(11_000, outcome.progresses().get(0).lostMillis);
        assertEquals(31 + 100, end(outcome, 0));
        assertEquals(1, outcome.figures().reruns());
        assertEquals(0, outcome.figures().suspensions());
    }

    @Test
    void aStageThatAllowsItAndHasJustBegunIsRunAgain() {
        SimJob rerun = new SimJob("long", "all", "", "", 5, 0, 100_000, 20_000 * MEGABYTE, true, true);
        Outcome outcome = run(Discipline.SUSPEND, NONE, ONE, rerun, job("short", 1, 10, 20, false));
        assertEquals(1, outcome.figures().reruns());
        assertEquals(11_000, outcome.progresses().get(0).lostMillis);
        assertEquals(31 + 100, end(outcome, 0));
    }

    private static SimJob traced(double seconds) {
        return new SimJob(
                "traced", "all", "", "", 5, 0, Math.round(seconds * 1000), 200 * MEGABYTE, true, false, false);
    }

    private static Limits freezeOnly(int percent) {
        return NONE.withUndumpable(UndumpableStages.FREEZE_ONLY).withFreezeOnly(new FreezeOnly(60_000, percent));
    }

    @Test
    void whatCannotBeDumpedIsLeftAloneUnlessItMayBeFrozen() {
        List<SimAgent> narrow = List.of(new SimAgent("narrow", Set.of(), 1, 1_000 * MEGABYTE));
        for (Limits limits : List.of(NONE, freezeOnly(19))) {
            Outcome outcome = run(Discipline.SUSPEND, limits, narrow, traced(100), job("short", 1, 10, 20, false));
            assertEquals(100, start(outcome, 1));
        }
        Outcome outcome = run(Discipline.SUSPEND, freezeOnly(20), narrow, traced(100), job("short", 1, 10, 20, false));
        assertEquals(11, start(outcome, 1));
        assertEquals(31 + 89, end(outcome, 0));
        assertEquals(0, outcome.progresses().get(0).dumpMillis);
    }

    /** After 60 s less a lead of 12 s, and a second for the takeover; asked on the grid of five seconds. */
    @Test
    void whatIsFrozenRunsAgainBeforeItsTimeIsUp() {
        Outcome outcome = run(Discipline.SUSPEND, freezeOnly(50), ONE, traced(100), job("long", 1, 10, 200, true));
        assertEquals(11, start(outcome, 1));
        assertTrue(outcome.progresses().get(1).suspensions > 0, "the preemptor gave way");
        assertTrue(outcome.progresses().get(0).suspensions > 0, "and came back");
        JobProgress frozen = outcome.progresses().get(0);
        for (int i = 1; i < frozen.holds.size(); i++) {
            long stood =
                    frozen.holds.get(i).fromMillis() - frozen.holds.get(i - 1).toMillis();
            assertTrue(stood <= 60_000, () -> "it was frozen for " + stood);
        }
    }

    @Test
    void equalsTakeTurnsAtTheEndsOfTheirSlices() {
        Limits slices = NONE.withSlices(new Slices(60_000, List.of()));
        Outcome outcome = run(Discipline.SUSPEND, slices, ONE, job("a", 5, 0, 300, true), job("b", 5, 0, 300, true));
        // 61 s each: the slice, and a second in which the other takes over.
        assertEquals(61, start(outcome, 1));
        assertTrue(outcome.progresses().get(0).suspensions >= 3, "a was suspended too seldom");
        assertTrue(Math.abs(end(outcome, 0) - end(outcome, 1)) < 70, "one of them ran on alone");
    }

    @Test
    void theMostSuspensionsOfAStageAreKept() {
        Outcome outcome = run(
                Discipline.SUSPEND,
                new Limits(true, 0, 0, 1),
                ONE,
                job("long", 5, 0, 100, true),
                job("short", 1, 10, 20, false),
                job("short", 1, 50, 20, false));
        assertEquals(1, outcome.progresses().get(0).suspensions);
        assertEquals(end(outcome, 0), start(outcome, 2));
    }

    @Test
    void anExemptTimeIsWaitedFor() {
        Outcome outcome = run(
                Discipline.SUSPEND,
                new Limits(true, 0, 30_000, 0),
                ONE,
                job("long", 5, 0, 100, true),
                job("short", 1, 10, 20, false));
        assertEquals(31, start(outcome, 1));
    }

    @Test
    void aJobRunsWhereItsLabelIs() {
        List<SimAgent> agents =
                List.of(new SimAgent("linux-1", Set.of("linux"), 1, 0), new SimAgent("mac-1", Set.of("mac"), 1, 0));
        SimJob mac = new SimJob("m", "all", "", "mac", 3, 0, 1_000, 0, false, false);
        SimJob byName = new SimJob("n", "all", "", "mac-1", 3, 0, 1_000, 0, false, false);
        Outcome outcome = run(Discipline.SUSPEND, NONE, agents, mac, byName);
        outcome.progresses()
                .forEach(progress -> assertEquals("mac-1", progress.holds.get(0).agent()));
        assertEquals(1, start(outcome, 1));
        SimJob nowhere = new SimJob("x", "all", "", "windows", 3, 0, 1_000, 0, false, false);
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> new Workload(List.of(nowhere), agents));
        assertTrue(refused.getMessage().contains("windows"), refused.getMessage());
    }

    private static Workload mix(int jobs, long seed, long memoryBytes) {
        List<SimAgent> agents = IntStream.range(0, 3)
                .mapToObj(number -> new SimAgent("agent-" + number, Set.of(), 2, memoryBytes))
                .toList();
        return new GitHubMix(0.9, jobs, seed).on(agents);
    }

    @ParameterizedTest
    @EnumSource(Discipline.class)
    void workIsNeitherLostNorGainedAndNoExecutorIsGivenTwice(Discipline discipline) {
        Limits limits = new Limits(true, 600_000, 30_000, 0).withAgeing(600_000).withMemory(0, 1L << 30);
        for (long memory : new long[] {0, 4L << 30}) {
            Outcome outcome = Simulation.run(mix(400, 7, memory), limits, RATES, discipline);
            TreeMap<Long, Integer> all = new TreeMap<>();
            for (JobProgress progress : outcome.progresses()) {
                long held = 0;
                long last = Long.MIN_VALUE;
                for (JobProgress.Hold hold : progress.holds) {
                    assertTrue(hold.fromMillis() >= last, progress.id + " holds two executors at once");
                    last = hold.toMillis();
                    held += hold.toMillis() - hold.fromMillis();
                    all.merge(hold.fromMillis(), 1, Integer::sum);
                    all.merge(hold.toMillis(), -1, Integer::sum);
                }
                assertEquals(progress.job.durationMillis(), progress.doneMillis);
                long work = progress.job.durationMillis() + progress.lostMillis + progress.restoreMillis;
                // Dumped before the executor is free only where memory is short.
                long more = memory == 0 ? 0 : progress.dumpMillis;
                assertTrue(work <= held && held <= work + more, () -> progress.id + " did not hold what it worked");
            }
            int now = 0;
            for (int change : all.values()) {
                now += change;
                assertTrue(now <= 6, "more executors are held than there are");
            }
            boolean suspends = discipline == Discipline.SUSPEND;
            assertEquals(suspends, outcome.figures().suspensions() > 0);
            assertEquals(
                    discipline == Discipline.KILL_AND_REQUEUE, outcome.figures().lostHours() > 0);
        }
    }

    @ParameterizedTest
    @EnumSource(Discipline.class)
    void theSameSeedGivesTheSameFigures(Discipline discipline) {
        Figures first = Simulation.run(mix(200, 3, 0), NONE, RATES, discipline).figures();
        Figures again = Simulation.run(mix(200, 3, 0), NONE, RATES, discipline).figures();
        Figures other = Simulation.run(mix(200, 4, 0), NONE, RATES, discipline).figures();
        assertEquals(first, again);
        assertTrue(!first.equals(other), "another seed gave the same figures");
    }

    @Test
    void oursServesShortJobsSoonerAndWastesLittle() {
        Comparison comparison = Comparison.of(mix(800, 1, 16L << 30), NONE, Rates.DEFAULT);
        double ours = comparison.of(Discipline.SUSPEND).waits(GitHubMix.SHORT).p95Seconds();
        double fifo =
                comparison.of(Discipline.FIRST_COME).waits(GitHubMix.SHORT).p95Seconds();
        assertTrue(ours * 2 < fifo, ours + " s against " + fifo + " s");
        double wasted = comparison.of(Discipline.SUSPEND).wastedHours();
        double killed = comparison.of(Discipline.KILL_AND_REQUEUE).wastedHours();
        assertTrue(wasted * 5 < killed, wasted + " h against " + killed + " h");
    }

    @Test
    void theMixHasTheLoadAndTheShareThatWereAskedFor() {
        Workload workload = mix(5_000, 2, 0);
        assertEquals(5_000, workload.jobs().size());
        long window = workload.jobs().get(4_999).arrivalMillis()
                - workload.jobs().get(0).arrivalMillis();
        assertEquals(0.9, workload.workMillis() / (6.0 * window), 0.001);
        double longOnes = workload.jobs().stream().filter(SimJob::preemptible).count() / 5_000.0;
        assertEquals(0.1, longOnes, 0.03);
        assertEquals(
                workload.jobs(),
                workload.jobs().stream()
                        .sorted(Comparator.comparingLong(SimJob::arrivalMillis))
                        .toList());
        assertThrows(IllegalArgumentException.class, () -> new GitHubMix(0, 1, 1));
        assertThrows(IllegalArgumentException.class, () -> new GitHubMix(Double.NaN, 1, 1));
        assertThrows(IllegalArgumentException.class, () -> new GitHubMix(0.5, 0, 1));
    }
}
