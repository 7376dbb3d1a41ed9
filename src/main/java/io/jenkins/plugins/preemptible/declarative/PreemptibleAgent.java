package io.jenkins.plugins.preemptible.declarative;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import io.jenkins.plugins.preemptible.config.StageDefaults;
import io.jenkins.plugins.preemptible.step.ActiveTimeout;
import io.jenkins.plugins.preemptible.step.PreemptibleStep;
import java.util.HashMap;
import java.util.Map;
import net.sf.json.JSONObject;
import org.jenkinsci.Symbol;
import org.jenkinsci.plugins.pipeline.modeldefinition.agent.DeclarativeAgent;
import org.jenkinsci.plugins.pipeline.modeldefinition.agent.DeclarativeAgentDescriptor;
import org.kohsuke.stapler.DataBoundConstructor;
import org.kohsuke.stapler.DataBoundSetter;
import org.kohsuke.stapler.StaplerRequest2;

/**
 * {@code agent { preemptible { label 'linux' } }} of a Declarative Pipeline: the {@code preemptible} step around the
 * pipeline or the stage, in place of {@code node}.
 *
 * <p>Has the step's parameters and no others, so no {@code customWorkspace}. Present only where the Declarative plugin is.
 */
public final class PreemptibleAgent extends DeclarativeAgent<PreemptibleAgent> {

    private static final long serialVersionUID = 1L;

    static final String NAME = "preemptible";

    private final PreemptibleStep step = new PreemptibleStep();

    @DataBoundConstructor
    public PreemptibleAgent() {}

    @CheckForNull
    public String getLabel() {
        return step.getLabel();
    }

    @DataBoundSetter
    public void setLabel(@CheckForNull String label) {
        step.setLabel(label);
    }

    @CheckForNull
    public String getName() {
        return step.getName();
    }

    @DataBoundSetter
    public void setName(@CheckForNull String name) {
        step.setName(name);
    }

    @CheckForNull
    public Integer getPriority() {
        return step.getPriority();
    }

    @DataBoundSetter
    public void setPriority(@CheckForNull Integer priority) {
        step.setPriority(priority);
    }

    @CheckForNull
    public Integer getTimeSliceMinutes() {
        return step.getTimeSliceMinutes();
    }

    @DataBoundSetter
    public void setTimeSliceMinutes(@CheckForNull Integer timeSliceMinutes) {
        step.setTimeSliceMinutes(timeSliceMinutes);
    }

    @CheckForNull
    public String getTcp() {
        return step.getTcp();
    }

    @DataBoundSetter
    public void setTcp(@CheckForNull String tcp) {
        step.setTcp(tcp);
    }

    @CheckForNull
    public ActiveTimeout getActiveTimeout() {
        return step.getActiveTimeout();
    }

    @DataBoundSetter
    public void setActiveTimeout(@CheckForNull ActiveTimeout activeTimeout) {
        step.setActiveTimeout(activeTimeout);
    }

    @CheckForNull
    public Boolean getRerun() {
        return step.getRerun();
    }

    @DataBoundSetter
    public void setRerun(@CheckForNull Boolean rerun) {
        step.setRerun(rerun);
    }

    @CheckForNull
    public Integer getCheckpointEvery() {
        return step.getCheckpointEvery();
    }

    @DataBoundSetter
    public void setCheckpointEvery(@CheckForNull Integer checkpointEvery) {
        step.setCheckpointEvery(checkpointEvery);
    }

    /** The step's arguments, by name; for the script that calls the step. */
    public Map<String, Object> arguments() {
        return new HashMap<>(step.getDescriptor().defineArguments(step));
    }

    /** What Declarative and its Directive Generator need to know of it. */
    @Extension(optional = true)
    @Symbol(NAME)
    public static final class DescriptorImpl extends DeclarativeAgentDescriptor<PreemptibleAgent> {

        @NonNull
        @Override
        public String getDisplayName() {
            return Messages.PreemptibleAgent_DisplayName();
        }

        @Override
        public PreemptibleAgent newInstance(@CheckForNull StaplerRequest2 req, @NonNull JSONObject form)
                throws FormException {
            return super.newInstance(req, StageDefaults.filledIn(form));
        }
    }
}
