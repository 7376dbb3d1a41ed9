package io.jenkins.plugins.preemptible.queue;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Queue;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.step.StageTask;
import java.io.IOException;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jenkinsci.plugins.workflow.flow.FlowExecutionOwner;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.support.steps.ExecutorStepExecution.PlaceholderTask;

/**
 * The build of a Pipeline that waits for an executor.
 *
 * <ol>
 *   <li>It waits with an item of the queue: that of a {@code node} block, or of a stage with an executor of its own.
 *   <li>Either knows the step, and the step knows its build.
 *   <li>Of a build that has just ended nothing is known, and nothing fails.
 * </ol>
 *
 * Off the queue's lock: the build may have to be loaded.
 */
final class WaitingPipeline {

    private static final Logger LOGGER = Logger.getLogger(WaitingPipeline.class.getName());

    private final FlowExecutionOwner owner;

    private WaitingPipeline(FlowExecutionOwner owner) {
        this.owner = owner;
    }

    /** Null when the task is not such an item, or its build is gone. */
    @CheckForNull
    static WaitingPipeline of(Queue.Task task) {
        try {
            FlowNode step = task instanceof PlaceholderTask placeholder
                    ? placeholder.getNode()
                    : task instanceof StageTask stage ? stage.step() : null;
            return step == null ? null : new WaitingPipeline(step.getExecution().getOwner());
        } catch (IOException | InterruptedException x) {
            LOGGER.log(Level.FINE, x, () -> "no build is known of " + task);
            return null;
        }
    }

    /** A line in the build's log. */
    void line(String text) {
        try {
            owner.getListener().getLogger().println(StageLog.marked(text));
        } catch (IOException x) {
            LOGGER.log(Level.FINE, x, () -> "could not say in the log of " + owner + ": " + text);
        }
    }

    @CheckForNull
    Run<?, ?> build() {
        try {
            return owner.getExecutable() instanceof Run<?, ?> run ? run : null;
        } catch (IOException x) {
            LOGGER.log(Level.FINE, x, () -> "no build is known of " + owner);
            return null;
        }
    }
}
