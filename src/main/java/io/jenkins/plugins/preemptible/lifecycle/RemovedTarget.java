package io.jenkins.plugins.preemptible.lifecycle;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.Util;
import hudson.model.Node;
import hudson.model.listeners.ItemListener;
import hudson.slaves.AbstractCloudSlave;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import jenkins.model.NodeListener;

/**
 * Takes a stage back from another agent that was asked to restore it, has not answered, and was removed.
 *
 * <ol>
 *   <li>It is waited for as long as a stage's own agent is, see {@link RemovedAgent}, also by the next process of the
 *       controller.
 *   <li>Then the stage is resumed on its own agent, from its sealed image. Processes of it that run on the removed one's host
 *       are out of reach; they are ended when that host connects again, by whatever name.
 *   <li>A stage whose workspace is sealed, too, does not wait, and may be resumed on any agent that fits.
 * </ol>
 */
@Extension
public final class RemovedTarget extends NodeListener {

    @Override
    protected void onDeleted(@NonNull Node node) {
        waitFor(node.getNodeName(), node instanceof AbstractCloudSlave ? 0 : RemovedAgent.graceMillis());
    }

    private static void waitFor(String agent, long millis) {
        awaited(agent).stream().filter(OutlivesAgent::isStored).forEach(stage -> takeBackSoon(stage, agent));
        Collection<StageRecord> awaited = awaited(agent).stream()
                .filter(stage -> !OutlivesAgent.isStored(stage))
                .toList();
        if (awaited.isEmpty()) {
            return;
        }
        for (StageRecord stage : millis > 0 ? awaited : List.<StageRecord>of()) {
            tell(
                    stage,
                    "The agent '" + agent
                            + "', which was asked to resume this stage and has not answered, was removed from"
                            + " Jenkins. The stage may run on its host, where Jenkins cannot reach it. It is resumed on '"
                            + stage.node() + "' in " + Util.getTimeSpanString(millis) + ", unless an agent named '"
                            + agent + "' is added before.");
        }
        StageThreads.schedule("looking for agent " + agent, millis, () -> {
            if (Nodes.named(agent) == null) {
                awaited(agent).forEach(stage -> takeBackSoon(stage, agent));
            }
        });
    }

    private static void takeBackSoon(StageRecord stage, String agent) {
        StageThreads.submitFor(stage.node(), "taking back " + stage, () -> takeBack(stage.id(), agent));
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
            if (stage != null && agent.equals(stage.restoringOn()) && Nodes.named(agent) == null) {
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

    private static void tell(StageRecord stage, String line) {
        LiveStage live = LiveStage.find(stage.id());
        if (live != null) {
            StageThreads.tell("telling of " + stage, () -> StageLog.line(live.context(), line));
        }
    }

    /** Those that were removed before the controller's restart. */
    @Extension
    public static final class RemovedBefore extends ItemListener {
        @Override
        public void onLoaded() {
            StageRegistry.get().all().stream()
                    .map(StageRecord::restoringOn)
                    .filter(Objects::nonNull)
                    .filter(agent -> Nodes.named(agent) == null)
                    .collect(Collectors.toSet())
                    .forEach(agent -> waitFor(agent, RemovedAgent.graceMillis()));
        }
    }
}
