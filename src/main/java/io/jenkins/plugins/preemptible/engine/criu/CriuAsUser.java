package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.stage.Script;
import io.jenkins.plugins.preemptible.engine.stage.StageUser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * How root runs criu on a stage of another user: with that user's ids, so that it can open no file which he cannot.
 *
 * <ol>
 *   <li>criu opens the stage's files by their paths again. Run as root it would follow a link that the user put in the
 *       place of such a file to {@code /etc/shadow}, and hand the open file to the user's process. Run with his ids and
 *       without the capabilities that overrule file rights, the kernel stops it.
 *   <li>What it keeps: making namespaces and mounts (CAP_SYS_ADMIN, CAP_SYS_CHROOT), process ids and memory layout
 *       (CAP_CHECKPOINT_RESTORE), looking into processes (CAP_SYS_PTRACE, for Yama), giving up capabilities
 *       (CAP_SETPCAP), moving TCP connections (CAP_NET_ADMIN). The user cannot trace or enter it: it has more than he.
 *   <li>Images and logs lie below folders of root's alone. A private mount namespace shows them to criu, and the
 *       {@link CopyingGzip} that its tar finds.
 * </ol>
 *
 * Sources: criu(8), {@code --unprivileged}; capabilities(7); ptrace(2), "Ptrace access mode checking".
 */
record CriuAsUser(StageUser user, String setpriv, String unshare) {

    private static final List<String> CAPABILITIES = List.of(
            "sys_admin", "sys_chroot", "checkpoint_restore", "sys_ptrace", "setpcap", "net_admin");

    Path images() {
        return user.view().resolve("seen/images");
    }

    Path logs() {
        return user.view().resolve("seen/logs");
    }

    Path root() {
        return user.view().resolve("root");
    }

    /** The words in front of criu's own; {@code verb} is dump or restore, {@code join} a cgroup.procs file or empty. */
    List<String> words(String verb, Path images, Path logs, String join) {
        List<String> words = new ArrayList<>(List.of(
                unshare,
                "--mount",
                "--propagation",
                "private",
                "--",
                "/bin/sh",
                "-c",
                Script.text(CriuAsUser.class, "view.sh"),
                "preemptible-criu",
                user.view().toString(),
                images.toString(),
                logs.toString(),
                verb,
                join,
                logs.resolveSibling("tools").toString()));
        boolean dumps = verb.equals("dump");
        words.addAll(user.dropKeeping(
                setpriv, CAPABILITIES, dumps ? List.of(StageUser.FREEZING_GROUP) : List.of()));
        return words;
    }

    /** Gives a folder and the plain files in it to the user, who has no way to them. */
    void give(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder, 1)) {
            for (Path file : files.toList()) {
                if (file.equals(folder) || Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
                    Files.setAttribute(file, "unix:uid", (int) user.uid(), LinkOption.NOFOLLOW_LINKS);
                }
            }
        }
    }

    /** Lets criu, and nobody else, write what freezes and thaws the stage; until {@link #takeBack}. */
    static void lend(Freezer freezer) throws IOException {
        Path file = switching(freezer);
        Files.setAttribute(file, "unix:gid", (int) StageUser.FREEZING_GROUP);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-r--"));
    }

    static void takeBack(Freezer freezer) throws IOException {
        Path file = switching(freezer);
        if (Files.exists(file)) {
            Files.setAttribute(file, "unix:gid", 0);
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
        }
    }

    private static Path switching(Freezer freezer) throws IOException {
        Path group = freezer.cgroup().orElseThrow(() -> new IOException(
                "without a control group a stage of another user cannot be held: signals are his to send"));
        Path unified = group.resolve("cgroup.freeze");
        return Files.exists(unified) ? unified : group.resolve("freezer.state");
    }
}
