package io.jenkins.plugins.preemptible.hand;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.init.InitMilestone;
import hudson.init.Initializer;
import hudson.model.Cause;
import hudson.model.Computer;
import hudson.model.Run;
import hudson.model.User;
import hudson.security.AccessDeniedException3;
import hudson.security.Permission;
import hudson.security.PermissionGroup;
import hudson.security.PermissionScope;
import jenkins.model.Jenkins;

/**
 * What may be allowed to whom: the group "Preemptible" of the security matrix.
 *
 * <ol>
 *   <li>{@link #MANAGE} is for what concerns everybody: draining an agent, exempting a build.
 *   <li>{@link #SUSPEND} is for the stages of a job's builds, and may be given on that job or its folder.
 *   <li>{@link #SUSPEND_OWN} gives the same to the owner of each build, which is who started it.
 * </ol>
 */
public final class PreemptiblePermissions {

    public static final PermissionGroup GROUP =
            new PermissionGroup(PreemptiblePermissions.class, Messages._PreemptiblePermissions_Group());

    public static final Permission MANAGE = new Permission(
            GROUP, "Manage", Messages._PreemptiblePermissions_Manage(), Jenkins.ADMINISTER, PermissionScope.JENKINS);

    public static final Permission SUSPEND =
            new Permission(GROUP, "Suspend", Messages._PreemptiblePermissions_Suspend(), MANAGE, true, onJobs());

    public static final Permission SUSPEND_OWN =
            new Permission(GROUP, "SuspendOwn", Messages._PreemptiblePermissions_SuspendOwn(), SUSPEND, true, onJobs());

    private PreemptiblePermissions() {}

    private static PermissionScope[] onJobs() {
        return new PermissionScope[] {PermissionScope.JENKINS, PermissionScope.ITEM_GROUP, PermissionScope.ITEM};
    }

    /** Permissions exist when their class is initialized, which has to be before a matrix that names them is loaded. */
    @Initializer(after = InitMilestone.PLUGINS_STARTED, before = InitMilestone.EXTENSIONS_AUGMENTED)
    public static void register() {
        // The call itself initializes the class.
    }

    /** Whether the current user may suspend and resume stages of this build. */
    public static boolean maySuspend(Run<?, ?> run) {
        return run.hasPermission(SUSPEND) || run.hasPermission(SUSPEND_OWN) && startedBy(run, User.current());
    }

    /** @throws AccessDeniedException3 when they may not */
    public static void checkSuspend(Run<?, ?> run) {
        if (!maySuspend(run) && run.hasPermission(SUSPEND_OWN)) {
            throw new OwnBuildsOnlyException();
        }
        if (!maySuspend(run)) {
            throw new AccessDeniedException3(Jenkins.getAuthentication2(), SUSPEND);
        }
    }

    /** Whether the current user may drain agents and exempt builds. */
    public static boolean mayManage() {
        return Jenkins.get().hasPermission(MANAGE);
    }

    /** @throws AccessDeniedException3 when they may not */
    public static void checkManage() {
        Jenkins.get().checkPermission(MANAGE);
    }

    /** Whether the current user may drain this agent: for maintenance, as they may disconnect it. */
    public static boolean mayDrain(Computer computer) {
        return mayManage() || computer.hasPermission(Computer.DISCONNECT);
    }

    /** @throws AccessDeniedException3 when they may not */
    public static void checkDrain(Computer computer) {
        if (!mayDrain(computer)) {
            checkManage();
        }
    }

    /** The user may suspend stages of builds, but not of this one. */
    private static final class OwnBuildsOnlyException extends AccessDeniedException3 {
        private static final long serialVersionUID = 1L;

        OwnBuildsOnlyException() {
            super(Jenkins.getAuthentication2(), SUSPEND);
        }

        @Override
        public String getMessage() {
            return Messages.PreemptiblePermissions_OwnBuildsOnly(authentication.getName());
        }
    }

    private static boolean startedBy(Run<?, ?> run, @CheckForNull User user) {
        return user != null
                && run.getCauses().stream()
                        .filter(Cause.UserIdCause.class::isInstance)
                        .map(cause -> ((Cause.UserIdCause) cause).getUserId())
                        .anyMatch(id -> id != null && User.idStrategy().equals(id, user.getId()));
    }
}
