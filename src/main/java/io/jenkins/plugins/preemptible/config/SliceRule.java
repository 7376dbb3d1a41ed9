package io.jenkins.plugins.preemptible.config;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.Util;
import hudson.model.AutoCompletionCandidates;
import hudson.model.Describable;
import hudson.model.Descriptor;
import hudson.model.Label;
import hudson.model.labels.LabelAtom;
import hudson.util.FormValidation;
import hudson.util.QuotedStringTokenizer;
import io.jenkins.plugins.preemptible.engine.policy.Slices;
import java.util.concurrent.TimeUnit;
import jenkins.model.Jenkins;
import org.kohsuke.stapler.DataBoundConstructor;
import org.kohsuke.stapler.DataBoundSetter;
import org.kohsuke.stapler.QueryParameter;
import org.kohsuke.stapler.verb.POST;

/**
 * A time slice for some agents and some priorities.
 *
 * <ol>
 *   <li>One row of the system configuration; the first row that fits a stage counts.
 *   <li>Without a label it is for any agent; without priorities for all of them.
 *   <li>A label that no agent has is no error: an agent of a cloud may bring it.
 * </ol>
 */
public final class SliceRule implements Describable<SliceRule> {

    private final int minutes;

    @CheckForNull
    private String label;

    private int highestPriority = 1;
    private int lowestPriority = Range.LOWEST_PRIORITY_OF_ALL;

    /** @throws IllegalArgumentException when it is not in 0..10080 */
    @DataBoundConstructor
    public SliceRule(int minutes) {
        this.minutes = Range.RULE_SLICE.checked(minutes);
    }

    /** 0 = such stages never give way to their equals. */
    public int getMinutes() {
        return minutes;
    }

    /** One label, not an expression, in quotation marks where that needs some; null = any agent. */
    @CheckForNull
    public String getLabel() {
        return label;
    }

    /** @throws IllegalArgumentException when it is an expression */
    @DataBoundSetter
    public void setLabel(@CheckForNull String label) {
        String given = Util.fixEmptyAndTrim(label);
        if (given != null && !isAtom(given)) {
            throw new IllegalArgumentException(Messages.SliceRule_NotALabel(given));
        }
        this.label = given;
    }

    /** The lowest number that it is for. */
    public int getHighestPriority() {
        return highestPriority;
    }

    /** @throws IllegalArgumentException when it is not in 1..1000 */
    @DataBoundSetter
    public void setHighestPriority(int highestPriority) {
        this.highestPriority = Range.HIGHEST_PRIORITY.checked(highestPriority);
    }

    /** The highest number that it is for. */
    public int getLowestPriority() {
        return lowestPriority;
    }

    /** @throws IllegalArgumentException when it is not in 1..1000 */
    @DataBoundSetter
    public void setLowestPriority(int lowestPriority) {
        this.lowestPriority = Range.LOWEST_PRIORITY.checked(lowestPriority);
    }

    /**
     * Gives the rule back. The setters cannot check this, since they are called in any order.
     *
     * @throws IllegalArgumentException when its priorities are the wrong way round
     */
    SliceRule checked() {
        if (highestPriority > lowestPriority) {
            throw new IllegalArgumentException(
                    Messages.SliceRule_WrongWayRound(String.valueOf(highestPriority), String.valueOf(lowestPriority)));
        }
        return this;
    }

    /** As the policy takes it. */
    Slices.Rule rule() {
        String name = label == null ? null : QuotedStringTokenizer.unquote(label);
        return new Slices.Rule(name, highestPriority, lowestPriority, TimeUnit.MINUTES.toMillis(minutes));
    }

    /** A rule in the file that the page would refuse is dropped, and Jenkins says so. */
    private Object readResolve() {
        Range.RULE_SLICE.checked(minutes);
        setLabel(label);
        setHighestPriority(highestPriority);
        setLowestPriority(lowestPriority);
        return checked();
    }

    private static boolean isAtom(String text) {
        try {
            return Label.parseExpression(text) instanceof LabelAtom;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    /** What the page needs to know of it. */
    @Extension
    public static final class DescriptorImpl extends Descriptor<SliceRule> {

        @NonNull
        @Override
        public String getDisplayName() {
            return Messages.SliceRule_DisplayName();
        }

        @POST
        public AutoCompletionCandidates doAutoCompleteLabel(@QueryParameter String value) {
            Jenkins.get().checkPermission(Jenkins.ADMINISTER);
            AutoCompletionCandidates candidates = new AutoCompletionCandidates();
            Jenkins.get().getLabelAtoms().stream()
                    .map(LabelAtom::getName)
                    .filter(name -> name.startsWith(value.trim()))
                    .sorted()
                    .forEach(candidates::add);
            return candidates;
        }

        @POST
        public FormValidation doCheckLabel(@QueryParameter String value) {
            Jenkins.get().checkPermission(Jenkins.ADMINISTER);
            String given = Util.fixEmptyAndTrim(value);
            if (given == null) {
                return FormValidation.ok();
            }
            if (!isAtom(given)) {
                return FormValidation.error(Messages.SliceRule_NotALabel(given));
            }
            String name = QuotedStringTokenizer.unquote(given);
            return Jenkins.get().getLabelAtoms().stream()
                            .anyMatch(label -> label.getName().equals(name) && !label.isEmpty())
                    ? FormValidation.ok()
                    : FormValidation.warning(Messages.SliceRule_UnknownLabel(given));
        }

        @POST
        public FormValidation doCheckMinutes(@QueryParameter String value) {
            return Range.RULE_SLICE.check(value);
        }

        @POST
        public FormValidation doCheckHighestPriority(@QueryParameter String value) {
            return Range.HIGHEST_PRIORITY.check(value);
        }

        @POST
        public FormValidation doCheckLowestPriority(
                @QueryParameter String value, @QueryParameter String highestPriority) {
            return Range.LOWEST_PRIORITY.check(
                    value,
                    Range.HIGHEST_PRIORITY,
                    highestPriority,
                    (lowest, highest) -> highest > lowest
                            ? FormValidation.error(
                                    Messages.SliceRule_WrongWayRound(String.valueOf(highest), String.valueOf(lowest)))
                            : FormValidation.ok());
        }
    }
}
