package io.jenkins.plugins.preemptible.engine.policy;

import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The agents that some claims fit, all of these claims alike.
 *
 * <ol>
 *   <li>Thousands of items fit few different sets of agents: what is found out for one holds for all of the same set.
 *   <li>Agents are numbers here, those that are there before those on their way, each by name.
 *   <li>Only agents that accept builds have one; those that are drained fit only what has to leave their memory.
 * </ol>
 */
final class Fit {

    /** Ascending. */
    final int[] agents;
    /** Before it, no agent of {@link #agents} has an idle executor any more. */
    int firstIdle;
    /** No way leads to an idle executor any more. */
    boolean noIdle;
    /** A claim of this set gets no executor now. */
    boolean wanted;

    private Fit(int[] agents) {
        this.agents = agents;
    }

    boolean contains(int agent) {
        return Arrays.binarySearch(agents, agent) >= 0;
    }

    /** The sets of one snapshot. */
    static final class Table {
        final List<Snapshot.Agent> agents;
        private final Map<String, Integer> numbers = new HashMap<>();
        private final Map<Set<String>, Fit> seen = new IdentityHashMap<>();
        private final Map<Set<String>, Fit> seenWithDrained = new IdentityHashMap<>();
        private final Map<List<Integer>, Fit> distinct = new HashMap<>();

        Table(List<Snapshot.Agent> all) {
            agents = all.stream()
                    .filter(Snapshot.Agent::accepting)
                    .sorted(Comparator.comparing((Snapshot.Agent agent) -> agent.state())
                            .thenComparing(Snapshot.Agent::name))
                    .toList();
            for (int i = 0; i < agents.size(); i++) {
                numbers.put(agents.get(i).name(), i);
            }
        }

        Fit of(Set<String> names) {
            return seen.computeIfAbsent(names, key -> fit(key, false));
        }

        /** For a stage that must not stay frozen in an agent's memory, be that drained or not. */
        Fit alsoDrained(Set<String> names) {
            return seenWithDrained.computeIfAbsent(names, key -> fit(key, true));
        }

        private Fit fit(Set<String> names, boolean withDrained) {
            int[] fitting = names.stream()
                    .map(numbers::get)
                    .filter(number -> number != null && (withDrained || !isDrained(number)))
                    .mapToInt(Integer::intValue)
                    .sorted()
                    .toArray();
            return distinct.computeIfAbsent(Arrays.stream(fitting).boxed().toList(), numbers -> new Fit(fitting));
        }

        boolean isDrained(int agent) {
            return agents.get(agent).state() == Snapshot.AgentState.DRAINED;
        }

        /** Whether it can be used now, not only when it has started. */
        boolean isThere(int agent) {
            return agents.get(agent).state() != Snapshot.AgentState.ON_ITS_WAY;
        }

        /** The agent's number; -1 when it takes nothing. */
        int number(String name) {
            return numbers.getOrDefault(name, -1);
        }
    }
}
