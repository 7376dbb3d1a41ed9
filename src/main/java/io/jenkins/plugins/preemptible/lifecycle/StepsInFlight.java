package io.jenkins.plugins.preemptible.lifecycle;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jenkinsci.plugins.workflow.cps.nodes.StepNode;
import org.jenkinsci.plugins.workflow.flow.FlowExecution;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.StepContext;
import org.jenkinsci.plugins.workflow.steps.StepDescriptor;
import org.jenkinsci.plugins.workflow.steps.StepExecution;
import org.jenkinsci.plugins.workflow.steps.durable_task.DurableTaskStep;

/**
 * The innermost steps that run inside a stage at one moment.
 *
 * <ol>
 *   <li>Asks the build's execution for its innermost steps and keeps those inside our block.
 *   <li>A stage can be suspended only while every one of them is an external process ({@code sh} and its like): a
 *       checkout or a junit step runs inside the agent's JVM and cannot be frozen.
 *   <li>None at all means that the Pipeline is just between two steps.
 * </ol>
 */
record StepsInFlight(List<FlowNode> external, List<String> others) {

    private static final long LONGEST_WAIT_SECONDS = 5;

    static StepsInFlight of(StepContext context) throws IOException, InterruptedException {
        FlowNode block = context.get(FlowNode.class);
        FlowExecution execution = context.get(FlowExecution.class);
        List<FlowNode> external = new ArrayList<>();
        List<String> others = new ArrayList<>();
        for (StepExecution step : innermost(execution)) {
            FlowNode node = step.getContext().get(FlowNode.class);
            if (node == null || node.equals(block) || !node.getEnclosingBlocks().contains(block)) {
                continue;
            }
            StepDescriptor kind = node instanceof StepNode ? ((StepNode) node).getDescriptor() : null;
            if (kind instanceof DurableTaskStep.DurableTaskStepDescriptor) {
                external.add(node);
            } else {
                others.add(kind == null ? node.getDisplayFunctionName() : kind.getFunctionName());
            }
        }
        return new StepsInFlight(List.copyOf(external), List.copyOf(others));
    }

    private static List<StepExecution> innermost(FlowExecution execution) throws IOException, InterruptedException {
        try {
            return execution.getCurrentExecutions(true).get(LONGEST_WAIT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException x) {
            throw new IOException("the Pipeline does not say which steps it runs", x);
        }
    }

    /** Why the stage must not be suspended at this moment, or null. */
    String objection() {
        if (!others.isEmpty()) {
            return "the step '" + others.get(0) + "' runs inside the agent's JVM";
        }
        return external.isEmpty() ? "no external process is running in it" : null;
    }
}
