package io.jenkins.plugins.preemptible.step;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.AbortException;
import hudson.FilePath;
import hudson.model.Node;
import hudson.model.Run;
import hudson.security.ACL;
import io.jenkins.plugins.preemptible.config.BestPriority;
import io.jenkins.plugins.preemptible.config.Owners;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import io.jenkins.plugins.preemptible.lifecycle.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.StageRecord;
import io.jenkins.plugins.preemptible.queue.Priorities;
import java.io.IOException;
import java.io.Serializable;
import java.util.concurrent.TimeUnit;
import jenkins.model.Jenkins;
import org.jenkinsci.plugins.workflow.actions.LabelAction;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.StepContext;
import org.springframework.security.core.Authentication;

/**
 * A stage's settings, checked once when its step starts.
 *
 * <ol>
 *   <li>What the Jenkinsfile gave is checked against what Jenkins allows; the first wrong value fails the step.
 *   <li>The priority is settled here: what the step asks for, as far as it is allowed to; the build log says when it gets
 *       less.
 *   <li>The login of the build's user is kept for the queue. The build's name and its owner are not: its job may be
 *       moved before the stage begins.
 * </ol>
 */
record StageSettings(
        @CheckForNull String label,
        String name,
        int priority,
        long timeSliceMillis,
        boolean closeConnections,
        boolean rerun,
        long activeTimeoutMillis,
        @CheckForNull String auth)
        implements Serializable {

    static final String REFUSE = "refuse";
    static final String CLOSE = "close";

    private static final int LONGEST_SLICE_MINUTES = 7 * 24 * 60;

    static StageSettings of(PreemptibleStep step, StepContext context) throws IOException, InterruptedException {
        Run<?, ?> run = context.get(Run.class);
        FlowNode block = context.get(FlowNode.class);
        if (run == null || block == null) {
            throw new AbortException("preemptible { } works inside a Pipeline build only");
        }
        Integer slice = step.getTimeSliceMinutes();
        if (slice != null && (slice < 1 || slice > LONGEST_SLICE_MINUTES)) {
            throw new AbortException("preemptible: timeSliceMinutes is " + slice + ", expected is 1 to "
                    + LONGEST_SLICE_MINUTES + ". Leave it out for the global time slice.");
        }
        Priorities priorities = Priorities.get();
        Integer own = step.getPriority();
        if (own != null && (own < 1 || own > priorities.lowest())) {
            throw new AbortException("preemptible: priority is " + own + ", expected is 1 (highest) to "
                    + priorities.lowest() + " (lowest). Correct it in the Jenkinsfile.");
        }
        ActiveTimeout timeout = step.getActiveTimeout();
        if (timeout != null && timeout.millis() < 1) {
            throw new AbortException("preemptible: activeTimeout is " + timeout + ", expected is a time of 1 or more."
                    + " Correct it in the Jenkinsfile, or leave it out for no limit.");
        }
        String tcp = step.getTcp();
        if (tcp != null && !tcp.equals(REFUSE) && !tcp.equals(CLOSE)) {
            throw new AbortException("preemptible: tcp is '" + PlainText.of(tcp) + "', expected is '" + REFUSE + "' or '" + CLOSE
                    + "'. Correct it in the Jenkinsfile, or leave it out for '" + REFUSE + "'.");
        }
        if (step.getLabel() != null && !PlainText.is(step.getLabel())) {
            // It would be saved with the queue, which could not be read again.
            throw new AbortException("preemptible: the label '" + PlainText.of(step.getLabel())
                    + "' has a control character, or one that is none. Correct it in the Jenkinsfile.");
        }
        int priority = priorities.ofStage(run, own);
        if (own != null && own != priority) {
            StageLog.line(context, BestPriority.in(run.getParent().getParent()).sentence(own, priority));
        }
        Authentication user = Jenkins.getAuthentication2();
        return new StageSettings(
                step.getLabel(),
                PlainText.of(step.getName() != null ? step.getName() : stageName(block)),
                priority,
                slice == null ? 0 : TimeUnit.MINUTES.toMillis(slice),
                CLOSE.equals(tcp),
                step.isRerun(),
                timeout == null ? 0 : timeout.millis(),
                user.equals(ACL.SYSTEM2) ? null : user.getName());
    }

    private static String stageName(FlowNode block) {
        for (FlowNode around : block.iterateEnclosingBlocks()) {
            LabelAction label = around.getPersistentAction(LabelAction.class);
            if (label != null) {
                return label.getDisplayName();
            }
        }
        return Surroundings.FUNCTION;
    }

    /** The record of a stage that is about to begin. */
    StageRecord record(
            Run<?, ?> run,
            String stageId,
            StageRecord.Form form,
            Node node,
            FilePath workspace,
            @CheckForNull StepContext placeholder) {
        return StageRecord.running(
                        stageId, form, run.getExternalizableId(), name, node.getNodeName(), workspace.getRemote(),
                        placeholder, priority, timeSliceMillis)
                .withNode(node)
                .withRerun(rerun)
                .withActiveTimeout(activeTimeoutMillis)
                .withOwner(Owners.get().ofRun(run));
    }
}
