package io.jenkins.plugins.preemptible.lifecycle;

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
}
