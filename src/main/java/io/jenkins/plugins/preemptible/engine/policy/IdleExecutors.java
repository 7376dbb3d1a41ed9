package io.jenkins.plugins.preemptible.engine.policy;

import java.util.ArrayDeque;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The idle executors of all agents, and to whom each is promised.
 *
 * <ol>
 *   <li>Claims come best first; each gets an idle executor when there is any way to serve it and all before it.
 *   <li>Where only executors that are promised already fit, their holders move on along an augmenting path.
 *   <li>A claim that found no path closes the agents that it saw: no later claim can find one through them.
 * </ol>
 *
 * Claims of the same {@link Fit} are alike, so paths are looked for between these sets, not between claims. Source: Kuhn's
 * algorithm.
 */
final class IdleExecutors {

    private final int[] free;
    private final int[] reservedIdle;
    private final boolean[] closed;
    /** How many executors of an agent are promised to claims of each set. */
    private final List<Map<Fit, Integer>> held;

    IdleExecutors(List<Snapshot.Agent> agents) {
        free = agents.stream().mapToInt(Snapshot.Agent::idleExecutors).toArray();
        reservedIdle = new int[free.length];
        closed = new boolean[free.length];
        held = agents.stream()
                .map(agent -> (Map<Fit, Integer>) new LinkedHashMap<Fit, Integer>())
                .toList();
    }

    /** Sets one executor aside for a claim with a reservation on that agent; it may not be idle yet. */
    void takeOne(int agent) {
        if (free[agent] > 0) {
            free[agent]--;
            reservedIdle[agent]++;
        }
    }

    /** Whether an executor that was set aside there is idle; it is given out to the asker now. */
    boolean giveReserved(int agent) {
        if (reservedIdle[agent] == 0) {
            return false;
        }
        reservedIdle[agent]--;
        return true;
    }

    /** Promises an executor to a claim of that set, when that can be done beside all promises made before. */
    boolean claim(Fit fit) {
        if (fit.noIdle) {
            return false;
        }
        for (; fit.firstIdle < fit.agents.length; fit.firstIdle++) {
            int agent = fit.agents[fit.firstIdle];
            if (free[agent] > 0) {
                free[agent]--;
                held.get(agent).merge(fit, 1, Integer::sum);
                return true;
            }
        }
        return augment(fit);
    }

    private boolean augment(Fit start) {
        Fit[] reachedBy = new Fit[free.length];
        // Where the holder stands that would move on; null for the claim itself.
        Map<Fit, Integer> standsOn = new HashMap<>();
        ArrayDeque<Integer> open = new ArrayDeque<>();
        standsOn.put(start, null);
        reach(start, reachedBy, open);
        while (!open.isEmpty()) {
            int agent = open.poll();
            if (free[agent] > 0) {
                move(agent, reachedBy, standsOn);
                return true;
            }
            held.get(agent).forEach((holder, count) -> {
                if (count > 0 && !standsOn.containsKey(holder)) {
                    standsOn.put(holder, agent);
                    reach(holder, reachedBy, open);
                }
            });
        }
        for (int agent = 0; agent < free.length; agent++) {
            closed[agent] |= reachedBy[agent] != null;
        }
        standsOn.keySet().forEach(fit -> fit.noIdle = true);
        return false;
    }

    private void reach(Fit fit, Fit[] reachedBy, ArrayDeque<Integer> open) {
        for (int agent : fit.agents) {
            if (!closed[agent] && reachedBy[agent] == null) {
                reachedBy[agent] = fit;
                open.add(agent);
            }
        }
    }

    private void move(int end, Fit[] reachedBy, Map<Fit, Integer> standsOn) {
        free[end]--;
        int agent = end;
        while (true) {
            Fit mover = reachedBy[agent];
            held.get(agent).merge(mover, 1, Integer::sum);
            Integer before = standsOn.get(mover);
            if (before == null) {
                return;
            }
            held.get(before).merge(mover, -1, Integer::sum);
            agent = before;
        }
    }

    /** The agents of the executors that were promised to each set, the best first. Once all claims were made. */
    Map<Fit, ArrayDeque<Integer>> promised() {
        Map<Fit, ArrayDeque<Integer>> promised = new HashMap<>();
        for (int agent = 0; agent < held.size(); agent++) {
            for (Map.Entry<Fit, Integer> holder : held.get(agent).entrySet()) {
                ArrayDeque<Integer> places = promised.computeIfAbsent(holder.getKey(), fit -> new ArrayDeque<>());
                places.addAll(Collections.nCopies(holder.getValue(), agent));
            }
        }
        return promised;
    }
}
