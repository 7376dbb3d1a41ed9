package io.jenkins.plugins.preemptible.lifecycle.pipeline;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import io.jenkins.plugins.preemptible.engine.move.Misfit;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jenkinsci.plugins.workflow.graph.BlockStartNode;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.StepDescriptor;
import org.jenkinsci.plugins.workflow.steps.StepExecution;
import org.jenkinsci.plugins.workflow.steps.durable_task.DurableTaskStep;

/**
 * Lets the {@code sh} steps of a stage look for their process on the stage's new agent.
 *
 * <ol>
 *   <li>Such a step knows its agent by a public field, and keeps a private handle of the workspace that is found by it; the
 *       first is set, then the second forgotten, so that the step finds the new one at its next look.
 *   <li>Private ones are looked up once. Where one is missing or of another type no stage is moved.
 * </ol>
 *
 * Read in workflow-durable-task-step 1479: DurableTaskStep.Execution, {@code node}, {@code ws} and {@code watching}.
 */
public final class StepsOnAgent {

    private static final Logger LOGGER = Logger.getLogger(StepsOnAgent.class.getName());
    private static final Probe PROBE = Probe.make(DurableTaskStep.class.getName() + "$Execution");
    private static final String WS = "ws";
    private static final String CONTAINER = "withDockerContainer";

    private StepsOnAgent() {}

    private record Probe(
            @CheckForNull String problem, Class<?> owner, VarHandle node, VarHandle workspace, VarHandle watching) {

        static Probe make(String owner) {
            try {
                Class<?> execution = Class.forName(owner, false, DurableTaskStep.class.getClassLoader());
                MethodHandles.Lookup lookup = MethodHandles.privateLookupIn(execution, MethodHandles.lookup());
                return new Probe(
                        null,
                        execution,
                        lookup.findVarHandle(execution, "node", String.class),
                        lookup.findVarHandle(execution, "ws", FilePath.class),
                        lookup.findVarHandle(execution, "watching", boolean.class));
            } catch (ReflectiveOperationException | LinkageError | RuntimeException x) {
                return new Probe(String.valueOf(x), null, null, null, null);
            }
        }
    }

    /** Why the steps that run in the stage, or its Pipeline, could not follow it; null when they can. */
    @CheckForNull
    public static Misfit obstacle(LiveStage live) throws IOException, InterruptedException {
        if (PROBE.problem != null) {
            return new Misfit(MoveObstacle.WATCHED_STEPS, PROBE.problem);
        }
        FlowNode block = live.context().get(FlowNode.class);
        for (StepExecution step : StepsInFlight.executions(live)) {
            if (PROBE.owner.isInstance(step) && (boolean) PROBE.watching.getVolatile(step)) {
                return Misfit.of(MoveObstacle.WATCHED_STEPS);
            }
            FlowNode node = step.getContext().get(FlowNode.class);
            for (BlockStartNode around : node == null ? List.<BlockStartNode>of() : node.getEnclosingBlocks()) {
                if (around.equals(block)) {
                    break;
                }
                StepDescriptor kind = StepsInFlight.kind(around);
                if (kind != null && kind.getFunctionName().equals(WS)) {
                    return Misfit.of(MoveObstacle.INSIDE_WS);
                }
                if (kind != null && kind.getFunctionName().equals(CONTAINER)) {
                    return Misfit.of(MoveObstacle.IN_CONTAINER);
                }
            }
        }
        return CapturedFilePaths.obstacle(live);
    }

    /**
     * Lets them look for their process nowhere, until they {@link #follow}: what still runs on the lost agent is not the
     * stage any more.
     */
    public static void leave(LiveStage live, String agent) throws InterruptedException {
        if (PROBE.problem != null) {
            return;
        }
        try {
            for (StepExecution step : ofStage(live)) {
                // No agent has such a name; the step says once that it is away.
                PROBE.node.setVolatile(step, "another agent in place of " + agent);
                PROBE.workspace.setVolatile(step, null);
                step.getContext().saveState();
            }
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> "the steps of stage " + live.id() + " still look for its lost agent");
        }
    }

    /** Those that have a process in the stage; one inside of another node block is on an agent of its own. */
    private static List<StepExecution> ofStage(LiveStage live) throws IOException, InterruptedException {
        FlowNode block = live.context().get(FlowNode.class);
        List<StepExecution> found = new ArrayList<>();
        for (StepExecution step : StepsInFlight.executions(live)) {
            FlowNode node = step.getContext().get(FlowNode.class);
            if (PROBE.owner.isInstance(step) && node != null && !StepsInFlight.onAnotherExecutor(node, block)) {
                found.add(step);
            }
        }
        return found;
    }

    /** Lets all of them follow; those that look for the right agent already are left alone. */
    public static void follow(LiveStage live) throws InterruptedException {
        StageRecord stage = StageRegistry.get().find(live.id());
        if (stage == null || PROBE.problem != null) {
            return;
        }
        try {
            for (StepExecution step : ofStage(live)) {
                if (!stage.node().equals(PROBE.node.getVolatile(step))) {
                    PROBE.node.setVolatile(step, stage.node());
                    PROBE.workspace.setVolatile(step, null);
                    step.getContext().saveState();
                }
            }
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> "the steps of " + stage + " do not know its agent");
        }
    }
}
