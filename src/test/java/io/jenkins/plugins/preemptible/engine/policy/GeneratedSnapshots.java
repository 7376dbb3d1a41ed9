package io.jenkins.plugins.preemptible.engine.policy;

import io.jenkins.plugins.preemptible.engine.policy.Snapshot.Agent;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.AgentState;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.BusyExecutor;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.RunningStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.SuspendedStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.WaitingItem;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ArbitrarySupplier;

/**
 * Snapshots with every field made up.
 *
 * <ol>
 *   <li>One seed makes one snapshot.
 *   <li>Numbers are small and agents few, so that ties, shortages and full limits are frequent.
 *   <li>Each field also has, often enough, the value that stands for "unknown" or "no limit".
 * </ol>
 */
public final class GeneratedSnapshots implements ArbitrarySupplier<Snapshot> {

    static final List<String> AGENTS = List.of("a", "b", "c", "d");

    private static final int RECENT_MILLIS = 100_000;
    private static final int PRIORITIES = 4;
    private static final long GIGABYTE = 1L << 30;
    private static final int DAY_MILLIS = 86_400_000;

    @Override
    public Arbitrary<Snapshot> get() {
        return Arbitraries.longs().withoutEdgeCases().map(seed -> new Maker(new Random(seed)).snapshot());
    }

    private static final class Maker {
        private final Random random;
        private final long now;
        private List<Agent> agents;

        Maker(Random random) {
            this.random = random;
            this.now = DAY_MILLIS + random.nextInt(DAY_MILLIS);
        }

        Snapshot snapshot() {
            agents = AGENTS.stream().map(this::agent).toList();
            List<String> usable = agents.stream()
                    .filter(agent -> agent.state() != AgentState.ON_ITS_WAY)
                    .map(Agent::name)
                    .toList();
            List<RunningStage> running = new ArrayList<>();
            for (int i = usable.isEmpty() ? 0 : random.nextInt(10); i > 0; i--) {
                running.add(running("run" + i, usable.get(random.nextInt(usable.size()))));
            }
            List<SuspendedStage> suspended = new ArrayList<>();
            for (int i = random.nextInt(5); i > 0; i--) {
                suspended.add(suspended("sus" + i));
            }
            List<WaitingItem> waiting = new ArrayList<>();
            for (int i = random.nextInt(7); i > 0; i--) {
                waiting.add(waiting("item" + i));
            }
            Limits limits = limits();
            Map<String, Long> used = used();
            return new Snapshot(now, limits, agents, running, suspended, waiting, used, true, busy(usable));
        }

        private List<BusyExecutor> busy(List<String> usable) {
            List<BusyExecutor> busy = new ArrayList<>();
            for (int i = usable.isEmpty() ? 0 : random.nextInt(8); i > 0; i--) {
                busy.add(new BusyExecutor(
                        usable.get(random.nextInt(usable.size())),
                        oneIn(3) ? 0 : now + random.nextInt(60_000) - 20_000));
            }
            return busy;
        }

        private boolean oneIn(int n) {
            return random.nextInt(n) == 0;
        }

        private long sometimes(long bound) {
            return oneIn(2) ? 0 : (long) (random.nextDouble() * bound);
        }

        private long recently() {
            return now - random.nextInt(RECENT_MILLIS);
        }

        private Limits limits() {
            Slices.Rule rule =
                    new Slices.Rule(oneIn(2) ? null : "x", random.nextInt(2), 1 + random.nextInt(4), sometimes(60_000));
            Slices slices = new Slices(random.nextInt(60_000), oneIn(2) ? List.of() : List.of(rule));
            return new Limits(
                    random.nextInt(10) > 0,
                    slices,
                    sometimes(60_000),
                    random.nextInt(4),
                    random.nextInt(4),
                    oneIn(2) ? 0 : random.nextInt(10),
                    sometimes(40_000),
                    sometimes(8 * GIGABYTE),
                    sometimes(4 * GIGABYTE),
                    UndumpableStages.values()[random.nextInt(UndumpableStages.values().length)],
                    oneIn(5) ? undisturbed() : null,
                    new FreezeOnly(1 + random.nextInt(300_000), random.nextInt(101)));
        }

        private Undisturbed undisturbed() {
            return new Undisturbed(
                    LocalTime.of(random.nextInt(24), 0),
                    LocalTime.of(random.nextInt(24), 30),
                    ZoneOffset.ofHours(random.nextInt(12)),
                    sometimes(RECENT_MILLIS));
        }

        private Agent agent(String name) {
            Set<String> labels =
                    Set.of("x", "y").stream().filter(label -> oneIn(2)).collect(Collectors.toSet());
            AgentState state = oneIn(8) ? AgentState.DRAINED : oneIn(8) ? AgentState.ON_ITS_WAY : AgentState.THERE;
            return new Agent(
                    name,
                    labels,
                    oneIn(4) ? random.nextInt(3) : 0,
                    random.nextInt(10) > 0,
                    state,
                    oneIn(3) ? -1 : sometimes(8 * GIGABYTE),
                    sometimes(GIGABYTE),
                    sometimes(GIGABYTE),
                    random.nextInt(3),
                    oneIn(4),
                    oneIn(6) ? -1 : 8 * GIGABYTE,
                    sometimes(2 * GIGABYTE));
        }

        private RunningStage running(String id, String agent) {
            long since = recently();
            boolean youngRun = oneIn(2);
            return new RunningStage(
                    id,
                    agent,
                    random.nextInt(PRIORITIES),
                    owner(),
                    youngRun ? since : since - random.nextInt(RECENT_MILLIS),
                    since,
                    youngRun ? 0 : random.nextInt(4),
                    sometimes(40_000),
                    oneIn(4) ? "traced" : null,
                    oneIn(8) ? now + 5 : 0,
                    oneIn(3) ? -1 : sometimes(8 * GIGABYTE),
                    sometimes(GIGABYTE / 4),
                    oneIn(3) ? now + random.nextInt(60_000) - 20_000 : 0,
                    oneIn(2),
                    oneIn(10),
                    oneIn(2),
                    sometimes(30_000));
        }

        private SuspendedStage suspended(String id) {
            Set<String> fitting = fitting();
            return new SuspendedStage(
                    id,
                    fitting,
                    random.nextInt(PRIORITIES),
                    owner(),
                    recently(),
                    oneIn(2) ? "item1" : null,
                    oneIn(4),
                    reserved(fitting),
                    oneIn(6),
                    oneIn(4) ? now + random.nextInt(60_000) - 20_000 : 0,
                    Set.of(),
                    0);
        }

        private WaitingItem waiting(String id) {
            Set<String> fitting = fitting();
            return new WaitingItem(
                    id,
                    random.nextInt(PRIORITIES),
                    owner(),
                    recently(),
                    fitting,
                    reserved(fitting),
                    sometimes(200_000));
        }

        private String owner() {
            return oneIn(4) ? "" : "owner" + random.nextInt(3);
        }

        private Map<String, Long> used() {
            Map<String, Long> used = new HashMap<>();
            for (String owner : List.of("", "owner0", "owner1")) {
                used.put(owner, random.nextInt(4) * 1000L);
            }
            return used;
        }

        private Set<String> fitting() {
            return AGENTS.stream().filter(name -> oneIn(2)).collect(Collectors.toSet());
        }

        private String reserved(Set<String> fitting) {
            return oneIn(6) && !fitting.isEmpty()
                    ? fitting.stream().sorted().findFirst().orElseThrow()
                    : null;
        }
    }
}
