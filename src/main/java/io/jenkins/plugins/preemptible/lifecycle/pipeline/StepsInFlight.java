package io.jenkins.plugins.preemptible.lifecycle.pipeline;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.view.Messages;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.jenkinsci.plugins.workflow.cps.nodes.StepNode;
import org.jenkinsci.plugins.workflow.flow.FlowExecution;
import org.jenkinsci.plugins.workflow.graph.BlockStartNode;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.StepContext;
import org.jenkinsci.plugins.workflow.steps.StepDescriptor;
import org.jenkinsci.plugins.workflow.steps.StepExecution;
import org.jenkinsci.plugins.workflow.steps.durable_task.DurableTaskStep;
import org.jenkinsci.plugins.workflow.support.steps.ExecutorStep;

/**
 * The innermost steps that run inside a stage at one moment.
 *
 * <ol>
 *   <li>Asks the build's execution for its innermost steps and keeps those inside our block.
 *   <li>A stage can be suspended only while every one of them is an external process ({@code sh} and its like): a
 *       checkout or a junit step runs inside the agent's own process and cannot be frozen.
 *   <li>One that waits in the controller only ({@code input}) does not stand against a checkpoint. It does against a
 *       suspension: when it ends, the Pipeline goes on to the next step, which a suspended stage cannot start.
 *   <li>None at all means that the Pipeline is just between two steps.
 * </ol>
 *
 * <p>A {@code lock} of Lockable Resources that was taken on the stage's executor stands against it as well: the next item on
 * that executor might wait there for the lock, and the stage for the executor, for ever. One that was taken before the
 * executor does not: who takes both in that order waits without an executor.
 *
 * @param external the external processes
 * @param waiting steps that wait in the controller only
 * @param others names of the other steps, or of the blocks that take them out of reach
 * @param locked whether one of them runs inside a lock that was taken on the executor
 */
public record StepsInFlight(List<FlowNode> external, List<FlowNode> waiting, List<String> others, boolean locked) {

    private static final long LONGEST_WAIT_SECONDS = 5;
    /** By its name: the plugin need not be there. */
    private static final String LOCK = "lock";

    private static final String NODE = "node";

    /**
     * By their names. They have no process and no channel to the agent, and none of them runs a body over and over, as
     * {@code waitUntil} does: while one is in flight, its branch does nothing to the stage's files.
     */
    private static final Set<String> IN_CONTROLLER_ONLY = Set.of("build", "input", LOCK, "sleep");

    public static StepsInFlight of(LiveStage live) throws IOException, InterruptedException {
        StepContext context = live.context();
        StageRecord stage = StageRegistry.get().find(live.id());
        boolean nested = stage != null && stage.form() == StageRecord.Form.NESTED;
        FlowNode block = context.get(FlowNode.class);
        List<FlowNode> external = new ArrayList<>();
        List<FlowNode> waiting = new ArrayList<>();
        List<String> others = new ArrayList<>();
        boolean locked = false;
        for (StepExecution step : executions(live)) {
            FlowNode node = step.getContext().get(FlowNode.class);
            locked |= lockedOnExecutor(node, block, nested);
            StepDescriptor kind = kind(node);
            String outOfReach = OutOfReach.between(node, block);
            if (onAnotherExecutor(node, block)) {
                others.add(NODE);
            } else if (outOfReach != null) {
                others.add(outOfReach);
            } else if (kind instanceof DurableTaskStep.DurableTaskStepDescriptor) {
                external.add(node);
            } else if (kind != null && IN_CONTROLLER_ONLY.contains(kind.getFunctionName())) {
                waiting.add(node);
            } else {
                others.add(kind == null ? node.getDisplayFunctionName() : kind.getFunctionName());
            }
        }
        return new StepsInFlight(List.copyOf(external), List.copyOf(waiting), List.copyOf(others), locked);
    }

    /** The steps themselves. */
    public static List<StepExecution> executions(LiveStage live) throws IOException, InterruptedException {
        FlowNode block = live.context().get(FlowNode.class);
        List<StepExecution> inside = new ArrayList<>();
        for (StepExecution step : innermost(live.context().get(FlowExecution.class))) {
            FlowNode node = step.getContext().get(FlowNode.class);
            if (node != null && !node.equals(block) && node.getEnclosingBlocks().contains(block)) {
                inside.add(step);
            }
        }
        return inside;
    }

    /** Looks outwards from the step to the block that took the executor: ours, or the node block around it. */
    private static boolean lockedOnExecutor(FlowNode step, FlowNode block, boolean nested) {
        for (BlockStartNode around : step.getEnclosingBlocks()) {
            StepDescriptor kind = kind(around);
            if (kind != null && kind.getFunctionName().equals(LOCK)) {
                return true;
            }
            if (nested ? kind instanceof ExecutorStep.DescriptorImpl : around.equals(block)) {
                return false;
            }
        }
        return false;
    }

    /** Whether a node block inside of ours is around the step: it would keep running, and then start others in the stage. */
    static boolean onAnotherExecutor(FlowNode step, FlowNode block) {
        for (BlockStartNode around : step.getEnclosingBlocks()) {
            if (around.equals(block)) {
                return false;
            }
            if (kind(around) instanceof ExecutorStep.DescriptorImpl) {
                return true;
            }
        }
        return false;
    }

    /** Of the step that a node is of; null when it is of none. */
    @CheckForNull
    public static StepDescriptor kind(FlowNode node) {
        return node instanceof StepNode ? ((StepNode) node).getDescriptor() : null;
    }

    private static List<StepExecution> innermost(FlowExecution execution) throws IOException, InterruptedException {
        try {
            return execution.getCurrentExecutions(true).get(LONGEST_WAIT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException x) {
            throw new IOException("the Pipeline does not say which steps it runs", x);
        }
    }

    /** Why the stage must not be suspended at this moment, in a sentence, or null. */
    @CheckForNull
    public String objection() {
        StepDescriptor waits = others.isEmpty() && !waiting.isEmpty() ? kind(waiting.get(0)) : null;
        return waits == null ? objectionToCheckpoint() : Messages.StepsInFlight_Waits(waits.getFunctionName());
    }

    /** Why no checkpoint of the stage can be made at this moment, in a sentence, or null. */
    @CheckForNull
    public String objectionToCheckpoint() {
        if (!others.isEmpty()) {
            String first = others.get(0);
            if (first.equals(NODE)) {
                return Messages.StepsInFlight_Node();
            }
            return OutOfReach.isBlock(first)
                    ? Messages.StepsInFlight_OutOfReach(first)
                    : Messages.StepsInFlight_InAgent(first);
        }
        return external.isEmpty() ? Messages.StepsInFlight_None() : heldLock();
    }

    /** Whether none at all runs. */
    public boolean isBetweenSteps() {
        return external.isEmpty() && waiting.isEmpty() && others.isEmpty();
    }

    /** Of all of them, which the Pipeline waits for; only where no {@link #others} are among them. */
    public List<String> ids() {
        return Stream.concat(external.stream(), waiting.stream())
                .map(FlowNode::getId)
                .sorted()
                .toList();
    }

    /** Whether any step takes locks; only then the Pipeline's own thread need be asked for those that are held. */
    public static boolean knowsLocks() {
        return StepDescriptor.byFunctionName(LOCK) != null;
    }

    /** What a lock means for the stage, in words; null when there is none. */
    @CheckForNull
    public String heldLock() {
        return locked ? Messages.StepsInFlight_HeldLock() : null;
    }
}
