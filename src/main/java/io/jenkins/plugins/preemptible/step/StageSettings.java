package io.jenkins.plugins.preemptible.step;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.AbortException;
import hudson.FilePath;
import hudson.model.Node;
import hudson.model.Run;
import hudson.security.ACL;
import io.jenkins.plugins.preemptible.config.BestPriority;
import io.jenkins.plugins.preemptible.config.DefaultsInOrder;
import io.jenkins.plugins.preemptible.config.DefaultsInOrder.Asked;
import io.jenkins.plugins.preemptible.config.Owners;
import io.jenkins.plugins.preemptible.config.StageDefaults;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import io.jenkins.plugins.preemptible.lifecycle.stage.Checkpoints;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.priority.Priorities;
import java.io.IOException;
import java.io.Serializable;
import java.util.List;
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
 *   <li>What the Jenkinsfile leaves out is taken from the {@linkplain DefaultsInOrder defaults}.
 *   <li>What the Jenkinsfile or they gave is checked against what Jenkins allows; the first wrong value fails the step.
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
        int checkpointMinutes,
        @CheckForNull String auth)
        implements Serializable {

    private static final int LONGEST_SLICE_MINUTES = 7 * 24 * 60;
    private static final int LEAST_CHECKPOINT_MINUTES = 5;
    private static final int MOST_CHECKPOINT_MINUTES = 24 * 60;

    static StageSettings of(PreemptibleStep step, StepContext context) throws IOException, InterruptedException {
        Run<?, ?> run = context.get(Run.class);
        FlowNode block = context.get(FlowNode.class);
        if (run == null || block == null) {
            throw new AbortException("preemptible { } works inside a Pipeline build only");
        }
        DefaultsInOrder defaults = DefaultsInOrder.of(run.getParent());
        Asked<Integer> slice = defaults.asked(step.getTimeSliceMinutes(), StageDefaults::getTimeSliceMinutes);
        Integer sliceMinutes = slice.value();
        if (sliceMinutes != null && (sliceMinutes < 1 || sliceMinutes > LONGEST_SLICE_MINUTES)) {
            throw refused(
                    "timeSliceMinutes is " + sliceMinutes + ", expected is 1 to " + LONGEST_SLICE_MINUTES,
                    slice,
                    "the global time slice");
        }
        Priorities priorities = Priorities.get();
        Asked<Integer> own = defaults.asked(step.getPriority(), StageDefaults::getPriority);
        Integer asked = own.value();
        if (asked != null && (asked < 1 || asked > priorities.lowest())) {
            throw refused(
                    "priority is " + asked + ", expected is 1 (highest) to " + priorities.lowest() + " (lowest)",
                    own,
                    null);
        }
        ActiveTimeout timeout = step.getActiveTimeout();
        if (timeout != null && timeout.millis() < 1) {
            throw new AbortException("preemptible: activeTimeout is " + timeout + ", expected is a time of 1 or more."
                    + " Correct it in the Jenkinsfile, or leave it out for no limit.");
        }
        Integer checkpoint = step.getCheckpointEvery();
        if (checkpoint != null && (checkpoint < LEAST_CHECKPOINT_MINUTES || checkpoint > MOST_CHECKPOINT_MINUTES)) {
            throw new AbortException("preemptible: checkpointEvery is " + checkpoint + ", expected are "
                    + LEAST_CHECKPOINT_MINUTES + " to " + MOST_CHECKPOINT_MINUTES
                    + " minutes. Correct it in the Jenkinsfile, or leave it out for no checkpoints.");
        }
        Asked<String> tcp = defaults.asked(step.getTcp(), StageDefaults::getTcp);
        String treatment = tcp.value();
        if (treatment != null
                && !List.of(StageDefaults.REFUSE, StageDefaults.CLOSE).contains(treatment)) {
            throw refused(
                    "tcp is '" + PlainText.of(treatment) + "', expected is '" + StageDefaults.REFUSE + "' or '"
                            + StageDefaults.CLOSE + "'",
                    tcp,
                    "'" + StageDefaults.REFUSE + "'");
        }
        String label = step.getLabel();
        if (label != null && !PlainText.is(label)) {
            // It would be saved with the queue, which could not be read again.
            throw new AbortException("preemptible: the label '" + PlainText.of(label)
                    + "' has a control character, or one that is none. Correct it in the Jenkinsfile.");
        }
        int priority = BestPriority.ofStage(priorities, run, asked);
        if (asked != null && asked != priority) {
            StageLog.line(
                    context,
                    BestPriority.in(run.getParent().getParent()).sentence(asked, priority)
                            + (own.byDefault() ? " It asks by " + own.where() + "." : ""));
        }
        String name = step.getName() != null ? step.getName() : defaults.name();
        Authentication user = Jenkins.getAuthentication2();
        return new StageSettings(
                step.getLabel(),
                PlainText.of(name != null ? name : stageName(block)),
                priority,
                sliceMinutes == null ? 0 : TimeUnit.MINUTES.toMillis(sliceMinutes),
                StageDefaults.CLOSE.equals(treatment),
                Boolean.TRUE.equals(
                        defaults.asked(step.getRerun(), StageDefaults::getRerun).value()),
                timeout == null ? 0 : timeout.millis(),
                checkpoint == null ? 0 : checkpoint,
                user.equals(ACL.SYSTEM2) ? null : user.getName());
    }

    /** @param leftOut what counts when nobody says it; null = nothing is said of that */
    private static AbortException refused(String wrong, Asked<?> asked, @CheckForNull String leftOut) {
        return new AbortException("preemptible: " + wrong + ". Correct it in " + asked.where()
                + (leftOut == null ? "." : ", or leave it out for " + leftOut + "."));
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
                        stageId,
                        form,
                        run.getExternalizableId(),
                        name,
                        node.getNodeName(),
                        workspace.getRemote(),
                        placeholder,
                        priority,
                        timeSliceMillis)
                .withNode(node)
                .withRerun(rerun)
                .withActiveTimeout(activeTimeoutMillis)
                .withCheckpoints(form == StageRecord.Form.OWN ? Checkpoints.every(checkpointMinutes) : null)
                .withOwner(Owners.get().ofRun(run));
    }
}
