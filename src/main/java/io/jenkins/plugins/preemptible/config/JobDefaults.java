package io.jenkins.plugins.preemptible.config;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.Util;
import hudson.model.Item;
import hudson.model.Job;
import hudson.model.JobProperty;
import hudson.util.FormValidation;
import jenkins.model.OptionalJobProperty;
import net.sf.json.JSONObject;
import org.jenkinsci.Symbol;
import org.jenkinsci.plugins.workflow.flow.BlockableResume;
import org.kohsuke.stapler.AncestorInPath;
import org.kohsuke.stapler.DataBoundConstructor;
import org.kohsuke.stapler.DataBoundSetter;
import org.kohsuke.stapler.QueryParameter;
import org.kohsuke.stapler.StaplerRequest2;
import org.kohsuke.stapler.verb.POST;

/**
 * The defaults for the preemptible stages of one job: {@code properties([preemptibleDefaults(priority: 4)])}.
 *
 * <p>They need no permission of their own: users who configure a Pipeline could write the same to each of its steps.
 */
public final class JobDefaults extends OptionalJobProperty<Job<?, ?>> {

    private StageDefaults defaults = new StageDefaults();

    @CheckForNull
    private String name;

    @DataBoundConstructor
    public JobDefaults() {}

    StageDefaults defaults() {
        return defaults;
    }

    /** What all stages are called whose step gives no name; null = each as the {@code stage} around it. */
    @CheckForNull
    public String getName() {
        return name;
    }

    @DataBoundSetter
    public void setName(@CheckForNull String name) {
        this.name = Util.fixEmptyAndTrim(name);
    }

    @CheckForNull
    public Integer getPriority() {
        return defaults.getPriority();
    }

    /** @throws IllegalArgumentException when it is not in 1..1000 */
    @DataBoundSetter
    public void setPriority(@CheckForNull Integer priority) {
        defaults.setPriority(priority);
    }

    @CheckForNull
    public Integer getTimeSliceMinutes() {
        return defaults.getTimeSliceMinutes();
    }

    /** @throws IllegalArgumentException when it is not in 1..10080 */
    @DataBoundSetter
    public void setTimeSliceMinutes(@CheckForNull Integer timeSliceMinutes) {
        defaults.setTimeSliceMinutes(timeSliceMinutes);
    }

    @CheckForNull
    public String getTcp() {
        return defaults.getTcp();
    }

    /** @throws IllegalArgumentException when it is neither {@code refuse} nor {@code close} */
    @DataBoundSetter
    public void setTcp(@CheckForNull String tcp) {
        defaults.setTcp(tcp);
    }

    @CheckForNull
    public Boolean getRerun() {
        return defaults.getRerun();
    }

    @DataBoundSetter
    public void setRerun(@CheckForNull Boolean rerun) {
        defaults.setRerun(rerun);
    }

    /** XML that a user has sent may lack them. */
    private Object readResolve() {
        if (defaults == null) {
            defaults = new StageDefaults();
        }
        return this;
    }

    /** What the job's page and the properties step need to know of it. */
    @Extension
    @Symbol("preemptibleDefaults")
    public static final class DescriptorImpl extends OptionalJobPropertyDescriptor {

        @NonNull
        @Override
        public String getDisplayName() {
            return Messages.StageDefaults_DisplayName();
        }

        /** For Pipelines, which this plugin knows by nothing else without the plugin that they are in. */
        @Override
        @SuppressWarnings("rawtypes")
        public boolean isApplicable(Class<? extends Job> jobType) {
            return BlockableResume.class.isAssignableFrom(jobType);
        }

        @POST
        public FormValidation doCheckName(@AncestorInPath Item item, @QueryParameter String value) {
            return StepFields.checkName(item, value);
        }

        @Override
        public JobProperty<?> newInstance(StaplerRequest2 req, JSONObject form) throws FormException {
            try {
                return super.newInstance(req, StageDefaults.filledIn(form));
            } catch (LinkageError refused) {
                throw new FormException(PreemptibleConfiguration.sentenceOf(refused), refused, "preemptibleDefaults");
            }
        }
    }
}
