package io.jenkins.plugins.preemptible.engine.policy;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The idle executors of all agents, and to whom each is promised.
 *
 * <ol>
 *   <li>Claims come best first; each gets an idle executor when there is any way to serve it and all before it.
 *   <li>Where only executors that are promised already fit, their holders move on along an augmenting path.
 *   <li>A claim that found no path closes the agents that it saw: no later claim can find one through them.
 * </ol>
 *
 * The work is linear in the number of (claim, agent) pairs, since an agent is closed once. Source: Kuhn's algorithm.
 */
final class IdleExecutors {

    private final SortedMap<String, Integer> free;
    private final Map<String, ArrayList<Claim>> holders = new TreeMap<>();
    private final Map<Claim, String> agentOf = new HashMap<>();
    private final Set<String> closed = new HashSet<>();
    private final Map<String, Integer> reservedIdle = new HashMap<>();

    IdleExecutors(SortedMap<String, Integer> free) {
        this.free = free;
    }

    /** Sets one executor aside for a claim with a reservation on that agent; it may not be idle yet. */
    void takeOne(String agent) {
        if (free.getOrDefault(agent, 0) > 0) {
            free.merge(agent, -1, Integer::sum);
            reservedIdle.merge(agent, 1, Integer::sum);
        }
    }

    /** The agent when an executor that was set aside there is idle and given out to the asker now, else null. */
    String reservedIdle(String agent) {
        if (reservedIdle.getOrDefault(agent, 0) == 0) {
            return null;
        }
        reservedIdle.merge(agent, -1, Integer::sum);
        return agent;
    }

    /** Promises an executor to a claim, when that can be done beside all promises made before. */
    void claim(Claim claim) {
        Map<String, Claim> reachedThrough = new HashMap<>();
        ArrayDeque<String> open = new ArrayDeque<>();
        reach(claim, reachedThrough, open);
        while (!open.isEmpty()) {
            String agent = open.poll();
            if (free.getOrDefault(agent, 0) > 0) {
                augment(agent, reachedThrough);
                return;
            }
            for (Claim holder : holders.getOrDefault(agent, new ArrayList<>())) {
                reach(holder, reachedThrough, open);
            }
        }
        closed.addAll(reachedThrough.keySet());
    }

    private void reach(Claim claim, Map<String, Claim> reachedThrough, ArrayDeque<String> open) {
        for (String agent : claim.agents()) {
            if (!closed.contains(agent) && reachedThrough.putIfAbsent(agent, claim) == null) {
                open.add(agent);
            }
        }
    }

    private void augment(String end, Map<String, Claim> reachedThrough) {
        free.merge(end, -1, Integer::sum);
        String agent = end;
        while (agent != null) {
            Claim mover = reachedThrough.get(agent);
            String before = agentOf.put(mover, agent);
            holders.computeIfAbsent(agent, name -> new ArrayList<>()).add(mover);
            if (before != null) {
                holders.get(before).remove(mover);
            }
            agent = before;
        }
    }

    /** Where the executor is that was promised to a claim; null when none was. Final once all claims were made. */
    String agentOf(Claim claim) {
        return agentOf.get(claim);
    }
}
