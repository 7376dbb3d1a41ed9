package io.jenkins.plugins.preemptible.lifecycle.suspend;

import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Thaws a stage that was frozen for a suspension which did not come about.
 *
 * <ol>
 *   <li>The stage counts as running only when its agent has said that it does.
 *   <li>An agent that is away, or still at the dump, is asked again, each time over its newest connection.
 *   <li>A kill that came meanwhile is carried out when the stage runs.
 * </ol>
 */
public final class FrozenStage {

    private static final Logger LOGGER = Logger.getLogger(FrozenStage.class.getName());
    private static final long RETRY_MILLIS = 2000;

    private FrozenStage() {}

    /** Thaws the stage now or as soon as that can be done. Blocks for one call to the agent. */
    public static void thaw(String stageId) throws InterruptedException {
        StageRecord stage = StageRegistry.get().find(stageId);
        if (stage == null || stage.state() != StageState.SUSPENDING) {
            return;
        }
        try {
            AgentStage.on(Nodes.named(stage.node()), stageId).thaw();
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> "cannot thaw " + stage + " yet");
            StageThreads.scheduleFor(stage.node(), "thawing " + stage, RETRY_MILLIS, () -> thaw(stageId));
            return;
        }
        StageRegistry.get().cutOff(stageId);
        LiveStage live = LiveStage.find(stageId);
        if (live != null) {
            live.carryOutKill();
        }
    }
}
