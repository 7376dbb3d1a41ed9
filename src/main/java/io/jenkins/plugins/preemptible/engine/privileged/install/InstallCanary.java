package io.jenkins.plugins.preemptible.engine.privileged.install;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.criu.CriuLog;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.InsideReader;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedPart;
import io.jenkins.plugins.preemptible.engine.privileged.install.PrivilegedInstall.RefusedInstall;
import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A small stage that tests an installation: the program starts, shows, dumps and restores it, called through sudo as
 * the user will call it.
 *
 * <ol>
 *   <li>It shows what versions alone cannot: whether the preloaded library fits this C library, whether the kernel
 *       or a container around it lets CRIU work in a user namespace, and whether sudo reads the rule.
 *   <li>Its folder is the user's, below the store of root's. Root opens nothing in it: what is in there is read, and
 *       removed, by programs that run as the user.
 * </ol>
 */
final class InstallCanary {

    private static final long WAIT_MILLIS =
            TimeLimits.of(Duration.ofSeconds(20)).toMillis();
    private static final int POLL_MILLIS = 20;

    private final PrivilegedInstall place;
    private final CheckpointUser user;
    private final List<String> asUser;
    private final Path base;
    private final Path folder;

    InstallCanary(PrivilegedInstall place, CheckpointUser user) throws RefusedInstall, IOException {
        this.place = place;
        this.user = user;
        this.base = place.store().resolve(".canary");
        this.folder = base.resolve("user");
        // In a session of its own: a process of the user's with the administrator's terminal could type into it
        // (TIOCSTI).
        this.asUser = List.of(
                tool("setsid"),
                "--wait",
                tool("setpriv"),
                "--reuid",
                user.name(),
                "--regid",
                Long.toString(user.gid()),
                "--init-groups",
                "--inh-caps=-all",
                "--ambient-caps=-all",
                "--");
    }

    private String tool(String name) throws RefusedInstall, IOException {
        return RootsFiles.tool(name)
                .orElseThrow(() -> new RefusedInstall("There is no " + name + ", by which the installation is tried as "
                        + user.name() + "; install util-linux and call this again"))
                .toString();
    }

    /** @throws RefusedInstall with what did not work; nothing of the stage is left in either case */
    void live() throws RefusedInstall, IOException {
        PrivilegedPart part = new PrivilegedPart(place.program(), base.resolve("sudo"));
        StageId id = StageId.create("canary");
        String step = "be prepared";
        try {
            make();
            step = "be started";
            start(part, id);
            List<String> words = words();
            step = "be inspected";
            inspect(part, id);
            step = "be dumped";
            part.freeze(id);
            int code = part.dump(id, words, () -> false);
            if (code != 0) {
                throw new IOException("CRIU ended with " + code + lines("dump.log"));
            }
            part.kill(id);
            step = "be restored";
            part.restore(id, words, () -> false);
        } catch (EngineException | IOException e) {
            throw new RefusedInstall(
                    "A stage of " + user.name() + " cannot " + step + " on this host: " + e.getMessage()
                            + (step.equals("be restored") ? lines("restore.log") : "")
                            + "; mend that, or install without --checkpoints");
        } finally {
            end(part, id);
        }
    }

    private void make() throws RefusedInstall, IOException {
        clear();
        RootsFiles.folder(base, "rwx--x--x", "the trial");
        Files.createDirectory(
                folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Files.setAttribute(folder, "unix:gid", (int) user.gid(), LinkOption.NOFOLLOW_LINKS);
        Files.setAttribute(folder, "unix:uid", (int) user.uid(), LinkOption.NOFOLLOW_LINKS);
        // What PrivilegedPart calls as sudo.
        String sudo = RootsFiles.tool("sudo").orElseThrow().toString();
        RootsFiles.put(
                ("#!/bin/sh\nexec " + String.join(" ", asUser) + " " + sudo + " \"$@\"\n").getBytes(),
                base.resolve("sudo"),
                "rwxr-xr-x");
        as("mkdir", "images", "logs");
    }

    private void start(PrivilegedPart part, StageId id) throws IOException {
        String script = "exec </dev/null >/dev/null 2>&1; cat /proc/self/mountinfo >mounts.new && mv mounts.new mounts;"
                + " exec sleep 1000";
        part.start(
                id,
                List.of("/bin/sh", "-c", "cd \"$1\" && " + script, "sh", folder.toString()),
                Map.of("PATH", "/usr/bin:/bin"),
                base.resolve("errors"),
                false);
        for (int waited = 0; !as("test", "-e", "mounts").ok(); waited += POLL_MILLIS) {
            if (waited > WAIT_MILLIS) {
                throw new IOException("it does nothing within " + WAIT_MILLIS / 1000 + " s");
            }
            sleep();
        }
    }

    private static void sleep() throws IOException {
        try {
            Thread.sleep(POLL_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    private static void inspect(PrivilegedPart part, StageId id) throws IOException {
        long init =
                part.seen(id).orElseThrow(() -> new IOException("it is gone")).init();
        try (InsideReader inside = part.inspect(id, init)) {
            if (inside.ask(InsideReader.Question.LINK, init + "/ns/user").isEmpty()) {
                throw new IOException("the kernel does not show its processes");
            }
        }
    }

    private List<String> words() {
        List<String> words = new ArrayList<>(List.of(
                folder.resolve("images").toString(), folder.resolve("logs").toString(), "ghost-limit=0"));
        Mounts.ofHost(as("cat", "mounts").text().lines().toList()).forEach(mount -> words.add("mount=" + mount));
        return words;
    }

    private String lines(String log) {
        List<String> decisive =
                CriuLog.of(as("cat", "logs/" + log).text().lines().toList()).decisive();
        return decisive.isEmpty() ? "" : " " + decisive;
    }

    private HostTool.Answer as(String... command) {
        List<String> words = new ArrayList<>(asUser);
        words.addAll(List.of("/bin/sh", "-c", "cd \"$1\" && shift && exec \"$@\"", "sh", folder.toString()));
        words.addAll(List.of(command));
        return RootsFiles.run(20, words);
    }

    private void end(PrivilegedPart part, StageId id) throws RefusedInstall, IOException {
        try {
            part.kill(id);
            part.forget(id);
        } catch (EngineException e) {
            // It was never started, or what is thrown already says why.
        }
        clear();
    }

    private void clear() throws RefusedInstall, IOException {
        if (Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
            // All of it: a process of the user's may have put something in.
            as("find", ".", "-mindepth", "1", "-delete");
            try {
                Files.delete(folder);
            } catch (DirectoryNotEmptyException e) {
                throw new RefusedInstall("A user's process has put files into " + folder
                        + ", which root does not touch; end that process, remove the folder, and call this again");
            }
        }
        for (String own : List.of("sudo", "errors")) {
            Files.deleteIfExists(base.resolve(own));
        }
        Files.deleteIfExists(base);
    }
}
