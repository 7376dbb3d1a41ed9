package io.jenkins.plugins.preemptible.engine.policy;

import static io.jenkins.plugins.preemptible.engine.policy.Decided.isOften;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.Action.Freeing;
import io.jenkins.plugins.preemptible.engine.policy.DecisionHistory.Freed;
import io.jenkins.plugins.preemptible.engine.policy.DecisionHistory.Job;
import io.jenkins.plugins.preemptible.engine.policy.DecisionHistory.State;
import io.jenkins.plugins.preemptible.engine.policy.DecisionHistory.Watcher;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.Tag;
import net.jqwik.api.statistics.StatisticsReport;
import net.jqwik.api.statistics.StatisticsReport.StatisticsReportMode;

/**
 * What holds over time, whatever comes: on generated histories, in which more comes than can run.
 *
 * <h2>The bound</h2>
 *
 * <p>A stage of priority {@code p} is suspended on an agent of {@code m} executors. Let {@code b} be the best priority
 * that there is, {@code A} the ageing time, {@code E} the exempt time, at least a tick, {@code M} the most stages
 * suspended on one agent, {@code D} the longest that anything runs in all, and {@code d} what a suspension takes until
 * the executor is free. Then it gets on its agent again within
 *
 * <p>{@code (p - b + 1) A + (M + 1) T}, where {@code T = (m + 2 M) D (E + d + 1) / (E m) + 1}.
 *
 * <ol>
 *   <li>After {@code (p - b + 1) A} its claim is better than that of every item, and of every stage that is suspended
 *       from then on. Better ones are only those that were suspended there already: at most {@code M}. Each goes before
 *       it once; when it is suspended again, its claim is worse.
 *   <li>From then on the next executor there that becomes idle, and was not freed for somebody, goes to one of these
 *       {@code M + 1}. Executors become idle when what they run ends.
 *   <li>That takes at most {@code T}: until something ends, only what runs there, what is suspended there, and at most
 *       {@code M} others that are let in by suspensions can run, hence {@code m + 2 M} of {@code D} each, on {@code m}
 *       executors, of whose time at least {@code E} in {@code E + d + 1} is run.
 * </ol>
 *
 * <p>Without a limit {@code M} there is none: equals that keep coming may end each other's slices for ever.
 */
@StatisticsReport(StatisticsReportMode.OFF)
@Tag("property")
class HistoryPropertyTest {

    private static final int BEST = 1;
    private static final int TICKS = 20;

    /** One generated world. */
    private static final class World {
        final Random random;
        final int executors;
        final int longest;
        final int ageing;
        final int exempt;
        final int most;
        final int suspensionTicks;
        final int worst;
        final Map<String, Integer> agents = new TreeMap<>();
        final DecisionHistory history;

        World(Random random, boolean queueFirst, Watcher watcher) {
            this.random = random;
            executors = 1 + random.nextInt(2);
            longest = 1 + random.nextInt(6);
            ageing = 1 + random.nextInt(3);
            exempt = 1 + random.nextInt(3);
            most = 1 + random.nextInt(2);
            suspensionTicks = random.nextInt(2);
            worst = 2 + random.nextInt(2);
            agents.put("a", executors);
            if (random.nextBoolean()) {
                agents.put("b", executors);
            }
            int slice = random.nextInt(4);
            Limits limits = new Limits(true, DecisionHistory.millis(slice), DecisionHistory.millis(exempt), 0)
                    .withAgeing(DecisionHistory.millis(ageing))
                    .withMostSuspended(most, 0);
            history = new DecisionHistory(limits, agents, suspensionTicks, queueFirst, watcher);
            int jobs = TICKS * agents.size() * executors * 3 / (longest + 1) / 2 + 4;
            for (int i = 0; i < jobs; i++) {
                history.add(job("job" + i));
            }
        }

        private Job job(String id) {
            List<Set<String>> fits =
                    agents.size() == 1 ? List.of(Set.of("a")) : List.of(Set.of("a"), Set.of("b"), Set.of("a", "b"));
            Job job = new Job(
                    id,
                    BEST + random.nextInt(worst),
                    "owner" + random.nextInt(3),
                    fits.get(random.nextInt(fits.size())),
                    1 + random.nextInt(longest),
                    random.nextInt(TICKS));
            job.stage = random.nextInt(4) > 0;
            job.cancelledAt = random.nextInt(4) == 0 ? job.comes + 1 + random.nextInt(4) : -1;
            return job;
        }

        int bound(int priority) {
            double longestTurn =
                    (executors + 2.0 * most) * longest * (exempt + suspensionTicks + 1) / (exempt * executors) + 1;
            return (int) Math.ceil((priority - BEST + 1) * ageing + (most + 1) * longestTurn);
        }

        void run() {
            for (int i = 0; i < TICKS; i++) {
                history.tick();
            }
        }
    }

