package io.jenkins.plugins.preemptible.hand;

import hudson.model.InvisibleAction;
import hudson.model.Run;
import hudson.security.ACL;
import hudson.security.ACLContext;
import org.kohsuke.stapler.export.Exported;
import org.kohsuke.stapler.export.ExportedBean;

/**
 * Says of a build that its stages are never suspended for others.
 *
 * <ol>
 *   <li>Put on the build by a user with the permission, and saved with it; undoing it removes it.
 *   <li>Holds for the stages that run and for those that are still to come.
 *   <li>Manually, the stages can still be suspended.
 * </ol>
 */
@ExportedBean(defaultVisibility = 2)
public final class NeverPreemptAction extends InvisibleAction {

    private final String by;
    private final long sinceMillis;

    public NeverPreemptAction(String by, long sinceMillis) {
        this.by = by;
        this.sinceMillis = sinceMillis;
    }

    /** Id of the user who said so. */
    @Exported
    public String getBy() {
        return by;
    }

    /** Milliseconds since 1970. */
    @Exported
    public long getSinceMillis() {
        return sinceMillis;
    }

    /**
     * Whether it is said of the build. May load the build: off the queue's lock.
     *
     * @param runId as {@link Run#getExternalizableId} gives it
     */
    public static boolean holds(String runId) {
        try (ACLContext system = ACL.as2(ACL.SYSTEM2)) {
            Run<?, ?> run = Run.fromExternalizableId(runId);
            return run != null && of(run);
        }
    }

    /** Whether it is said of the build. */
    public static boolean of(Run<?, ?> run) {
        return run.getAction(NeverPreemptAction.class) != null;
    }
}
