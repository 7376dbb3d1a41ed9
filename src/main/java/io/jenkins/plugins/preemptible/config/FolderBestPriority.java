package io.jenkins.plugins.preemptible.config;

import com.cloudbees.hudson.plugins.folder.AbstractFolder;
import com.cloudbees.hudson.plugins.folder.AbstractFolderProperty;
import com.cloudbees.hudson.plugins.folder.AbstractFolderPropertyDescriptor;
import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.XmlFile;
import hudson.model.Descriptor;
import hudson.model.Item;
import hudson.model.ItemGroup;
import hudson.model.Saveable;
import hudson.model.listeners.ItemListener;
import hudson.model.listeners.SaveableListener;
import hudson.util.FormValidation;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import java.io.IOException;
import java.util.logging.Level;
import java.util.logging.Logger;
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

    private static final Logger LOGGER = Logger.getLogger(FolderBestPriority.class.getName());

    /** Whether this thread has dropped one since it wrote a folder last. */
    private static final ThreadLocal<Boolean> DROPPED = ThreadLocal.withInitial(() -> false);

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
            DROPPED.set(true);
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

        /** Null when the page sets nothing, or the user may not set it. */
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

    /**
     * Writes a folder again that was loaded from a user's XML without the property in it: that XML is on disk by then, and
     * would count when Jenkins reads it itself after a restart.
     */
    private static void writeWithoutDropped(Saveable saved, XmlFile file) {
        if (!(saved instanceof AbstractFolder<?> folder) || !DROPPED.get()) {
            return;
        }
        // By what was read, not by the text: XML has several spellings of one name. Taken back first, since save()
        // comes here.
        DROPPED.remove();
        try {
            folder.save();
        } catch (IOException x) {
            LOGGER.log(Level.WARNING, x, () -> "The limit that was refused is still in " + file);
        }
    }

    /** Looks at a folder that was changed. */
    @Extension(optional = true)
    public static final class Changed extends SaveableListener {
        @Override
        public void onChange(Saveable saved, XmlFile file) {
            writeWithoutDropped(saved, file);
        }
    }

    /** Looks at a folder that was made from XML, or copied. */
    @Extension(optional = true)
    public static final class Created extends ItemListener {
        @Override
        public void onCreated(Item item) {
            if (item instanceof AbstractFolder<?> folder) {
                writeWithoutDropped(folder, folder.getConfigFile());
            }
        }

        @Override
        public void onCopied(Item source, Item item) {
            onCreated(item);
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
