package io.jenkins.plugins.preemptible.lifecycle.pipeline;

import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jenkinsci.plugins.workflow.actions.LabelAction;
import org.jenkinsci.plugins.workflow.actions.ThreadNameAction;
import org.jenkinsci.plugins.workflow.graph.FlowNode;

/**
 * The nodes that Pipeline's views draw as stages, of one preemptible block.
 *
 * <ol>
 *   <li>Around the block: the parallel branches up to the nearest {@code stage}, and that.
 *   <li>Inside of the block: the stages and branches around the steps that run.
 * </ol>
 */
final class StageNodes {

    private StageNodes() {}

    /** @param inFlight steps inside of the block; none = those around the block alone */
    static Set<FlowNode> of(FlowNode block, Collection<FlowNode> inFlight) {
        Set<FlowNode> nodes = new LinkedHashSet<>();
        for (FlowNode around : block.iterateEnclosingBlocks()) {
            if (around.getPersistentAction(LabelAction.class) != null) {
                nodes.add(around);
                if (around.getPersistentAction(ThreadNameAction.class) == null) {
                    break;
                }
            }
        }
        for (FlowNode step : inFlight) {
            for (FlowNode around : step.iterateEnclosingBlocks()) {
                if (around.equals(block)) {
                    break;
                }
                if (around.getPersistentAction(LabelAction.class) != null) {
                    nodes.add(around);
                }
            }
        }
        return nodes;
    }

    /**
     * Those in which nothing runs while the block is suspended: views that know pauses show them as paused.
     *
     * @param heads the nodes that the whole Pipeline runs at this moment
     */
    static Set<FlowNode> atRest(FlowNode block, Collection<FlowNode> inFlight, Collection<FlowNode> heads) {
        Set<FlowNode> nodes = of(block, inFlight);
        for (FlowNode head : heads) {
            if (!inFlight.contains(head)) {
                head.getEnclosingBlocks().forEach(nodes::remove);
            }
        }
        return nodes;
    }
}
