package io.jenkins.plugins.preemptible.engine.cli;

import io.jenkins.plugins.preemptible.engine.cli.text.RefusedException;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.privileged.install.PrivilegedInstall;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Installs the privileged part, so that a user without root's rights can suspend stages.
 *
 * <ol>
 *   <li>It compiles a small program, which starts, enters, freezes, thaws and kills the stages of its caller.
 *   <li>The user or group gets the right to call the one installed program through sudo.
 *   <li>{@code --checkpoints} installs the level that also dumps and restores; {@code --remove} undoes either.
 * </ol>
 */
@Command(
        name = "install-helper",
        description = {
            "Lets a user without root's rights suspend stages, through sudo; to be run once on a host, as root.",
            "docs/security.md argues what that user can do then, line by line."
        })
final class InstallHelperCommand implements Callable<Integer> {

    private final Context context;

    @ArgGroup(multiplicity = "1")
    private What what;

    /** One of the two. */
    static final class What {
        @ArgGroup(exclusive = false, multiplicity = "1")
        private Installation installation;

        @Option(names = "--remove", required = true, description = "Takes it away again; stages stay.")
        private boolean remove;
    }

    /** For whom, and which level. */
    static final class Installation {
        @Option(
                names = "--user",
                required = true,
                paramLabel = "NAME",
                description = "The user of the agent, or a group with %% in front.")
        private String user;

        @Option(
                names = "--checkpoints",
                description = "Suspended stages are dumped by CRIU in a user namespace of root's, and survive a restart"
                        + " of the host; else they stay in its memory. For a user, not for a group.")
        private boolean checkpoints;
    }

    InstallHelperCommand(Context context) {
        this.context = context;
    }

    @Override
    public Integer call() throws IOException {
        PrivilegedInstall place = PrivilegedInstall.usual();
        try {
            if (what.remove) {
                boolean left = place.remove();
                context.out()
                        .println("Removed " + place.program() + (left ? "; stages are left in " + place.store() : ""));
                return ExitStatus.OK;
            }
            install(place, what.installation.user, what.installation.checkpoints);
            return ExitStatus.OK;
        } catch (PrivilegedInstall.RefusedInstall e) {
            throw new RefusedException(e.getMessage());
        }
    }

    private void install(PrivilegedInstall place, String user, boolean checkpoints)
            throws PrivilegedInstall.RefusedInstall, IOException {
        if (checkpoints) {
            place.install(user, List.of(self()), criu());
        } else {
            place.install(user, List.of(self()));
        }
        context.out().println("Installed " + place.program() + " for " + user + ".");
        context.out()
                .println(
                        checkpoints
                                ? "A stage of this user was started, dumped and restored. Suspended stages survive a"
                                        + " restart of this host."
                                : "Suspended stages of this user stay in this host's memory: a restart of the host loses them.");
    }

    private static Path criu() {
        CriuSearch search = new CriuSearch();
        return search.usable()
                .map(Criu::program)
                .orElseThrow(
                        () -> new RefusedException(
                                (search.installed().isEmpty()
                                                ? "There is no CRIU on this host"
                                                : "The CRIU at "
                                                        + search.installed().get(0) + " does not work with this kernel")
                                        + ", which checkpoints need; run .ci/setup in this checkout, or install without --checkpoints"));
    }

    private static Path self() {
        try {
            Path jar = Path.of(InstallHelperCommand.class
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .toURI());
            if (!jar.toString().endsWith(".jar")) {
                throw new RefusedException(
                        "This does not run from a jar, so there is nothing to install; use ./preempt");
            }
            return jar;
        } catch (URISyntaxException e) {
            throw new RefusedException("The place of this program cannot be told");
        }
    }
}
