package io.jenkins.plugins.preemptible.engine.privileged.install;

import io.jenkins.plugins.preemptible.engine.host.HostProcess;
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
import java.util.regex.Pattern;

/**
 * Puts the privileged part on a host, for one user or group, and takes it away again; an administrator's work.
 *
 * <ol>
 *   <li>The program is compiled here from the sources that this jar carries, by the host's C compiler. The jar, the
 *       compiler and every folder above them have to be root's alone, or nothing is installed.
 *   <li>A rule of sudo's, checked by visudo first, lets the user call this one program as root.
 *   <li>Installing again replaces the program, keeps the stages, and adds to the users whom the rule names; {@link
 *       #remove} takes the rule away first, for all of them.
 * </ol>
 *
 * @param program what sudo is to call, such as {@link PrivilegedPart#USUAL}
 * @param store folder of root's for the records of the stages of all users
 * @param rule file below sudo's folder of rules
 */
public record PrivilegedInstall(Path program, Path store, Path rule) {

    private static final Pattern PLAIN = Pattern.compile("(/[A-Za-z0-9][A-Za-z0-9._-]*)+");
    private static final List<String> TOOLS = List.of("sudo", "visudo");
    /** Beside the program, for the level that makes checkpoints. */
    static final List<String> CHECKPOINT_FILES = List.of("criu", "preload.so", "reader", "hook");
    /** Files of versions before the compiled program, in the store or beside it. */
    private static final List<String> OLD_FOLDERS = List.of("view", "tmp", "last-error.txt");

    /** Why it was not installed, for the administrator. */
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
     * @throws RefusedInstall when it would not be safe, cannot be compiled, or this is not root; what was installed
     *     before is as it was then
     */
    public void install(String who, List<Path> jars) throws RefusedInstall, IOException {
        install(who, jars, null);
    }

    /**
     * The same, with the level that makes checkpoints.
     *
     * @param who a user; no group, since the ids of each user are checked now
     * @param criu a program that works on this host; null for the level that keeps stages in memory only
     */
    public void install(String who, List<Path> jars, Path criu) throws RefusedInstall, IOException {
        if (!HostProcess.isRoot()) {
            throw new RefusedInstall("This has to be run as root: it lets a user call one program as root");
        }
        InstallRefusals refusals = new InstallRefusals(this);
        refusals.requireKnown(who);
        for (String tool : TOOLS) {
            RootsFiles.tool(tool)
                    .orElseThrow(() -> new RefusedInstall("There is no " + tool
                            + ", through which the user would call the program; install sudo first"));
        }
        // A user who can change them before they are used is root as soon as the program is called.
        for (Path jar : jars) {
            RootsFiles.require(jar.toRealPath(), "the program");
            refusals.requireRootsSources(jar.toRealPath());
        }
        refusals.refuseOldStages();
        refusals.refuseOtherLevel(criu != null);
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

    // The rule last: it is taken back first, so that no incomplete program is called.
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
        InstallRefusals.requireWorking(built, user.uid());
        RootsFiles.folder(library(), "rwxr-xr-x", "CRIU's library");
        RootsFiles.put(criu.toRealPath(), library().resolve("criu"), "rwxr-xr-x");
        RootsFiles.put(build.preload(), library().resolve("preload.so"), "rwxr-xr-x");
        RootsFiles.put(build.reader(), library().resolve("reader"), "rwxr-xr-x");
        RootsFiles.put(
                text("helper/hook").getBytes(StandardCharsets.UTF_8), library().resolve("hook"), "rwxr-xr-x");
        RootsFiles.put(built, program, "rwxr-xr-x");
    }

    /** Where CRIU and its preloaded library are, for the level that makes checkpoints. */
    public Path library() {
        return program.getParent().resolveSibling("lib").resolve("preemptible");
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
