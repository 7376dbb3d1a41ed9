package io.jenkins.plugins.preemptible.lifecycle;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.Util;
import hudson.model.Node;
import hudson.model.PeriodicWork;
import hudson.slaves.AbstractCloudSlave;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import jenkins.model.NodeListener;

/**
 * Takes a stage back from another agent that was asked to restore it, has not answered, and was removed.
 *
 * <ol>
 *   <li>It is waited for as long as a stage's own agent is, see {@link RemovedAgent}, also by the next process of the
 *       controller. The time begins anew with each removal.
 *   <li>Then the stage is resumed on its own agent, from its sealed image. Processes of it that run on the removed one's host
 *       are out of reach; they are ended when that host connects again, by whatever name.
 *   <li>A stage whose workspace is sealed, too, does not wait, and may be resumed on any agent that fits.
 *   <li>A stage whose build is still being loaded is taken back when that is done, however long it takes.
 * </ol>
 */
@Extension
public final class RemovedTarget extends NodeListener {

    /** Until when each removed agent is waited for, as {@link System#nanoTime}, by its name. */
    private static final Map<String, Long> WAITED_FOR = new ConcurrentHashMap<>();

    /** Stages whose build logs say so, each with its removed agent. */
    private static final Set<String> TOLD = ConcurrentHashMap.newKeySet();

    @Override
    protected void onCreated(@NonNull Node node) {
        forget(node.getNodeName());
    }

    @Override
    protected void onDeleted(@NonNull Node node) {
        String agent = node.getNodeName();
        forget(agent);
        if (!awaited(agent).isEmpty()) {
            waitFor(agent, node instanceof AbstractCloudSlave ? 0 : RemovedAgent.graceMillis());
        }
    }

    private static void forget(String agent) {
        WAITED_FOR.remove(agent);
        TOLD.removeIf(key -> key.endsWith("/" + agent));
    }

    private static void waitFor(String agent, long millis) {
        WAITED_FOR.put(agent, System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis));
        look(agent);
        StageThreads.schedule("looking for agent " + agent, millis, () -> look(agent));
    }

    /** Finds what the moments above have missed: builds that were loaded later, and agents that a restart has made unknown. */
    @Extension
    public static final class Watch extends PeriodicWork {
        @Override
        public long getRecurrencePeriod() {
            return TimeUnit.SECONDS.toMillis(5);
        }

        @Override
        protected void doRun() {
            Set<String> removed = StageRegistry.get().all().stream()
                    .map(StageRecord::restoringOn)
                    .filter(agent -> agent != null && Nodes.named(agent) == null)
                    .collect(Collectors.toSet());
            WAITED_FOR.keySet().removeIf(agent -> awaited(agent).isEmpty());
            TOLD.removeIf(key -> StageRegistry.get().find(key.substring(0, key.indexOf('/'))) == null);
            for (String agent : removed) {
                if (WAITED_FOR.containsKey(agent)) {
                    look(agent);
                } else {
                    waitFor(agent, RemovedAgent.graceMillis());
                }
            }
        }
    }

    private static void look(String agent) {
        // Another removal may have given it time, or somebody has added it.
        Long until = WAITED_FOR.get(agent);
        if (until == null || Nodes.named(agent) != null) {
            return;
        }
        long leftSeconds = TimeUnit.NANOSECONDS.toSeconds(until - System.nanoTime() + 999_999_999);
        for (StageRecord stage : awaited(agent)) {
            LiveStage live = LiveStage.find(stage.id());
            if (live == null) {
                // Its build is still being loaded.
                continue;
            }
            if (OutlivesAgent.isStored(stage) || leftSeconds <= 0) {
                if (!live.busy()) {
                    StageThreads.submitFor(stage.node(), "taking back " + stage, () -> takeBack(stage.id(), agent));
                }
            } else if (TOLD.add(stage.id() + "/" + agent)) {
                tell(
                        stage,
                        "The agent '" + agent
                                + "', which was asked to resume this stage and has not answered, was removed from"
                                + " Jenkins. The stage may run on its host, where Jenkins cannot reach it. It is resumed on '"
                                + stage.node() + "' in "
                                + Util.getTimeSpanString(TimeUnit.SECONDS.toMillis(leftSeconds))
                                + ", unless an agent named '"
                                + agent + "' is added before.");
            }
        }
    }

    private static List<StageRecord> awaited(String agent) {
        return StageRegistry.get().all().stream()
                .filter(stage -> agent.equals(stage.restoringOn()))
                .toList();
    }

    private static void takeBack(String stageId, String agent) throws InterruptedException {
        LiveStage live = LiveStage.find(stageId);
        if (live == null) {
            return;
        }
        // The attempt that asked it has come to its end by then.
        live.operation().lockInterruptibly();
        try {
            StageRecord stage = StageRegistry.get().find(stageId);
            if (stage != null && agent.equals(stage.restoringOn()) && isOver(stage, agent)) {
                StageRegistry.get().update(stageId, StageChanges.askedInVain());
                tell(
                        stage,
                        "The agent '" + agent + "' is not waited for any more: this stage is resumed on '"
                                + stage.node() + "', from its sealed image. Processes of it that still run on the"
                                + " host of '" + agent + "' are ended when that host connects again.");
            }
        } finally {
            live.operation().unlock();
        }
    }

    private static boolean isOver(StageRecord stage, String agent) {
        Long until = WAITED_FOR.get(agent);
        return Nodes.named(agent) == null
                && until != null
                && (OutlivesAgent.isStored(stage) || until - System.nanoTime() <= 0);
    }

    private static void tell(StageRecord stage, String line) {
        LiveStage live = LiveStage.find(stage.id());
        if (live != null) {
            StageThreads.tell("telling of " + stage, () -> StageLog.line(live.context(), line));
        }
    }
}
