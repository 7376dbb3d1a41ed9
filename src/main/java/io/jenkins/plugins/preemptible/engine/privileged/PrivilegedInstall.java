package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.RootsOwn;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Puts the privileged part on a host, for one user or group, and takes it away again; an administrator's work.
 *
 * <ol>
 *   <li>The engine's jar and CRIU are copied to folders of root's. What they are copied from, and what the program needs
 *       besides (Java and the tools of the system), has to be root's alone, from {@code /} on, or nothing is installed.
 *   <li>A rule of sudo's, looked at by visudo first, lets the user call this one program as root.
 *   <li>Installing again replaces what is there and keeps the stages; {@link #remove} takes the rule away first.
 * </ol>
 *
 * @param program what sudo is to call, such as {@link PrivilegedPart#USUAL}
 * @param library folder for jar and CRIU
 * @param store folder for the stages of all users
 * @param rule file below sudo's folder of rules
 */
public record PrivilegedInstall(Path program, Path library, Path store, Path rule) {

    private static final Pattern PLAIN = Pattern.compile("(/[A-Za-z0-9][A-Za-z0-9._-]*)+");
    private static final Pattern WHO = Pattern.compile("%?[a-z_][a-z0-9_-]{0,31}");
    private static final List<String> TOOLS = List.of(
            "sudo", "visudo", "sh", "env", "id", "cat", "mkdir", "mount", "umount", "setsid", "unshare", "nsenter",
            "setpriv");

    /** A refusal, in words for the administrator. */
    public static final class RefusedInstall extends Exception {
        private static final long serialVersionUID = 1L;

        RefusedInstall(String words) {
            super(words);
        }
    }

    /** Below /usr/local and /var/lib. */
    public static PrivilegedInstall usual() {
        return new PrivilegedInstall(
                PrivilegedPart.USUAL,
                Path.of("/usr/local/lib/preemptible"),
                Path.of("/var/lib/preemptible"),
                Path.of("/etc/sudoers.d/preemptible"));
    }

    public PrivilegedInstall {
        for (Path path : List.of(program, library, store, rule)) {
            if (!PLAIN.matcher(path.toString()).matches()) {
                throw new IllegalArgumentException("'" + path + "' is not an absolute path of plain characters");
            }
        }
    }

    /**
     * Installs it.
     *
     * @param who a user, or a group with % in front
     * @param jars the engine and its libraries
     * @param criu a program that works on this host
     * @throws RefusedInstall when it would not be safe, or this is not root; nothing new can be called then
     */
    public void install(String who, List<Path> jars, Path criu) throws RefusedInstall, IOException {
        if (!HostProcess.isRoot()) {
            throw new RefusedInstall("This has to be run as root: it lets a user call one program as root");
        }
        if (!WHO.matcher(who).matches() || who.equals("root")) {
            throw new RefusedInstall("'" + who + "' is no name of a user, or of a group with % in front");
        }
        Path java = Path.of(System.getProperty("java.home"), "bin", "java").toRealPath();
        requireRoots(java, "Java");
        Optional<Path> changeable = RootsOwn.changeableIn(Path.of(System.getProperty("java.home")).toRealPath());
        if (changeable.isPresent()) {
            throw new RefusedInstall(changeable.get() + " of Java could be changed by somebody else than root");
        }
        for (String tool : TOOLS) {
            Path found = HostTool.find(tool).orElseThrow(() -> new RefusedInstall("there is no " + tool));
            requireRoots(found.toRealPath(), tool);
        }
        // Whoever can change them before they are copied is root as soon as his program is called.
        for (Path jar : jars) {
            requireRoots(jar.toRealPath(), "the engine");
        }
        Path realCriu = criu.toRealPath();
        requireRoots(realCriu, "CRIU");
        Files.deleteIfExists(rule);
        StageFolder.delete(library);
        Path engine = folder(library.resolve("engine"), "rwxr-xr-x");
        int number = 0;
        for (Path jar : jars) {
            put(jar.toRealPath(), engine.resolve(number++ + ".jar"), "rw-r--r--");
        }
        put(realCriu, library.resolve("criu"), "rwxr-xr-x");
        folder(store, "rwx--x--x");
        folder(store.resolve("view/root"), "rwxr-xr-x");
        folder(store.resolve("view/seen"), "rwxr-xr-x");
        folder(store.resolve("tmp"), "rwx------");
        folder(program.getParent(), "rwxr-xr-x");
        write(program, text("program.sh", java, who), "rwxr-xr-x");
        for (Path path : List.of(program, library.resolve("criu"), engine, store.resolve("view/root"), store.resolve("view/seen"), store.resolve("tmp"))) {
            requireRoots(path, "it");
        }
        putRule(text("sudoers", java, who));
    }

    // visudo first: a rule that sudo does not understand would lock everybody out.
    private void putRule(String text) throws RefusedInstall, IOException {
        requireRoots(rule.getParent(), "sudo");
        Path aside = store.resolve("tmp").resolve("rule");
        write(aside, text, "r--r-----");
        try {
            HostTool.Answer answer = HostTool.run(20, List.of(
                    HostTool.find("visudo").orElseThrow().toString(), "-c", "-q", "-f", aside.toString()));
            if (!answer.ok()) {
                throw new RefusedInstall("sudo does not understand the rule for this program: " + answer.firstLine());
            }
            write(rule, text, "r--r-----");
        } finally {
            Files.deleteIfExists(aside);
        }
    }

    /**
     * Takes it away; the rule of sudo first. The stages' folder stays when it holds any.
     *
     * @return whether stages are left
     */
    public boolean remove() throws RefusedInstall, IOException {
        if (!HostProcess.isRoot()) {
            throw new RefusedInstall("This has to be run as root");
        }
        Files.deleteIfExists(rule);
        Files.deleteIfExists(program);
        StageFolder.delete(library);
        for (String own : List.of("view", "tmp", "last-error.txt")) {
            StageFolder.delete(store.resolve(own));
        }
        return !deleteEmpty(store);
    }

    // A user's folder without stages holds a key and nothing that anybody could still use.
    private static boolean deleteEmpty(Path store) throws IOException {
        if (!Files.isDirectory(store)) {
            return true;
        }
        boolean empty = true;
        try (var users = Files.newDirectoryStream(store)) {
            for (Path user : users) {
                try (var stages = Files.newDirectoryStream(Files.createDirectories(user.resolve("stages")))) {
                    if (stages.iterator().hasNext()) {
                        empty = false;
                        continue;
                    }
                }
                StageFolder.delete(user);
            }
        }
        if (empty) {
            Files.deleteIfExists(store);
        }
        return empty;
    }

    private static void requireRoots(Path path, String what) throws RefusedInstall {
        if (!RootsOwn.whole(path)) {
            throw new RefusedInstall("Somebody else than root could change " + path + ", which " + what
                    + " comes from; let it and every folder above it be root's, and writable for root alone");
        }
    }

    private static Path folder(Path folder, String mode) throws IOException {
        Files.createDirectories(folder, PosixFilePermissions.asFileAttribute(
                PosixFilePermissions.fromString("rwxr-xr-x")));
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString(mode));
        return folder;
    }

    private static void put(Path from, Path to, String mode) throws IOException {
        Path next = to.resolveSibling(to.getFileName() + ".new");
        Files.copy(from, next, StandardCopyOption.REPLACE_EXISTING);
        finish(next, to, mode);
    }

    private static void write(Path to, String text, String mode) throws IOException {
        // sudo leaves out files of its folder that have a dot in their names.
        Path next = to.resolveSibling(to.getFileName() + ".new");
        Files.deleteIfExists(next);
        Files.writeString(next, text);
        finish(next, to, mode);
    }

    private static void finish(Path next, Path to, String mode) throws IOException {
        Files.setAttribute(next, "unix:uid", 0, LinkOption.NOFOLLOW_LINKS);
        Files.setAttribute(next, "unix:gid", 0, LinkOption.NOFOLLOW_LINKS);
        Files.setPosixFilePermissions(next, PosixFilePermissions.fromString(mode));
        Files.move(next, to, StandardCopyOption.ATOMIC_MOVE);
    }

    private String text(String resource, Path java, String who) {
        try (InputStream in = PrivilegedInstall.class.getResourceAsStream(resource)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .replace("@JAVA@", java.toString())
                    .replace("@STORE@", store.toString())
                    .replace("@LIBRARY@", library.toString())
                    .replace("@PROGRAM@", program.toString())
                    .replace("@WHO@", who);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