    @Property(edgeCases = EdgeCasesMode.NONE, shrinking = ShrinkingMode.OFF)
    void everySuspendedStageGoesOnWithinTheBound(@ForAll Random random) {
        boolean[] aged = new boolean[1];
        World world = new World(random, true, new Watcher() {
            @Override
            public void decided(Action action, DecisionHistory history) {
                aged[0] |= action instanceof Action.Reserve;
            }
        });
        boolean reached = false;
        for (int i = 0; i < TICKS; i++) {
            world.history.tick();
            for (Job job : world.history.present) {
                if (job.state == State.SUSPENDED) {
                    int waited = world.history.now - job.since;
                    assertTrue(waited <= world.bound(job.priority), () -> job.id + " waits for " + waited);
                    reached |= waited > (job.priority - BEST + 1) * world.ageing;
                }
            }
        }
        isOften("an executor is kept for an aged stage", aged[0]);
        isOften("somebody waits although its claim is the best", 2, reached);
    }

    @Property(edgeCases = EdgeCasesMode.NONE, shrinking = ShrinkingMode.OFF)
    void whatCameBackRunsAtLeastItsExemptTime(@ForAll Random random) {
        boolean[] again = new boolean[1];
        World world = new World(random, random.nextBoolean(), new Watcher() {
            @Override
            public void decided(Action action, DecisionHistory history) {
                if (action instanceof Freeing freeing) {
                    Job victim = history.jobs.get(freeing.stageId());
                    again[0] |= victim.suspensions > 0;
                    long ran = DecisionHistory.millis(history.now - victim.since);
                    assertTrue(ran >= history.limits.exemptMillis(), () -> victim.id + " ran for " + ran);
                }
            }
        });
        world.run();
        isOften("one is suspended again", again[0]);
    }

    /** Follows each freed executor until somebody has it. */
    private static final class FollowsExecutors implements Watcher {
        final Map<String, Freed> promised = new HashMap<>();
        int started;
        int cancelled;

        @Override
        public void decided(Action action, DecisionHistory history) {
            if (action instanceof Freeing freeing) {
                assertEquals(null, promised.get(freeing.forItem()), () -> "twice for " + freeing.forItem());
                assertEquals(freeing.agent(), history.jobs.get(freeing.stageId()).agent);
            }
        }

        @Override
        public void ticked(DecisionHistory history) {
            for (Map.Entry<String, Freed> entry : promised.entrySet()) {
                Job claimant = history.jobs.get(entry.getKey());
                if (claimant.agent == null && claimant.state == State.GONE) {
                    cancelled++;
                } else if (entry.getValue().opens() <= history.now) {
                    assertNotEquals(State.WAITING, claimant.state, () -> claimant.id + " was not started");
                    assertEquals(entry.getValue().agent(), claimant.agent);
                    started++;
                }
            }
            promised.clear();
            promised.putAll(history.freed);
            for (String agent : history.executors.keySet()) {
                long waiting = history.freed.values().stream()
                        .filter(freed -> freed.agent().equals(agent) && freed.opens() <= history.now)
                        .count();
                assertEquals(0, waiting, "nobody came for a freed executor");
                assertTrue(history.idle(agent) == 0 || nobodyWants(history, agent), () -> agent + " is left idle");
            }
        }

        // What was cancelled gives its executor back, to its victim or to whoever comes before it.
        private static boolean nobodyWants(DecisionHistory history, String agent) {
            return history.present.stream()
                    .filter(DecisionHistory::wants)
                    .filter(job -> !history.freed.containsKey(job.id))
                    .noneMatch(job -> (job.state == State.SUSPENDED ? Set.of(job.agent) : job.agents).contains(agent));
        }
    }

    @Property(edgeCases = EdgeCasesMode.NONE, shrinking = ShrinkingMode.OFF)
    void aFreedExecutorGoesToWhomItWasFreedForOrIsGivenBackAtOnce(@ForAll Random random) {
        FollowsExecutors follows = new FollowsExecutors();
        World world = new World(random, random.nextBoolean(), follows);
        world.run();
        isOften("started there", follows.started > 0);
        isOften("cancelled meanwhile", 1, follows.cancelled > 0);
    }

    @Example
    void withoutAgeingAFlowOfBetterItemsStarvesAStageAndWithItItDoesNot() {
        assertEquals(0, timesOn(0), "without");
        assertTrue(timesOn(2) > 0, "with");
    }

    private static int timesOn(int ageing) {
        int[] times = new int[1];
        Limits limits = new Limits(true, 0, DecisionHistory.millis(1), 0).withAgeing(DecisionHistory.millis(ageing));
        DecisionHistory history = new DecisionHistory(limits, Map.of("a", 1), 0, true, new Watcher() {
            @Override
            public void wentOn(Job stage, int waited) {
                times[0]++;
            }
        });
        history.add(new Job("victim", 5, "", Set.of("a"), 1000, 0));
        for (int i = 0; i < 50; i++) {
            history.add(new Job("better" + i, 1, "", Set.of("a"), 2, 2 + i));
        }
        for (int i = 0; i < 50; i++) {
            history.tick();
        }
        assertTrue(history.jobs.get("victim").suspensions > 0);
        return times[0];
    }
}
