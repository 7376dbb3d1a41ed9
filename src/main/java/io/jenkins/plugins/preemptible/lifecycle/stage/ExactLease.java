package io.jenkins.plugins.preemptible.lifecycle.stage;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import hudson.model.Computer;
import hudson.slaves.WorkspaceList;

/**
 * Leases of a workspace of one path: {@link WorkspaceList#allocate} gives another path where a build has that one, and a stage's
 * processes know theirs by its path.
 *
 * <p>Any thread; under no lock, for the list of workspaces has one.
 */
public final class ExactLease {

    private ExactLease() {}

    /** @return a lease to be released, or null when a build has the workspace */
    @CheckForNull
    public static WorkspaceList.Lease take(Computer computer, FilePath workspace) throws InterruptedException {
        WorkspaceList.Lease lease = computer.getWorkspaceList().allocate(workspace);
        if (isOf(workspace, lease)) {
            return lease;
        }
        lease.release();
        return null;
    }

    /** Whether the lease is of the workspace itself. */
    public static boolean isOf(FilePath workspace, WorkspaceList.Lease lease) {
        return lease.path.getRemote().equals(workspace.getRemote());
    }
}
