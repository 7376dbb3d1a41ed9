package io.jenkins.plugins.preemptible.lifecycle.pipeline;

import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.view.ResumedStageAction;
import io.jenkins.plugins.preemptible.view.SuspendedStageAction;
import java.io.IOException;
import java.util.Collection;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jenkinsci.plugins.workflow.flow.FlowExecution;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.StepContext;
import org.jenkinsci.plugins.workflow.support.actions.PauseAction;

/**
 * What a suspended stage's flow nodes show in the Pipeline views.
 *
 * <ol>
 *   <li>{@link #suspended} puts our exported action on the block's node, on those of the Pipeline's stages around and
 *       inside of it, and on every step in flight, and opens a pause on the block, on every step in flight, and on those of the
 *       stages in which nothing else runs; {@link #byHandChanged} and {@link #sealed} put a newer action there.
 *   <li>{@link #resumed} takes the action away and closes the pauses; {@link #went} leaves one that tells from what.
 *   <li>Marks are for the eye: a failure to set one is logged and changes nothing.
 * </ol>
 */
public final class StageMarks {

    private static final Logger LOGGER = Logger.getLogger(StageMarks.class.getName());
    private static final String CAUSE = "Suspended by Preemptible stages";

    private StageMarks() {}

    public static void suspended(LiveStage live, StageRecord stage, Collection<FlowNode> inFlight) {
        mark(live.context(), block -> {
            tell(live, stage, block, inFlight);
            pause(block);
            for (FlowNode node : inFlight) {
                pause(node);
            }
            List<FlowNode> running = live.context().get(FlowExecution.class).getCurrentHeads();
            for (FlowNode node : StageNodes.atRest(block, inFlight, running)) {
                pause(node);
            }
        });
    }

    /** The image of a frozen stage is safe and has a size; or there will be none. */
    public static void sealed(LiveStage live, StageRecord stage) {
        mark(live.context(), block -> tellAgain(live, stage, block));
    }

    private static void tellAgain(LiveStage live, StageRecord stage, FlowNode block)
            throws IOException, InterruptedException {
        // After a restart of the controller it is not known which nodes were marked.
        tell(
                live,
                stage,
                block,
                live.marked().isEmpty() ? StepsInFlight.of(live).external() : List.of());
    }

    private static void tell(LiveStage live, StageRecord stage, FlowNode block, Collection<FlowNode> inFlight) {
        SuspendedStageAction told = told(stage);
        block.addOrReplaceAction(told);
        live.marked().addAll(inFlight);
        live.marked().addAll(StageNodes.of(block, inFlight));
        live.marked().forEach(node -> node.addOrReplaceAction(told));
    }

    /** A user wants a suspended stage to stay so, or no longer does. Returns at once; from any thread. */
    public static void byHandChanged(LiveStage live) {
        StageThreads.submitFor(
                StageThreads.agentOf(live.id()), "showing who wants stage " + live.id() + " suspended", () -> {
                    // A resume takes the mark away under this lock.
                    live.operation().lockInterruptibly();
                    try {
                        StageRecord stage = StageRegistry.get().find(live.id());
                        if (stage != null && stage.state() == StageState.SUSPENDED) {
                            mark(live.context(), block -> tellAgain(live, stage, block));
                        }
                    } finally {
                        live.operation().unlock();
                    }
                });
    }

    public static void went(LiveStage live, ResumedStageAction how, Collection<FlowNode> inFlight) {
        mark(live.context(), block -> {
            block.addOrReplaceAction(how);
            inFlight.forEach(node -> node.addOrReplaceAction(how));
            StageNodes.of(block, inFlight).forEach(node -> node.addOrReplaceAction(how));
        });
    }

    private static SuspendedStageAction told(StageRecord stage) {
        return new SuspendedStageAction(
                stage.name(),
                stage.state().name(),
                stage.suspendedSinceMillis(),
                stage.preemptor(),
                stage.preemptorJob(),
                stage.reason(),
                stage.frozen(),
                stage.memoryOnly(),
                stage.archiveBytes(),
                stage.byHand(),
                stage.byHandUser());
    }

    /** @param inFlight the steps that run in the stage; none when it is over */
    public static void resumed(LiveStage live, Collection<FlowNode> inFlight) {
        mark(live.context(), block -> {
            live.marked().addAll(inFlight);
            live.marked().addAll(StageNodes.of(block, inFlight));
            for (FlowNode node : live.marked()) {
                node.removeActions(SuspendedStageAction.class);
                endPause(node);
            }
            live.marked().clear();
            block.removeActions(SuspendedStageAction.class);
            endPause(block);
            for (FlowNode node : inFlight) {
                endPause(node);
            }
        });
    }

    private static void pause(FlowNode node) throws IOException {
        if (!PauseAction.isPaused(node)) {
            node.addAction(new PauseAction(CAUSE));
        }
    }

    private static void endPause(FlowNode node) throws IOException {
        if (PauseAction.isPaused(node)) {
            PauseAction.endCurrentPause(node);
        }
    }

    private interface Marking {
        void on(FlowNode block) throws IOException, InterruptedException;
    }

    private static void mark(StepContext context, Marking marking) {
        try {
            FlowNode block = context.get(FlowNode.class);
            if (block != null) {
                marking.on(block);
            }
        } catch (IOException | InterruptedException | RuntimeException x) {
            LOGGER.log(Level.FINE, "could not mark the stage in its flow graph", x);
        }
    }
}
