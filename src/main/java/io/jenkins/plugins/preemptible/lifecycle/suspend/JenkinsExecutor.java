package io.jenkins.plugins.preemptible.lifecycle.suspend;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Executor;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.lifecycle.Resumption;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;

/** An executor of Jenkins. */
record JenkinsExecutor(LiveStage live, Executor executor) implements StageExecutor {

    @CheckForNull
    static StageExecutor of(LiveStage live, StageRecord stage) {
        Executor executor = live.hold().executor(stage);
        return executor == null ? null : new JenkinsExecutor(live, executor);
    }

    @Override
    public String shown() {
        return agentName() + " #" + executor.getNumber();
    }

    @Override
    public String agentName() {
        return executor.getOwner().getDisplayName();
    }

    @Override
    public StageAgent agent() throws IOException {
        Node owner = executor.getOwner().getNode();
        // A renamed agent has another computer; this executor goes on with the old one.
        StageRecord stage = owner == null ? StageRegistry.get().find(live.id()) : null;
        return AgentStage.on(stage == null ? owner : Nodes.named(stage.node()), live.id());
    }

    @Override
    public void release(StageRecord stage) throws IOException {
        live.hold().release(stage);
    }

    @Override
    public void resumeOn(StageRecord stage) throws InterruptedException {
        Resumption.run(stage.id(), executor);
    }
}
