package io.jenkins.plugins.preemptible.step;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.OutOfReach;
import org.jenkinsci.plugins.workflow.actions.ArgumentsAction;
import org.jenkinsci.plugins.workflow.actions.ThreadNameAction;
import org.jenkinsci.plugins.workflow.cps.nodes.StepNode;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.StepDescriptor;

/**
 * Where a preemptible block stands in its Pipeline, and where it must not stand.
 *
 * <ol>
 *   <li>Walks the blocks around the step, from the inside out, up to the {@code node} that owns the executor.
 *   <li>A container of Kubernetes around the block moves processes to where the agent does not reach them; a parallel branch
 *       beside the block would keep running without the executor.
 *   <li>Each refusal is one sentence with the remedy; it fails the step before anything has run.
 * </ol>
 */
final class Surroundings {

    private static final String DOCKER = "withDockerContainer";
    private static final String NODE = "node";
    static final String FUNCTION = "preemptible";

    static final String KUBECTL_INSIDE =
            "A container step (kubectl) inside preemptible { } is not possible: its processes run outside of the stage and"
                    + " cannot be suspended with it. Move the container block out of preemptible { }.";

    private Surroundings() {}

    /** Why the block must not stand there, or null. */
    static String refusal(FlowNode block, boolean nested) {
        boolean parallelInside = false;
        for (FlowNode around : block.iterateEnclosingBlocks()) {
            String function = function(around);
            if (OutOfReach.isBlock(function)) {
                return "preemptible { } inside " + function
                        + " { } is not possible: the processes in such a container cannot be suspended by the agent."
                        + " Use it outside of any container block.";
            }
            if (!nested && DOCKER.equals(function)) {
                return "preemptible(label: …) { } inside a container block (docker.image(…).inside) is not possible: it"
                        + " takes an executor of its own, where that container does not run. Leave the label out, or put the"
                        + " container block inside of it.";
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

    /** Whether a container block of Docker stands around the block, inside of the {@code node} that owns the executor. */
    static boolean isInDocker(FlowNode block) {
        for (FlowNode around : block.iterateEnclosingBlocks()) {
            String function = function(around);
            if (DOCKER.equals(function) || NODE.equals(function)) {
                return DOCKER.equals(function);
            }
        }
        return false;
    }

    /** Whether a step of this kind may be one that must not start inside of a preemptible block. */
    static boolean mayBeRefused(@CheckForNull StepDescriptor kind) {
        return kind != null && NODE.equals(kind.getFunctionName());
    }

    /** Why a {@code node} block must not start here, inside of a preemptible block; null when it may. */
    @CheckForNull
    static String refusalInside(FlowNode step) {
        FlowNode preemptible = null;
        for (FlowNode around : step.iterateEnclosingBlocks()) {
            if (FUNCTION.equals(function(around))) {
                preemptible = around;
                break;
            }
        }
        return preemptible != null && standsAlone(preemptible)
                ? "node { } inside preemptible { } is not possible where neither a label nor another node { } says which"
                        + " executor the stage uses: a suspension would not free that of the inner block. Write"
                        + " preemptible(label: …) { } in place of node, or preemptible { } inside of node { }; in a"
                        + " Declarative Pipeline give agent { preemptible { } } a label."
                : null;
    }

    /** Whether the block has neither a label nor a node block around it. */
    private static boolean standsAlone(FlowNode preemptible) {
        // A block has two nodes, that of its body within that of its step, and the latter has the arguments.
        if (hasLabel(preemptible)) {
            return false;
        }
        for (FlowNode around : preemptible.iterateEnclosingBlocks()) {
            if (NODE.equals(function(around)) || FUNCTION.equals(function(around)) && hasLabel(around)) {
                return false;
            }
        }
        return true;
    }

    private static boolean hasLabel(FlowNode preemptible) {
        return ArgumentsAction.getFilteredArguments(preemptible).get("label") != null;
    }

    static String function(FlowNode node) {
        StepDescriptor kind = node instanceof StepNode ? ((StepNode) node).getDescriptor() : null;
        return kind == null ? "" : kind.getFunctionName();
    }
}
