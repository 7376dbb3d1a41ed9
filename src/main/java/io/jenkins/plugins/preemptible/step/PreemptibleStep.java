package io.jenkins.plugins.preemptible.step;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.Util;
import hudson.model.Computer;
import hudson.model.Executor;
import hudson.model.Item;
import hudson.model.ItemGroup;
import hudson.model.Run;
import hudson.model.TaskListener;
import hudson.security.AccessControlled;
import hudson.util.FormValidation;
import hudson.util.ListBoxModel;
import io.jenkins.plugins.preemptible.config.BestPriority;
import io.jenkins.plugins.preemptible.queue.Priorities;
import java.io.Serializable;
import java.util.Set;
import jenkins.model.Jenkins;
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
import org.kohsuke.stapler.verb.POST;

/**
 * The {@code preemptible} step: a block whose processes may be suspended and go on later.
 *
 * <ol>
 *   <li>With a label, or outside of any {@code node}, it acquires an executor itself, in place of {@code node}.
 *   <li>Without a label inside a {@code node}, it gives that block's executor away and takes it again.
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

    private boolean rerun;

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

    /** The stage's name for people; null = that of the enclosing {@code stage}. */
    @CheckForNull
    public String getName() {
        return name;
    }

    @DataBoundSetter
    public void setName(@CheckForNull String name) {
        this.name = Util.fixEmptyAndTrim(name);
    }

    /** 1 is the highest; null = that of the build where Priority Sorter is installed, else the lowest. */
    @CheckForNull
    public Integer getPriority() {
        return priority;
    }

    @DataBoundSetter
    public void setPriority(@CheckForNull Integer priority) {
        this.priority = priority;
    }

    /** A time slice shorter than the one that the page allows, in minutes; null = that one. */
    @CheckForNull
    public Integer getTimeSliceMinutes() {
        return timeSliceMinutes;
    }

    @DataBoundSetter
    public void setTimeSliceMinutes(@CheckForNull Integer timeSliceMinutes) {
        this.timeSliceMinutes = timeSliceMinutes;
    }

    /** What a suspension does about TCP connections to the outside: {@code refuse} or {@code close}; null = refuse. */
    @CheckForNull
    public String getTcp() {
        return tcp;
    }

    @DataBoundSetter
    public void setTcp(@CheckForNull String tcp) {
        String given = Util.fixEmptyAndTrim(tcp);
        // The default is left out of generated snippets.
        this.tcp = StageSettings.REFUSE.equals(given) ? null : given;
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

    /** Whether it may be ended and run again from its beginning, where that costs less or it cannot be dumped. */
    public boolean isRerun() {
        return rerun;
    }

    @DataBoundSetter
    public void setRerun(boolean rerun) {
        this.rerun = rerun;
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
            AccessControlled seen = item == null ? Jenkins.get() : item;
            seen.checkPermission(item == null ? Jenkins.READ : Item.READ);
            if (value.isBlank()) {
                return FormValidation.ok();
            }
            int lowest = Priorities.get().lowest();
            int asked;
            try {
                asked = Integer.parseInt(value.trim());
            } catch (NumberFormatException e) {
                asked = 0;
            }
            if (asked < 1 || asked > lowest) {
                return FormValidation.error(Messages.PreemptibleStep_priorityOutside(value.trim(), lowest));
            }
            ItemGroup<?> jobs = item instanceof ItemGroup<?> folder
                    ? folder
                    : item == null ? Jenkins.get() : item.getParent();
            String warning = BestPriority.in(jobs).warning(asked);
            return warning == null ? FormValidation.ok() : FormValidation.warning(warning);
        }

        public ListBoxModel doFillTcpItems() {
            return new ListBoxModel(
                    new ListBoxModel.Option(Messages.PreemptibleStep_refuse(), StageSettings.REFUSE),
                    new ListBoxModel.Option(Messages.PreemptibleStep_close(), StageSettings.CLOSE));
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
