package io.jenkins.plugins.preemptible.lifecycle.image;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.model.AdministrativeMonitor;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;

/**
 * Tells administrators that the controller's disk has no room for images.
 *
 * <ol>
 *   <li>Shown while preemption is switched on and the disk has less free than its floor.
 *   <li>Gone as soon as there is room again, or when an administrator dismisses it for good.
 *   <li>For administrators only, as every such monitor.
 * </ol>
 */
@Extension
public final class DiskFloorMonitor extends AdministrativeMonitor {

    public DiskFloorMonitor() {
        // Jenkins saves which monitors were dismissed by these ids.
        super("io.jenkins.plugins.preemptible.lifecycle.DiskFloorMonitor");
    }

    @Override
    public String getDisplayName() {
        return Messages.DiskFloorMonitor_DisplayName();
    }

    @Override
    public boolean isActivated() {
        return PreemptibleConfiguration.get().isEnabled() && ArchiveRoom.now() != null;
    }

    /** What the page shows; null when there is room by now. */
    @CheckForNull
    public String getSentence() {
        ArchiveRoom.Shortage shortage = ArchiveRoom.now();
        return shortage == null ? null : shortage.sentence();
    }
}
