package io.jenkins.plugins.preemptible.config;

import com.cloudbees.hudson.plugins.folder.AbstractFolder;
import com.cloudbees.hudson.plugins.folder.AbstractFolderProperty;
import com.cloudbees.hudson.plugins.folder.AbstractFolderPropertyDescriptor;
import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.model.Descriptor;
import hudson.model.ItemGroup;
import hudson.util.FormValidation;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import jenkins.model.Jenkins;
import net.sf.json.JSONObject;
import org.jenkinsci.Symbol;
import org.kohsuke.stapler.DataBoundConstructor;
import org.kohsuke.stapler.QueryParameter;
import org.kohsuke.stapler.StaplerRequest2;
import org.kohsuke.stapler.verb.POST;

/**
 * The best priority that the steps of a folder's jobs may ask for.
 *
 * <ol>
 *   <li>It counts for the jobs of the folder and of those below it that set none themselves.
 *   <li>Set by users with Preemptible/Manage only. When another one saves the folder's page, the value stays as it was;
 *       when another one sends the folder's XML, the property in it is dropped.
 *   <li>So users who may configure a folder can remove its limit. The global limit has to be the one that holds for
 *       everybody, and folders are to get better ones.
 * </ol>
 *
 * Present only where the Folders plugin is.
 */
public final class FolderBestPriority extends AbstractFolderProperty<AbstractFolder<?>> {

    @CheckForNull
    private final Integer bestPriority;

    /**
     * @param bestPriority null = as outside of the folder
     * @throws IllegalArgumentException when it is not in 1..1000
     */
    @DataBoundConstructor
    public FolderBestPriority(@CheckForNull Integer bestPriority) {
        this.bestPriority = bestPriority == null ? null : Range.FOLDER_BEST_PRIORITY.checked(bestPriority);
    }

    /** 1 is the highest; null = as outside of the folder. */
    @CheckForNull
    public Integer getBestPriority() {
        return bestPriority;
    }

    @Override
    public AbstractFolderProperty<?> reconfigure(StaplerRequest2 req, JSONObject form) throws Descriptor.FormException {
        return maySet() ? super.reconfigure(req, form) : this;
    }

    /** Drops what a user sends who may not set it, and what the page would refuse; Jenkins says so in its log. */
    private Object readResolve() {
        if (!maySet()) {
            throw new IllegalArgumentException(Messages.FolderBestPriority_MayNot());
        }
        return new FolderBestPriority(bestPriority);
    }

    private static boolean maySet() {
        return Jenkins.get().hasPermission(PreemptiblePermissions.MANAGE);
    }

    /** What the folder's page needs to know of it. */
    @Extension(optional = true)
    @Symbol("preemptibleBestPriority")
    public static final class DescriptorImpl extends AbstractFolderPropertyDescriptor {

        @NonNull
        @Override
        public String getDisplayName() {
            return Messages.FolderBestPriority_DisplayName();
        }

        /** Whether the looking user may change it. */
        public boolean isSettable() {
            return maySet();
        }

        /** Null when the page sets nothing, or somebody has sent it who may not. */
        @Override
        public AbstractFolderProperty<?> newInstance(StaplerRequest2 req, JSONObject form) throws FormException {
            if (!maySet()) {
                return null;
            }
            String typed = form.optString("bestPriority");
            try {
                return typed.isBlank() ? null : new FolderBestPriority(Range.FOLDER_BEST_PRIORITY.parsed(typed));
            } catch (IllegalArgumentException e) {
                throw new FormException(e.getMessage(), e, "bestPriority");
            }
        }

        @POST
        public FormValidation doCheckBestPriority(@QueryParameter String value) {
            return value.isBlank()
                    ? FormValidation.ok()
                    : Range.FOLDER_BEST_PRIORITY.check(value, PreemptiblePermissions.MANAGE);
        }
    }

    /** Tells of folders' own settings. */
    @Extension(optional = true)
    public static final class OfFolders extends BestPriority.OfFolder {
        @Override
        protected Integer setBy(ItemGroup<?> folder) {
            FolderBestPriority property = folder instanceof AbstractFolder<?> own
                    ? own.getProperties().get(FolderBestPriority.class)
                    : null;
            return property == null ? null : property.bestPriority;
        }
    }
}
