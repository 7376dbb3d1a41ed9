package io.jenkins.plugins.preemptible.lost;

import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Agents that are about to go: their suspended stages do not wait for them.
 *
 * <p>Each is drained as well, and ends with that drain. In memory only: after a restart of the controller such an agent is
 * drained, and its stages wait until it is gone. For any thread.
 */
public final class Evacuations {

    private static final Set<String> AGENTS = ConcurrentHashMap.newKeySet();

    private Evacuations() {}

    /** @param agent its name; it is drained before */
    public static void begin(String agent) {
        AGENTS.add(agent);
    }

    public static boolean contains(String agent) {
        return AGENTS.contains(agent) && (DrainedAgents.get().contains(agent) || !AGENTS.remove(agent));
    }
}
