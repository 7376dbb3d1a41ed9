package io.jenkins.plugins.preemptible.engine.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.Action;
import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.policy.PreemptionPolicy;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.Agent;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.RunningStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.WaitingItem;
import io.jenkins.plugins.preemptible.engine.simulation.workload.SimJob;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What the policy is not shown must not matter to it. */
class WaitingJobsTest {

    private static final long NOW = 1_000_000;
    private static final List<Set<String>> FITTING = List.of(Set.of("a"), Set.of("b"), Set.of("a", "b"));

    @Test
    void theDecisionIsTheSameAsIfThePolicySawAll() {
        int shortened = 0;
        int freeing = 0;
        for (int seed = 0; seed < 500; seed++) {
            Random random = new Random(seed);
            List<RunningStage> running = new ArrayList<>();
            for (int i = random.nextInt(4); i >= 0; i--) {
                long expected = random.nextBoolean() ? 0 : NOW - 5_000 + random.nextInt(10_000);
                running.add(new RunningStage(
                        "run" + i,
                        random.nextBoolean() ? "a" : "b",
                        random.nextInt(4),
                        "owner" + random.nextInt(3),
                        0,
                        random.nextInt((int) NOW),
                        0,
                        0,
                        null,
                        0,
                        1_000_000L * random.nextInt(1_000),
                        0,
                        expected,
                        false,
                        false));
            }
            int idle = random.nextInt(3) == 0 ? random.nextInt(3) : 0;
            List<Agent> agents = List.of(new Agent("a", idle, true), new Agent("b", 0, true));
            Limits limits = new Limits(random.nextInt(4) > 0, random.nextBoolean() ? 0 : 500_000, 100_000, 0);
            Map<String, Long> used = new HashMap<>();
            for (int owner = 0; owner < 3; owner++) {
                used.put("owner" + owner, (long) random.nextInt(3));
            }
            WaitingJobs waiting = new WaitingJobs();
            List<JobProgress> all = new ArrayList<>();
            for (int i = 0; i < 30; i++) {
                JobProgress progress = progress(i, random);
                all.add(progress);
                waiting.add(progress);
            }
            List<JobProgress> shown = waiting.shown(
                    priority -> idle
                            + (int) running.stream()
                                    .filter(stage -> stage.priority() >= priority)
                                    .count(),
                    used);
            List<Action> ofAll = effects(new Snapshot(NOW, limits, agents, running, List.of(), items(all), used));
            List<Action> ofShown = effects(new Snapshot(NOW, limits, agents, running, List.of(), items(shown), used));
            assertEquals(ofAll, ofShown, "seed " + seed);
            shortened += shown.size() < all.size() ? 1 : 0;
            freeing += ofAll.stream().anyMatch(Action.Freeing.class::isInstance) ? 1 : 0;
        }
        assertTrue(shortened > 250 && freeing > 50, shortened + " were shortened, " + freeing + " free something");
    }

    private static JobProgress progress(int number, Random random) {
        SimJob job =
                new SimJob("", "all", "owner" + random.nextInt(3), "", random.nextInt(4), 0, 1_000, 0, false, false);
        JobProgress progress = new JobProgress(number, job, Discipline.SUSPEND, FITTING.get(random.nextInt(3)));
        progress.state = JobProgress.State.WAITING;
        progress.sinceMillis = random.nextInt(20);
        return progress;
    }

    private static List<WaitingItem> items(List<JobProgress> progresses) {
        return progresses.stream()
                .map(progress -> new WaitingItem(
                        progress.id,
                        progress.priority,
                        progress.owner,
                        progress.sinceMillis,
                        progress.fitting,
                        null,
                        0))
                .toList();
    }

    private static List<Action> effects(Snapshot snapshot) {
        return PreemptionPolicy.decide(snapshot).stream()
                .filter(action -> !(action instanceof Action.Wait) || action.reason() == Reason.EXECUTOR_FREE_ALREADY)
                .toList();
    }
}
