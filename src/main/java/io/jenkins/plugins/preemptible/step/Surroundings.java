package io.jenkins.plugins.preemptible.step;

import java.util.Set;
import org.jenkinsci.plugins.workflow.actions.ThreadNameAction;
import org.jenkinsci.plugins.workflow.cps.nodes.StepNode;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.StepDescriptor;

/**
 * Where a preemptible block stands in its Pipeline, and where it must not stand.
 *
 * <ol>
 *   <li>Walks the blocks around the step, from the inside out, up to the {@code node} that owns the executor.
 *   <li>A container block moves processes to where they cannot be dumped from; a parallel branch beside the block
 *       would go on without the executor.
 *   <li>Each refusal is one sentence with the remedy; it fails the step before anything has run.
 * </ol>
 */
final class Surroundings {

    private static final Set<String> CONTAINERS =
            Set.of("withDockerContainer", "container", "containerTemplate", "dockerContainer");
    private static final String NODE = "node";
    static final String FUNCTION = "preemptible";

    private Surroundings() {}

    /** Why the block must not stand there, or null. */
    static String refusal(FlowNode block, boolean nested) {
        boolean parallelInside = false;
        for (FlowNode around : block.iterateEnclosingBlocks()) {
            String function = function(around);
            if (CONTAINERS.contains(function)) {
                return "preemptible { } inside " + function
                        + " { } is not possible: processes in a container cannot be suspended from outside of it."
                        + " Use it outside of any container block.";
            }
            if (FUNCTION.equals(function)) {
                return "preemptible { } inside preemptible { } is not possible: a stage is suspended as a whole."
                        + " Remove the inner or the outer one.";
            }
            if (nested && around.getPersistentAction(ThreadNameAction.class) != null) {
                parallelInside = true;
            }
            if (nested && NODE.equals(function)) {
                return parallelInside
                        ? "preemptible { } in a parallel branch of the same node { } is not possible: the other"
                                + " branches would run on without an executor. Put node { } or preemptible(label: …)"
                                + " into each branch instead."
                        : null;
            }
        }
        return null;
    }

    static String containerInside(String what) {
        return "A container step (" + what + ") inside preemptible { } is not possible: its processes run outside of"
                + " the stage and cannot be suspended with it. Move the container block out of preemptible { }.";
    }

    /** Whether a step of this kind must not start inside a preemptible block. */
    static boolean isContainer(StepDescriptor kind) {
        return kind != null && CONTAINERS.contains(kind.getFunctionName());
    }

    static String function(FlowNode node) {
        StepDescriptor kind = node instanceof StepNode ? ((StepNode) node).getDescriptor() : null;
        return kind == null ? "" : kind.getFunctionName();
    }
}
