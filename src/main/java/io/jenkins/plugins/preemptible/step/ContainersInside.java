package io.jenkins.plugins.preemptible.step;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.AbortException;
import hudson.Extension;
import java.io.IOException;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jenkinsci.plugins.workflow.flow.StepListener;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.Step;
import org.jenkinsci.plugins.workflow.steps.StepContext;

/**
 * Refuses container blocks inside a preemptible block.
 *
 * <ol>
 *   <li>Hears of every step before it starts.
 *   <li>A container step with one of our blocks around it fails at once, with the reason.
 *   <li>Needed because a Kubernetes container does not launch through our launcher, and a Docker one bypasses it for
 *       the processes that matter.
 * </ol>
 */
@Extension
public final class ContainersInside implements StepListener {

    private static final Logger LOGGER = Logger.getLogger(ContainersInside.class.getName());

    @Override
    public void notifyOfNewStep(@NonNull Step step, @NonNull StepContext context) {
        if (!Surroundings.isContainer(step.getDescriptor())) {
            return;
        }
        try {
            FlowNode node = context.get(FlowNode.class);
            if (node == null) {
                return;
            }
            for (FlowNode around : node.iterateEnclosingBlocks()) {
                if (Surroundings.FUNCTION.equals(Surroundings.function(around))) {
                    context.onFailure(new AbortException(
                            Surroundings.containerInside(step.getDescriptor().getFunctionName())));
                    return;
                }
            }
        } catch (IOException | InterruptedException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot tell where " + step + " stands");
        }
    }
}
