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
 * Refuses blocks that must not stand inside of a preemptible block.
 *
 * <ol>
 *   <li>Hears of every step before it starts.
 *   <li>One that must not stand there, by {@link Surroundings}, fails at once, with the reason.
 *   <li>Needed for a {@code node} block that has all of the work, with an executor that a suspension would not free.
 * </ol>
 */
@Extension
public final class RefusedInside implements StepListener {

    private static final Logger LOGGER = Logger.getLogger(RefusedInside.class.getName());

    @Override
    public void notifyOfNewStep(@NonNull Step step, @NonNull StepContext context) {
        if (!Surroundings.mayBeRefused(step.getDescriptor())) {
            return;
        }
        try {
            FlowNode node = context.get(FlowNode.class);
            String refusal = node == null ? null : Surroundings.refusalInside(node);
            if (refusal != null) {
                context.onFailure(new AbortException(refusal));
            }
        } catch (IOException | InterruptedException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot tell where " + step + " stands");
        }
    }
}
