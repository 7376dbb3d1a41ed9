package io.jenkins.plugins.preemptible.lifecycle.pipeline;

import hudson.FilePath;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.DurableTasks;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageContainers;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * An abort that reaches a stage which has no running process to be killed.
 *
 * <ol>
 *   <li>The Pipeline's thread asks our launcher to kill; that thread must not wait, so only a flag is set there.
 *   <li>Off that thread, every step in flight that an ordinary kill would end, which are those of one workspace, gets
 *       the result that a terminated process leaves.
 *   <li>The steps end at their next look, the body ends, and the end of the stage removes what is left.
 * </ol>
 */
public final class AbortedStage {

    private static final Logger LOGGER = Logger.getLogger(AbortedStage.class.getName());

    private AbortedStage() {}

    /**
     * Takes over a kill when the stage has no running processes.
     *
     * @param modelEnvVars which processes are meant
     * @param ordinary what would be right if it ran; carried out when the stage runs after all, because the suspension
     *     failed or a restore was under way
     * @return false when it runs: then the ordinary kill is right
     */
    public static boolean kill(String stageId, Map<String, String> modelEnvVars, StageThreads.Work ordinary) {
        StageRecord stage = StageRegistry.get().find(stageId);
        LiveStage live = LiveStage.find(stageId);
        if (stage == null || live == null || stage.state() == StageState.RUNNING) {
            return false;
        }
        List<String> meant = DurableTasks.meant(stage.controlFolders(), modelEnvVars);
        boolean whole = meant.size() == stage.controlFolders().size();
        live.pendingKill(ordinary);
        if (whole) {
            live.markAborting();
        }
        StageRecord now = StageRegistry.get().find(stageId);
        if (now != null && now.state() == StageState.RUNNING) {
            // It was resumed meanwhile: the resume may not have seen the kill yet.
            live.carryOutKill();
            return true;
        }
        if (whole) {
            live.hold().withdraw(stage);
        }
        endSteps(stageId, meant);
        return true;
    }

    /** Every step in flight. */
    public static void endSteps(String stageId) {
        StageRecord stage = StageRegistry.get().find(stageId);
        if (stage != null) {
            endSteps(stageId, stage.controlFolders());
        }
    }

    private static void endContained(StageRecord stage, List<String> controlFolders) throws InterruptedException {
        StageContainers containers = stage.containers();
        for (ContainerRef container : containers == null ? List.<ContainerRef>of() : containers.of(controlFolders)) {
            try {
                AgentStage.on(Nodes.named(stage.node()), stage.id()).killInContainer(container);
            } catch (IOException | RuntimeException x) {
                LOGGER.log(Level.WARNING, x, () -> "cannot end what " + stage + " has started in " + container.shown());
            }
        }
    }

    private static void endSteps(String stageId, List<String> controlFolders) {
        StageThreads.soonFor(StageThreads.agentOf(stageId), "ending the steps of stage " + stageId, () -> {
            StageRecord stage = StageRegistry.get().find(stageId);
            FilePath root = stage == null ? null : Nodes.rootOf(stage.node());
            if (root != null) {
                // First: when the step has ended, the container block stops the container, which must run for that.
                endContained(stage, controlFolders);
                DurableTasks.endAborted(root, controlFolders);
            }
        });
    }
}
