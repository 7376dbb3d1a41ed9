package io.jenkins.plugins.preemptible.engine.privileged.install;

import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.RootsOwn;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedPart;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Puts the privileged part on a host, for one user or group, and takes it away again; an administrator's work.
 *
 * <ol>
 *   <li>The program is compiled here from the sources that this jar carries, by the host's C compiler. The jar, the
 *       compiler and every folder above them have to be root's alone, or nothing is installed.
 *   <li>A rule of sudo's, checked by visudo first, lets the user call this one program as root.
 *   <li>Installing again replaces the program, keeps the stages, and adds to the users whom the rule names; {@link #remove}
 *       takes the rule away first, for all of them.
 * </ol>
 *
 * @param program what sudo is to call, such as {@link PrivilegedPart#USUAL}
 * @param store folder of root's for the records of the stages of all users
 * @param rule file below sudo's folder of rules
 */
public record PrivilegedInstall(Path program, Path store, Path rule) {

    private static final Pattern PLAIN = Pattern.compile("(/[A-Za-z0-9][A-Za-z0-9._-]*)+");
    private static final Pattern WHO = Pattern.compile("%?[a-z_][a-z0-9_-]{0,31}");
    private static final List<String> TOOLS = List.of("sudo", "visudo");
    /** Beside the program, for the level that makes checkpoints. */
    static final List<String> CHECKPOINT_FILES = List.of("criu", "preload.so", "reader", "hook");
    /** What versions before the compiled program kept in the store, or beside it. */
    private static final List<String> OLD_FOLDERS = List.of("view", "tmp", "last-error.txt");

    /** For the administrator. */
    public static final class RefusedInstall extends Exception {
        private static final long serialVersionUID = 1L;

        RefusedInstall(String words) {
            super(words);
        }
    }

    /** Below /usr/local and /var/lib. */
    public static PrivilegedInstall usual() {
        return new PrivilegedInstall(
                PrivilegedPart.USUAL, Path.of("/var/lib/preemptible"), Path.of("/etc/sudoers.d/preemptible"));
    }

    public PrivilegedInstall {
        for (Path path : List.of(program, store, rule)) {
            if (!PLAIN.matcher(path.toString()).matches()) {
                throw new IllegalArgumentException("'" + path + "' is not an absolute path of plain characters");
            }
        }
    }

    /**
     * Installs it.
     *
     * @param who a user, or a group with % in front, beside those that it was installed for before
     * @param jars what this program consists of
     * @throws RefusedInstall when it would not be safe, cannot be compiled, or this is not root; what was installed before
     *     is as it was then
     */
    public void install(String who, List<Path> jars) throws RefusedInstall, IOException {
        install(who, jars, null);
    }

    /**
     * The same, with the level that makes checkpoints.
     *
     * @param who a user; each has ids of its own there, which are looked at now, so no group
     * @param criu a program that works on this host; null for the level that keeps stages in memory only
     */
    public void install(String who, List<Path> jars, Path criu) throws RefusedInstall, IOException {
        if (!HostProcess.isRoot()) {
            throw new RefusedInstall("This has to be run as root: it lets a user call one program as root");
        }
        requireKnown(who);
        for (String tool : TOOLS) {
            RootsFiles.tool(tool)
                    .orElseThrow(() -> new RefusedInstall("There is no " + tool
                            + ", through which the user would call the program; install sudo first"));
        }
        // Whoever can change them before they are used is root as soon as the program is called.
        for (Path jar : jars) {
            RootsFiles.require(jar.toRealPath(), "the program");
            requireRootsSources(jar.toRealPath());
        }
        refuseOldStages();
        refuseOtherLevel(criu != null);
        CheckpointUser user = criu == null ? null : CheckpointUser.of(who);
        if (criu != null) {
            RootsFiles.require(criu.toRealPath(), "CRIU");
        }
        InstalledFiles before = new InstalledFiles(installed());
        Path records = store.resolve(user == null ? "none" : Long.toString(user.uid()));
        boolean known = Files.exists(records);
        try {
            put(who, criu, user);
        } catch (RefusedInstall | IOException | RuntimeException e) {
            before.putBack();
            if (!Files.exists(library().resolve("criu"))) {
                StageFolder.delete(library());
            }
            if (!known) {
                deleteEmpty(records);
            }
            if (!Files.exists(program)) {
                deleteEmpty();
            }
            throw e;
        }
        if (criu == null) {
            StageFolder.delete(library());
        }
        for (String old : OLD_FOLDERS) {
            StageFolder.delete(store.resolve(old));
        }
    }

    // The rule last: taken back first, nobody calls what is not whole.
    private List<Path> installed() {
        List<Path> all = new ArrayList<>(
                CHECKPOINT_FILES.stream().map(library()::resolve).toList());
        all.addAll(List.of(program, rule));
        return all;
    }

    private void put(String who, Path criu, CheckpointUser user) throws RefusedInstall, IOException {
        RootsFiles.folder(store, "rwx--x--x", "its store");
        RootsFiles.folder(program.getParent(), "rwxr-xr-x", "it");
        RootsFiles.require(rule.getParent(), "sudo's rules");
        Path work = Files.createTempDirectory(
                store, ".build", PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        try {
            HelperBuild build = new HelperBuild(work);
            if (criu == null) {
                RootsFiles.put(build.memory(store), program, "rwxr-xr-x");
            } else {
                putCheckpoints(build, criu, user);
            }
        } finally {
            StageFolder.delete(work);
        }
        RootsFiles.require(program, "it");
        new SudoRule(program, rule).put(who, text("sudoers"), store);
        if (user != null) {
            new InstallCanary(this, user).live();
        }
    }

    private void putCheckpoints(HelperBuild build, Path criu, CheckpointUser user) throws RefusedInstall, IOException {
        Path built = build.checkpoints(store, library());
        requireWorking(built, user.uid());
        RootsFiles.folder(library(), "rwxr-xr-x", "CRIU's library");
        RootsFiles.put(criu.toRealPath(), library().resolve("criu"), "rwxr-xr-x");
        RootsFiles.put(build.preload(), library().resolve("preload.so"), "rwxr-xr-x");
        RootsFiles.put(build.reader(), library().resolve("reader"), "rwxr-xr-x");
        RootsFiles.put(
                text("helper/hook").getBytes(StandardCharsets.UTF_8), library().resolve("hook"), "rwxr-xr-x");
        RootsFiles.put(built, program, "rwxr-xr-x");
    }

    private static void requireKnown(String who) throws RefusedInstall, IOException {
        if (!WHO.matcher(who).matches() || who.equals("root")) {
            throw new RefusedInstall("'" + who + "' is no name of a user, or of a group with % in front");
        }
        boolean group = who.startsWith("%");
        String database = RootsFiles.tool("getent").map(Path::toString).orElse("/usr/bin/getent");
        HostTool.Answer found =
                RootsFiles.run(20, List.of(database, group ? "group" : "passwd", group ? who.substring(1) : who));
        if (!found.ok()) {
            throw new RefusedInstall("There is no " + (group ? "group " + who.substring(1) : "user " + who)
                    + " on this host; make it first");
        }
    }

    // A jar in a checkout was built from that as root, just before: whoever could change the one could choose the
    // other.
    private static void requireRootsSources(Path jar) throws RefusedInstall, IOException {
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
    private void refuseOldStages() throws RefusedInstall, IOException {
        if (!Files.isDirectory(store)) {
            return;
        }
        try (var users = Files.newDirectoryStream(store, "[0-9]*")) {
            for (Path user : users) {
                if (!Files.isDirectory(user.resolve("sealed"))) {
                    continue;
                }
                try (var stages = Files.newDirectoryStream(Files.createDirectories(user.resolve("stages")))) {
                    if (stages.iterator().hasNext()) {
                        throw new RefusedInstall("Stages of an earlier version are left in " + user.resolve("stages")
                                + "; let their builds end, or remove that folder, and install again");
                    }
                }
                StageFolder.delete(user);
            }
        }
    }

    /** Where CRIU and its preloaded library are, for the level that makes checkpoints. */
    public Path library() {
        return program.getParent().resolveSibling("lib").resolve("preemptible");
    }

    // The records of one level cannot be read by the program of the other.
    private void refuseOtherLevel(boolean checkpoints) throws RefusedInstall, IOException {
        if (!Files.isExecutable(program) || Files.isDirectory(library()) == checkpoints || !Files.isDirectory(store)) {
            return;
        }
        try (var users = Files.newDirectoryStream(store, "[0-9]*")) {
            for (Path user : users) {
                try (var stages = Files.newDirectoryStream(user)) {
                    if (stages.iterator().hasNext()) {
                        throw new RefusedInstall(
                                "Stages of the other level are left in " + user
                                        + "; let their builds end, then call 'preempt install-helper --remove' and install again");
                    }
                }
            }
        }
    }

    // The program as it will be installed, asked as sudo would ask it.
    private void requireWorking(Path built, long uid) throws RefusedInstall {
        HostTool.Answer answer = RootsFiles.run(
                60,
                List.of(
                        HostTool.find("env").orElseThrow().toString(),
                        "-i",
                        "SUDO_UID=" + uid,
                        built.toString(),
                        "check"));
        if (!answer.text().startsWith("ok")) {
            throw new RefusedInstall("Checkpoints cannot be made on this host: "
                    + answer.firstLine().replaceFirst("refused [A-Z_]+ ", "")
                    + "; mend that, or install without --checkpoints");
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
        StageFolder.delete(library());
        for (String old : OLD_FOLDERS) {
            StageFolder.delete(store.resolve(old));
        }
        return !deleteEmpty();
    }

    private static boolean deleteEmpty(Path folder) throws IOException {
        try {
            Files.deleteIfExists(folder);
            return true;
        } catch (DirectoryNotEmptyException e) {
            return false;
        }
    }

    private boolean deleteEmpty() throws IOException {
        if (!Files.isDirectory(store)) {
            return true;
        }
        boolean empty = true;
        try (var users = Files.newDirectoryStream(store)) {
            for (Path user : users) {
                empty &= deleteEmpty(user);
            }
        }
        if (empty) {
            Files.deleteIfExists(store);
        }
        return empty;
    }

    private String text(String resource) {
        try (InputStream in = PrivilegedInstall.class.getResourceAsStream(resource)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .replace("@PROGRAM@", program.toString())
                    .replace("@YARD@", store.resolve("yard").toString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
