package io.jenkins.plugins.preemptible.lifecycle.pipeline;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import java.util.Set;
import org.jenkinsci.plugins.workflow.graph.BlockStartNode;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.StepDescriptor;

/**
 * Blocks whose steps run in a container that the agent's process does not reach, such as another one of its pod.
 *
 * <p>A stage with such a step cannot be suspended: that step would run on without an executor.
 */
public final class OutOfReach {

    private static final Set<String> BLOCKS = Set.of("container", "containerTemplate", "dockerContainer");

    private OutOfReach() {}

    /** @param function name of the block's step in a Pipeline */
    public static boolean isBlock(String function) {
        return BLOCKS.contains(function);
    }

    /** The name of such a block between the two; null where there is none. */
    @CheckForNull
    static String between(FlowNode step, FlowNode stage) {
        for (BlockStartNode around : step.getEnclosingBlocks()) {
            if (around.equals(stage)) {
                return null;
            }
            StepDescriptor kind = StepsInFlight.kind(around);
            if (kind != null && isBlock(kind.getFunctionName())) {
                return kind.getFunctionName();
            }
        }
        return null;
    }
}
