package io.jenkins.plugins.preemptible.config;

import com.cloudbees.hudson.plugins.folder.AbstractFolder;
import com.cloudbees.hudson.plugins.folder.AbstractFolderProperty;
import com.cloudbees.hudson.plugins.folder.AbstractFolderPropertyDescriptor;
import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.model.ItemGroup;
import net.sf.json.JSONObject;
import org.jenkinsci.Symbol;
import org.kohsuke.stapler.DataBoundConstructor;
import org.kohsuke.stapler.DataBoundSetter;
import org.kohsuke.stapler.StaplerRequest2;

/**
 * The defaults for the preemptible stages of a folder's jobs, and of the jobs in the folders inside of it.
 *
 * <p>They need no permission of their own: a default gets no more than a step that says the same. Present only where the
 * Folders plugin is.
 */
public final class FolderDefaults extends AbstractFolderProperty<AbstractFolder<?>> {

    private StageDefaults defaults = new StageDefaults();

    @DataBoundConstructor
    public FolderDefaults() {}

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

    /** What the folder's page needs to know of it. */
    @Extension(optional = true)
    @Symbol("preemptibleDefaults")
    public static final class DescriptorImpl extends AbstractFolderPropertyDescriptor {

        @NonNull
        @Override
        public String getDisplayName() {
            return Messages.StageDefaults_DisplayName();
        }

        /** Null when the page sets nothing. */
        @Override
        public AbstractFolderProperty<?> newInstance(StaplerRequest2 req, JSONObject form) throws FormException {
            try {
                FolderDefaults set = (FolderDefaults) super.newInstance(req, StageDefaults.filledIn(form));
                return set == null || set.defaults.isEmpty() ? null : set;
            } catch (LinkageError refused) {
                throw new FormException(PreemptibleConfiguration.sentenceOf(refused), refused, "preemptibleDefaults");
            }
        }
    }

    /** Tells of folders' own settings. */
    @Extension(optional = true)
    public static final class OfFolders extends DefaultsInOrder.OfFolder {
        @Override
        protected StageDefaults setBy(ItemGroup<?> folder) {
            FolderDefaults property = folder instanceof AbstractFolder<?> own
                    ? own.getProperties().get(FolderDefaults.class)
                    : null;
            return property == null ? null : property.defaults;
        }
    }
}
