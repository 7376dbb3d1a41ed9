package io.jenkins.plugins.preemptible.engine.bench;

import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.policy.Slices;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.Agent;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.AgentState;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.RunningStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.SuspendedStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.WaitingItem;
import io.jenkins.plugins.preemptible.engine.policy.UndumpableStages;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A crowded controller, made up: far more wants to run than can.
 *
 * <ol>
 *   <li>1000 executors on equally large agents, all busy but for one in a hundred, 500 stages suspended.
 *   <li>Each agent carries one to three of twenty labels; each item asks for one of them.
 *   <li>The same arguments make the same crowd.
 * </ol>
 *
 * @param agents 1 to 1000
 * @param sets how the items come to the agents that they fit
 */
record Crowd(int items, int agents, Sets sets) {

    enum Sets {
        /** Items with the same label have the same set. */
        SHARED,
        /** They have equal sets, but each a copy of its own. */
        COPIED,
        /** Each item fits other agents than every other one. */
        OWN
    }

    private static final long NOW = 1_000_000_000;
    private static final int EXECUTORS = 1000;
    private static final int SUSPENDED = 500;
    private static final int LABELS = 20;
    private static final int OWNERS = 50;
    private static final long SLICE = 600_000;

    Snapshot snapshot() {
        Random random = new Random(items + 31L * agents);
        List<Agent> all = new ArrayList<>();
        List<Set<String>> byLabel = new ArrayList<>();
        for (int i = 0; i < LABELS; i++) {
            byLabel.add(new HashSet<>());
        }
        List<RunningStage> running = new ArrayList<>();
        for (int i = 0; i < agents; i++) {
            agent("agent" + i, random, all, byLabel, running);
        }
        List<Set<String>> shared = byLabel.stream().map(Set::copyOf).toList();
        List<SuspendedStage> suspended = new ArrayList<>();
        for (int i = 0; i < SUSPENDED; i++) {
            suspended.add(new SuspendedStage(
                    "suspended" + i,
                    Set.of("agent" + random.nextInt(agents)),
                    priority(random),
                    owner(random),
                    NOW - random.nextInt(4_000_000),
                    null,
                    random.nextInt(10) == 0,
                    null,
                    false,
                    0,
                    Set.of(),
                    0));
        }
        List<WaitingItem> waiting = new ArrayList<>();
        for (int i = 0; i < items; i++) {
            waiting.add(new WaitingItem(
                    "item" + i,
                    priority(random),
                    owner(random),
                    NOW - random.nextInt(4_000_000),
                    fitting(shared, random),
                    null,
                    random.nextInt(1_000_000)));
        }
        return new Snapshot(NOW, limits(), all, running, suspended, waiting, used(random));
    }

    private void agent(
            String name, Random random, List<Agent> all, List<Set<String>> byLabel, List<RunningStage> running) {
        Set<String> labels = new HashSet<>();
        for (int i = random.nextInt(3); i >= 0; i--) {
            int label = random.nextInt(LABELS);
            labels.add("label" + label);
            byLabel.get(label).add(name);
        }
        int idle = 0;
        for (int i = EXECUTORS / agents; i > 0; i--) {
            if (random.nextInt(100) == 0) {
                idle++;
            } else {
                running.add(stage(name + "/" + i, name, random));
            }
        }
        all.add(new Agent(
                name,
                labels,
                idle,
                true,
                AgentState.THERE,
                random.nextLong(1L << 34),
                200_000_000,
                600_000_000,
                SUSPENDED / agents));
    }

    private static RunningStage stage(String id, String agent, Random random) {
        long since = NOW - random.nextInt(2_000_000);
        return new RunningStage(
                id,
                agent,
                priority(random),
                owner(random),
                since - random.nextInt(1_000_000),
                since,
                random.nextInt(3),
                0,
                random.nextInt(10) == 0 ? "traced" : null,
                0,
                random.nextLong(1L << 32),
                random.nextInt(1_000_000),
                NOW + random.nextInt(4_000_000),
                random.nextInt(10) == 0,
                random.nextInt(50) == 0);
    }

    private Set<String> fitting(List<Set<String>> shared, Random random) {
        Set<String> label = shared.get(random.nextInt(LABELS));
        return switch (sets) {
            case SHARED -> label;
            case COPIED -> new HashSet<>(label);
            case OWN -> label.stream().filter(name -> random.nextInt(8) > 0).collect(Collectors.toSet());
        };
    }

    private static Limits limits() {
        return new Limits(
                true,
                new Slices(SLICE, List.of(new Slices.Rule("label0", 0, 3, SLICE / 2))),
                60_000,
                10,
                0,
                2000,
                900_000,
                1L << 34,
                1L << 30,
                UndumpableStages.RERUN,
                null);
    }

    private static Map<String, Long> used(Random random) {
        Map<String, Long> used = new HashMap<>();
        for (int i = 0; i < OWNERS; i++) {
            used.put("owner" + i, (long) random.nextInt(100_000_000));
        }
        return used;
    }

    private static int priority(Random random) {
        return 1 + random.nextInt(5);
    }

    private static String owner(Random random) {
        return "owner" + random.nextInt(OWNERS);
    }
}
