package io.jenkins.plugins.preemptible.step;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.Util;
import hudson.model.AutoCompletionCandidates;
import hudson.model.Computer;
import hudson.model.Executor;
import hudson.model.Item;
import hudson.model.Run;
import hudson.model.TaskListener;
import hudson.util.FormValidation;
import hudson.util.ListBoxModel;
import io.jenkins.plugins.preemptible.config.BestPriority;
import io.jenkins.plugins.preemptible.config.StageDefaults;
import io.jenkins.plugins.preemptible.config.StepFields;
import java.io.Serializable;
import java.util.Set;
import net.sf.json.JSONObject;
import org.jenkinsci.plugins.workflow.flow.FlowExecution;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.Step;
import org.jenkinsci.plugins.workflow.steps.StepContext;
import org.jenkinsci.plugins.workflow.steps.StepDescriptor;
import org.jenkinsci.plugins.workflow.steps.StepExecution;
import org.kohsuke.stapler.AncestorInPath;
import org.kohsuke.stapler.DataBoundConstructor;
import org.kohsuke.stapler.DataBoundSetter;
import org.kohsuke.stapler.QueryParameter;
import org.kohsuke.stapler.StaplerRequest2;
import org.kohsuke.stapler.verb.POST;

/**
 * The {@code preemptible} step: a block whose processes may be suspended and resumed later.
 *
 * <ol>
 *   <li>With a label, or outside of any {@code node}, it acquires an executor itself, in place of {@code node}.
 *   <li>Without a label inside a {@code node}, it gives that block's executor away and takes it again.
 *   <li>What it does not say is taken from the defaults of its job, its folders and the system configuration.
 *   <li>In both forms the steps inside see what they would see under {@code node}.
 * </ol>
 */
public final class PreemptibleStep extends Step implements Serializable {

    private static final long serialVersionUID = 1L;

    @CheckForNull
    private String label;

    @CheckForNull
    private String name;

    @CheckForNull
    private Integer priority;

    @CheckForNull
    private Integer timeSliceMinutes;

    @CheckForNull
    private String tcp;

    @CheckForNull
    private ActiveTimeout activeTimeout;

    private Boolean rerun;

    @CheckForNull
    private Integer checkpointEvery;

    @DataBoundConstructor
    public PreemptibleStep() {}

    /** A label expression as of {@code node}; null = the enclosing node, or any agent where there is none. */
    @CheckForNull
    public String getLabel() {
        return label;
    }

    @DataBoundSetter
    public void setLabel(@CheckForNull String label) {
        this.label = Util.fixEmptyAndTrim(label);
    }

    /** The stage's name for people; null = the job's default, or that of the enclosing {@code stage}. */
    @CheckForNull
    public String getName() {
        return name;
    }

    @DataBoundSetter
    public void setName(@CheckForNull String name) {
        this.name = Util.fixEmptyAndTrim(name);
    }

    /** 1 is the highest; null = the default. */
    @CheckForNull
    public Integer getPriority() {
        return priority;
    }

    @DataBoundSetter
    public void setPriority(@CheckForNull Integer priority) {
        this.priority = priority;
    }

    /** A time slice shorter than the one that the page allows, in minutes; null = the default. */
    @CheckForNull
    public Integer getTimeSliceMinutes() {
        return timeSliceMinutes;
    }

    @DataBoundSetter
    public void setTimeSliceMinutes(@CheckForNull Integer timeSliceMinutes) {
        this.timeSliceMinutes = timeSliceMinutes;
    }

    /** What a suspension does about TCP connections to the outside: {@code refuse} or {@code close}; null = the default. */
    @CheckForNull
    public String getTcp() {
        return tcp;
    }

    @DataBoundSetter
    public void setTcp(@CheckForNull String tcp) {
        this.tcp = Util.fixEmptyAndTrim(tcp);
    }

    /** For how long the stage may have an executor; null = no limit. */
    @CheckForNull
    public ActiveTimeout getActiveTimeout() {
        return activeTimeout;
    }

    @DataBoundSetter
    public void setActiveTimeout(@CheckForNull ActiveTimeout activeTimeout) {
        this.activeTimeout = activeTimeout;
    }

    /** Whether it may be ended and run again from its beginning; null = the default. */
    @CheckForNull
    public Boolean getRerun() {
        return rerun;
    }

    @DataBoundSetter
    public void setRerun(@CheckForNull Boolean rerun) {
        this.rerun = rerun;
    }

    /** How often a checkpoint is made of the running stage, in minutes; null = never. */
    @CheckForNull
    public Integer getCheckpointEvery() {
        return checkpointEvery;
    }

    @DataBoundSetter
    public void setCheckpointEvery(@CheckForNull Integer checkpointEvery) {
        this.checkpointEvery = checkpointEvery;
    }

    @Override
    public StepExecution start(StepContext context) throws Exception {
        boolean nested = label == null && context.get(Executor.class) != null && context.get(Computer.class) != null;
        return nested ? new NestedExecution(context, this) : new OwnExecutorExecution(context, this);
    }

    @Extension
    public static final class DescriptorImpl extends StepDescriptor {

        @Override
        public String getFunctionName() {
            return Surroundings.FUNCTION;
        }

        @NonNull
        @Override
        public String getDisplayName() {
            return Messages.PreemptibleStep_displayName();
        }

        /** What the snippet's page says to a priority while it is typed. */
        @POST
        public FormValidation doCheckPriority(@AncestorInPath Item item, @QueryParameter String value) {
            return BestPriority.check(item, value);
        }

        @POST
        public FormValidation doCheckTimeSliceMinutes(@AncestorInPath Item item, @QueryParameter String value) {
            return StepFields.checkTimeSlice(item, value);
        }

        @POST
        public FormValidation doCheckCheckpointEvery(@AncestorInPath Item item, @QueryParameter String value) {
            return StepFields.checkCheckpoint(item, value);
        }

        @POST
        public FormValidation doCheckLabel(@AncestorInPath Item item, @QueryParameter String value) {
            return StepFields.checkLabel(item, value);
        }

        @POST
        public AutoCompletionCandidates doAutoCompleteLabel(@AncestorInPath Item item, @QueryParameter String value) {
            return StepFields.labels(item, value);
        }

        @POST
        public FormValidation doCheckName(@AncestorInPath Item item, @QueryParameter String value) {
            return StepFields.checkName(item, value);
        }

        @Override
        public Step newInstance(@CheckForNull StaplerRequest2 req, @NonNull JSONObject form) throws FormException {
            return super.newInstance(req, StageDefaults.filledIn(form));
        }

        @POST
        public ListBoxModel doFillTcpItems() {
            return StageDefaults.connections();
        }

        @Override
        public boolean takesImplicitBlockArgument() {
            return true;
        }

        @Override
        public Set<? extends Class<?>> getRequiredContext() {
            return Set.of(TaskListener.class, Run.class, FlowExecution.class, FlowNode.class);
        }

        @Override
        public Set<? extends Class<?>> getProvidedContext() {
            return StageContext.PROVIDED;
        }
    }
}
