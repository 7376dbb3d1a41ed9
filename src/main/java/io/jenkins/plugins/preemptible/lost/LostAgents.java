package io.jenkins.plugins.preemptible.lost;

import hudson.Extension;
import hudson.model.Computer;
import hudson.model.PeriodicWork;
import hudson.slaves.OfflineCause;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import jenkins.model.Jenkins;

/**
 * Which suspended stages do not wait for their own agent any more, since it is gone and what is sealed of them is enough.
 *
 * <ol>
 *   <li>Gone is an agent that was removed from Jenkins, one that is evacuated, one that its strategy has disconnected since it
 *       was idle, and one that has been offline for {@link #patienceMillis}, as this process of the controller has seen it.
 *   <li>A stage whose processes may still be on an agent that is merely offline is not lost: it waits.
 *   <li>Offline is also an agent that is marked so. It takes no builds; what runs there goes on, and it answers. Away is one
 *       without a connection only.
 * </ol>
 *
 * Look-ups in memory, for any thread and any lock.
 */
public final class LostAgents {

    /** When each agent that has a stage, or was asked to restore one, was first seen away, as {@link System#nanoTime}. */
    private static final Map<String, Long> AWAY_SINCE = new ConcurrentHashMap<>();

    /** The same for those that are away or marked offline. */
    private static final Map<String, Long> OFFLINE_SINCE = new ConcurrentHashMap<>();

    private LostAgents() {}

    /** Shorter than what Pipeline's steps wait for an agent. */
    public static long patienceMillis() {
        return Long.getLong(LostAgents.class.getName() + ".awayMillis", TimeUnit.MINUTES.toMillis(4));
    }

    /** Whether the stage is to be resumed on any other agent that fits. */
    public static boolean isLost(StageRecord stage) {
        return OutlivesAgent.holdsWithout(stage)
                || OutlivesAgent.holds(stage)
                        && (DrainedAgents.get().evacuates(stage.node())
                                || isIdleOffline(stage.node())
                                || offlineMillis(stage.node()) >= patienceMillis());
    }

    private static boolean isIdleOffline(String agent) {
        Computer computer = Jenkins.get().getComputer(agent);
        return computer != null
                && computer.isOffline()
                && computer.getOfflineCause() instanceof OfflineCause.IdleOfflineCause;
    }

    /** For how long that agent has had no connection, in milliseconds; 0 = it has one, and its processes are within reach. */
    public static long awayMillis(String agent) {
        // The built-in node's computer has the empty name, too.
        Computer computer = Jenkins.get().getComputer(agent);
        return sinceMillis(AWAY_SINCE, agent, computer == null || computer.getChannel() == null);
    }

    /** For how long that agent has been away or marked offline, in milliseconds; 0 = it is online. */
    public static long offlineMillis(String agent) {
        Computer computer = Jenkins.get().getComputer(agent);
        return sinceMillis(OFFLINE_SINCE, agent, computer == null || computer.isOffline());
    }

    private static long sinceMillis(Map<String, Long> seen, String agent, boolean still) {
        if (!still) {
            seen.remove(agent);
            return 0;
        }
        long now = System.nanoTime();
        Long since = seen.putIfAbsent(agent, now);
        return since == null ? 1 : Math.max(1, TimeUnit.NANOSECONDS.toMillis(now - since));
    }

    /** Looks often enough that an agent which comes back for a while is not taken for one that was away all along. */
    @Extension
    public static final class Watch extends PeriodicWork {
        @Override
        public long getRecurrencePeriod() {
            return TimeUnit.SECONDS.toMillis(5);
        }

        @Override
        protected void doRun() {
            Set<String> agents = new HashSet<>();
            for (StageRecord stage : StageRegistry.get().all()) {
                agents.add(stage.node());
                if (stage.restoringOn() != null) {
                    agents.add(stage.restoringOn());
                }
            }
            agents.forEach(LostAgents::awayMillis);
            agents.forEach(LostAgents::offlineMillis);
            AWAY_SINCE.keySet().retainAll(agents);
            OFFLINE_SINCE.keySet().retainAll(agents);
        }
    }
}
