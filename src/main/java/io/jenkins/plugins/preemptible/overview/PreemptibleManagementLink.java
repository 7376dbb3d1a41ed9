package io.jenkins.plugins.preemptible.overview;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.model.ManagementLink;
import hudson.security.Permission;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import jenkins.management.Badge;

/** Leads from <i>Manage Jenkins</i> to the page of all stages. */
@Extension
public final class PreemptibleManagementLink extends ManagementLink {

    @Override
    public String getIconFileName() {
        return "symbol-suspended plugin-preemptible";
    }

    @Override
    public String getDisplayName() {
        return Messages.PreemptibleRootAction_DisplayName();
    }

    @Override
    public String getDescription() {
        return Messages.PreemptibleManagementLink_Description();
    }

    @Override
    public String getUrlName() {
        return "preemptible-stages";
    }

    /** Core looks for a page below this object; ours is at the root. */
    public void doIndex(org.kohsuke.stapler.StaplerRequest2 request, org.kohsuke.stapler.StaplerResponse2 response)
            throws java.io.IOException {
        response.sendRedirect(request.getContextPath() + "/" + PreemptibleRootAction.URL + "/");
    }

    @NonNull
    @Override
    public Category getCategory() {
        return Category.STATUS;
    }

    @NonNull
    @Override
    public Permission getRequiredPermission() {
        return PreemptiblePermissions.MANAGE;
    }

    @Override
    public Badge getBadge() {
        long failed = StageRegistry.get().all().stream()
                .filter(stage -> stage.whyNotResumed() != null)
                .count();
        long suspended = StageRegistry.get().all().stream()
                .filter(StageRecord::suspended)
                .count();
        if (failed > 0) {
            return new Badge(
                    String.valueOf(failed), Messages.PreemptibleManagementLink_Failed(failed), Badge.Severity.WARNING);
        }
        return suspended == 0
                ? null
                : new Badge(
                        String.valueOf(suspended),
                        Messages.PreemptibleManagementLink_Suspended(suspended),
                        Badge.Severity.INFO);
    }
}
