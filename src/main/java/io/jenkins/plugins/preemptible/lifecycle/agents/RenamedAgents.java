package io.jenkins.plugins.preemptible.lifecycle.agents;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsOnAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import jenkins.model.NodeListener;

/**
 * Stages follow an agent that is given another name: its host, and all that they have there, stays.
 *
 * <p>A request for an executor is taken back, since it may name the old one; the next decision makes another. The {@code sh}
 * steps look for their process by the new name.
 */
@Extension
public final class RenamedAgents extends NodeListener {

    @Override
    protected void onUpdated(@NonNull Node before, @NonNull Node now) {
        String from = before.getNodeName();
        String to = now.getNodeName();
        if (from.equals(to)) {
            return;
        }
        StageRegistry.get().agentRenamed(from, to);
        for (StageRecord stage : StageRegistry.get().all()) {
            LiveStage live = LiveStage.find(stage.id());
            if (live == null) {
                continue;
            }
            if (stage.suspended()
                    && (stage.node().equals(to) || from.equals(live.hold().requestedOn(stage)))) {
                StageThreads.enqueue(
                        "taking back the request of " + stage, () -> live.hold().withdraw(stage));
            }
            if (stage.node().equals(to)) {
                StageThreads.submitFor(to, "letting the steps of " + stage + " follow", () -> follow(live));
            }
        }
    }

    private static void follow(LiveStage live) throws InterruptedException {
        live.operation().lockInterruptibly();
        try {
            StageRecord stage = StageRegistry.get().find(live.id());
            // Those of a stage that went back to its checkpoint look for no agent until it runs.
            if (stage != null && !stage.rolledBack()) {
                StepsOnAgent.follow(live);
            }
        } finally {
            live.operation().unlock();
        }
    }
}
