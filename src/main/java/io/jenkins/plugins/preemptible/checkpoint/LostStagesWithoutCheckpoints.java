package io.jenkins.plugins.preemptible.checkpoint;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.model.Computer;
import hudson.model.Node;
import hudson.model.TaskListener;
import hudson.slaves.ComputerListener;
import io.jenkins.plugins.preemptible.agent.CheckpointedStage;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.Rollback;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsInFlight;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jenkinsci.plugins.workflow.graph.FlowNode;

/**
 * Says in the build log that a running stage has lost its processes, where it has no checkpoint to go back to.
 *
 * <ol>
 *   <li>Looks when the agent has connected: its host may have restarted.
 *   <li>Nothing else is done. Pipeline finds out in some minutes that nothing of the step is left, and ends it.
 * </ol>
 */
@Extension
public final class LostStagesWithoutCheckpoints extends ComputerListener {

    private static final Logger LOGGER = Logger.getLogger(LostStagesWithoutCheckpoints.class.getName());

    /** Which steps each stage has lost, as its log has it, by the stage's id. */
    private static final Map<String, String> TOLD = new ConcurrentHashMap<>();

    @Override
    public void onOnline(Computer computer, TaskListener listener) {
        Node node = computer.getNode();
        for (StageRecord stage : StageRegistry.get().all()) {
            // One that is being suspended may run again in a moment.
            if (node != null && stage.node().equals(node.getNodeName())) {
                for (long delayMillis : LostStagesWithCheckpoints.AFTER_RETURN_MILLIS) {
                    String what = "looking whether " + stage + " is there";
                    StageThreads.scheduleFor(stage.node(), what, delayMillis, () -> look(node, stage.id()));
                }
            }
        }
    }

    /** Processes in a container are out of its sandbox's sight. */
    private static boolean mayBeLost(@CheckForNull StageRecord stage) {
        return stage != null
                && stage.state() == StageState.RUNNING
                && stage.hasSandbox()
                && stage.contained() == null
                && stage.containers() == null
                && !Rollback.isPossible(stage);
    }

    private static void look(Node node, String id) throws InterruptedException {
        LiveStage live = LiveStage.find(id);
        if (live == null || !mayBeLost(StageRegistry.get().find(id))) {
            return;
        }
        live.operation().lockInterruptibly();
        try {
            StageRecord stage = StageRegistry.get().find(id);
            if (stage == null || !mayBeLost(stage) || live.ending() || live.aborting()) {
                return;
            }
            String steps = StepsInFlight.of(live).external().stream()
                    .map(FlowNode::getId)
                    .sorted()
                    .toList()
                    .toString();
            boolean lost = !stage.controlFolders().isEmpty()
                    && CheckpointedStage.on(node, id).isGone(stage.controlFolders(), true);
            if (lost && !"[]".equals(steps) && !steps.equals(TOLD.put(id, steps))) {
                StageLog.line(live.context(), words(stage));
            }
        } catch (IOException x) {
            LOGGER.log(Level.FINE, x, () -> "it is not known whether stage " + id + " is there");
        } finally {
            live.operation().unlock();
        }
    }

    private static String words(StageRecord stage) {
        return "The host of the agent '" + stage.node() + "' has lost this stage's processes, as by a restart. What its"
                + " running step has done is lost, and Pipeline ends that step in some minutes. " + prevented(stage);
    }

    private static String prevented(StageRecord stage) {
        boolean moves = PreemptibleConfiguration.get().isMoveStages();
        if (stage.form() != StageRecord.Form.OWN) {
            return "A stage with an executor of its own, preemptible(label: …, checkpointEvery: MINUTES), would go on from its"
                    + " last checkpoint.";
        }
        if (stage.checkpoints() == null) {
            return "With checkpointEvery: MINUTES it would go on from its last checkpoint"
                    + (moves ? "." : ", where an administrator allows moves.");
        }
        return moves
                ? "No checkpoint of it had been made yet."
                : "Checkpoints are made and used only where an administrator allows moves.";
    }

    static void forget(String stageId) {
        TOLD.remove(stageId);
    }
}
