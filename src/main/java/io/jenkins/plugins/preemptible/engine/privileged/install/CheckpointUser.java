package io.jenkins.plugins.preemptible.engine.privileged.install;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.privileged.install.PrivilegedInstall.RefusedInstall;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;

/**
 * A user for whom the level "checkpoints" is installed, on a host that allows it.
 *
 * @param home where images are kept
 */
public record CheckpointUser(String name, long uid, long gid, Path home) {

    private static final Path SYSCTL = Path.of("/proc/sys");
    /** CAP_CHECKPOINT_RESTORE, of Linux 5.9. */
    private static final int CHECKPOINT_RESTORE = 40;

    /** A setting of the host's that keeps users from the kernel's interfaces in user namespaces. */
    private record Forbidding(String setting, String value, String allowing) {}

    private static final List<Forbidding> FORBIDDING = List.of(
            new Forbidding("user.max_user_namespaces", "0", "10000"),
            new Forbidding("kernel.unprivileged_userns_clone", "0", "1"),
            new Forbidding("kernel.apparmor_restrict_unprivileged_userns", "1", "0"));

    /** @throws RefusedInstall when checkpoints cannot be installed for this user */
    static CheckpointUser of(String name) throws RefusedInstall, IOException {
        if (name.startsWith("%")) {
            throw new RefusedInstall(
                    "Checkpoints are installed for a user, not for a group: the ids of each user are checked");
        }
        requireUserNamespaces(SYSCTL);
        requireKernel();
        // name:x:uid:gid:gecos:home:shell
        String getent = RootsFiles.tool("getent").map(Path::toString).orElse("/usr/bin/getent");
        HostTool.Answer entry = RootsFiles.run(20, List.of(getent, "passwd", name));
        String[] fields = entry.firstLine().split(":");
        if (!entry.ok() || fields.length < 6) {
            throw new RefusedInstall("The user database tells no id and no home folder of " + name);
        }
        CheckpointUser user = new CheckpointUser(
                name, Long.parseLong(fields[2]), Long.parseLong(fields[3]), Path.of("/" + fields[5]));
        user.requireHome();
        return user;
    }

    private void requireHome() throws RefusedInstall, IOException {
        if (!Files.isDirectory(home)
                || ((Number) Files.getAttribute(home.toRealPath(), "unix:uid", LinkOption.NOFOLLOW_LINKS)).longValue()
                        != uid) {
            throw new RefusedInstall("The user " + name + " has no home folder of their own at " + home
                    + ", where images are kept; make it (mkhomedir_helper " + name
                    + "), or install without --checkpoints");
        }
    }

    /** @param sysctl where the kernel shows its settings */
    public static void requireUserNamespaces(Path sysctl) throws RefusedInstall, IOException {
        for (Forbidding each : FORBIDDING) {
            Path file = sysctl.resolve(each.setting().replace('.', '/'));
            if (Files.exists(file) && value(file).equals(each.value())) {
                throw new RefusedInstall("This host forbids user namespaces (" + each.setting() + "=" + each.value()
                        + "), in which checkpoints are made; allow them (sysctl -w " + each.setting() + "="
                        + each.allowing() + "), or install without --checkpoints");
            }
        }
    }

    // At once: of a setting that is read byte by byte, the kernel tells the first byte only.
    private static String value(Path setting) throws IOException {
        return Files.readAllLines(setting).get(0).trim();
    }

    private static void requireKernel() throws RefusedInstall, IOException {
        String missing = null;
        if (!Files.exists(Path.of("/proc/self/ns/user"))) {
            missing = "CONFIG_USER_NS";
        } else if (!Files.exists(Path.of("/proc/sys/kernel/ns_last_pid"))) {
            missing = "CONFIG_CHECKPOINT_RESTORE";
        } else if (Integer.parseInt(value(SYSCTL.resolve("kernel/cap_last_cap"))) < CHECKPOINT_RESTORE) {
            missing = "CAP_CHECKPOINT_RESTORE (Linux 5.9 or newer)";
        }
        if (missing != null) {
            throw new RefusedInstall("This kernel has no " + missing
                    + ", which checkpoints need; use another kernel, or install without --checkpoints");
        }
    }
}
