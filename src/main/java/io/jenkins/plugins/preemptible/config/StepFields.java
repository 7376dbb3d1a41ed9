package io.jenkins.plugins.preemptible.config;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.AutoCompletionCandidates;
import hudson.model.Item;
import hudson.model.labels.LabelExpression;
import hudson.util.FormValidation;
import io.jenkins.plugins.preemptible.engine.text.PlainText;

/**
 * What the pages with the fields of a {@code preemptible} step say to a value while it is typed: what a build would say to
 * it later. For those who may see the item whose page it is; null stands for Jenkins itself.
 *
 * <p>{@link BestPriority#check} does the same for its priority.
 */
public final class StepFields {

    private StepFields() {}

    /** Minutes of a time slice; empty = the default. */
    public static FormValidation checkTimeSlice(@CheckForNull Item item, String typed) {
        return check(item, Range.STEP_TIME_SLICE, typed);
    }

    /** How often a checkpoint is made; empty for never. A warning where none would be. */
    public static FormValidation checkCheckpoint(@CheckForNull Item item, String typed) {
        BestPriority.checkRead(item);
        if (typed.isBlank()) {
            return FormValidation.ok();
        }
        FormValidation said = Range.CHECKPOINT.said(typed);
        return said.kind == FormValidation.Kind.OK
                        && !PreemptibleConfiguration.get().isMoveStages()
                ? FormValidation.warning(Messages.StepFields_NoCheckpoint())
                : said;
    }

    /** The number of units for which a stage may have executors. Without one the whole limit is left out. */
    public static FormValidation checkActiveTime(@CheckForNull Item item, String typed) {
        BestPriority.checkRead(item);
        return Range.ACTIVE_TIME.said(typed);
    }

    /** A label expression; a warning when no agent and no cloud has it now. */
    public static FormValidation checkLabel(@CheckForNull Item item, String typed) {
        BestPriority.checkRead(item);
        return typed.isBlank() ? FormValidation.ok() : LabelExpression.validate(typed.trim(), item);
    }

    /** The labels that begin like that. */
    public static AutoCompletionCandidates labels(@CheckForNull Item item, String typed) {
        BestPriority.checkRead(item);
        return LabelExpression.autoComplete(typed);
    }

    /** A stage's name for people. */
    public static FormValidation checkName(@CheckForNull Item item, String typed) {
        BestPriority.checkRead(item);
        return PlainText.is(typed)
                ? FormValidation.ok()
                : FormValidation.warning(Messages.StepFields_NotPlain(PlainText.of(typed)));
    }

    static FormValidation check(@CheckForNull Item item, Range range, String typed) {
        BestPriority.checkRead(item);
        return typed.isBlank() ? FormValidation.ok() : range.said(typed);
    }
}
