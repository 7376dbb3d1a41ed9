package io.jenkins.plugins.preemptible.engine.privileged.install;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.RootsOwn;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The conditions under which an installation of the privileged part is refused.
 *
 * @param place where it is to be installed
 */
record InstallRefusals(PrivilegedInstall place) {

    private static final Pattern WHO = Pattern.compile("%?[a-z_][a-z0-9_-]{0,31}");

    void requireKnown(String who) throws PrivilegedInstall.RefusedInstall, IOException {
        if (!WHO.matcher(who).matches() || who.equals("root")) {
            throw new PrivilegedInstall.RefusedInstall(
                    "'" + who + "' is no name of a user, or of a group with % in front");
        }
        boolean group = who.startsWith("%");
        String database = RootsFiles.tool("getent").map(Path::toString).orElse("/usr/bin/getent");
        HostTool.Answer found =
                RootsFiles.run(20, List.of(database, group ? "group" : "passwd", group ? who.substring(1) : who));
        if (!found.ok()) {
            throw new PrivilegedInstall.RefusedInstall("There is no "
                    + (group ? "group " + who.substring(1) : "user " + who) + " on this host; make it first");
        }
    }

    // A jar in a checkout was built from it as root, just before: a user who can change the checkout has chosen the
    // jar.
    void requireRootsSources(Path jar) throws PrivilegedInstall.RefusedInstall, IOException {
        for (Path at = jar.getParent(); at != null; at = at.getParent()) {
            Path sources = at.resolve("src/main");
            if (!Files.isDirectory(sources) || !Files.exists(at.resolve("preempt"))) {
                continue;
            }
            RootsFiles.require(at.resolve("preempt"), "the program");
            for (Path part : List.of(sources, at.resolve(".ci"))) {
                Optional<Path> changeable = RootsOwn.changeableIn(part);
                if (changeable.isPresent()) {
                    RootsFiles.require(changeable.get(), "the program");
                }
            }
        }
    }

    // A stage of a version that kept other records cannot be reached by this program.
    void refuseOldStages() throws PrivilegedInstall.RefusedInstall, IOException {
        if (!Files.isDirectory(place.store())) {
            return;
        }
        try (var users = Files.newDirectoryStream(place.store(), "[0-9]*")) {
            for (Path user : users) {
                if (!Files.isDirectory(user.resolve("sealed"))) {
                    continue;
                }
                try (var stages = Files.newDirectoryStream(Files.createDirectories(user.resolve("stages")))) {
                    if (stages.iterator().hasNext()) {
                        throw new PrivilegedInstall.RefusedInstall(
                                "Stages of an earlier version are left in " + user.resolve("stages")
                                        + "; let their builds end, or remove that folder, and install again");
                    }
                }
                StageFolder.delete(user);
            }
        }
    }

    // The records of one level cannot be read by the program of the other.
    void refuseOtherLevel(boolean checkpoints) throws PrivilegedInstall.RefusedInstall, IOException {
        if (!Files.isExecutable(place.program())
                || Files.isDirectory(place.library()) == checkpoints
                || !Files.isDirectory(place.store())) {
            return;
        }
        try (var users = Files.newDirectoryStream(place.store(), "[0-9]*")) {
            for (Path user : users) {
                try (var stages = Files.newDirectoryStream(user)) {
                    if (stages.iterator().hasNext()) {
                        throw new PrivilegedInstall.RefusedInstall(
                                "Stages of the other level are left in " + user
                                        + "; let their builds end, then call 'preempt install-helper --remove' and install again");
                    }
                }
            }
        }
    }

    // The program as it will be installed, asked as sudo would ask it.
    static void requireWorking(Path built, long uid) throws PrivilegedInstall.RefusedInstall {
        HostTool.Answer answer = RootsFiles.run(
                60,
                List.of(
                        HostTool.find("env").orElseThrow().toString(),
                        "-i",
                        "SUDO_UID=" + uid,
                        built.toString(),
                        "check"));
        if (!answer.text().startsWith("ok")) {
            throw new PrivilegedInstall.RefusedInstall("Checkpoints cannot be made on this host: "
                    + answer.firstLine().replaceFirst("refused [A-Z_]+ ", "")
                    + "; mend that, or install without --checkpoints");
        }
    }
}
