package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.RootsOwn;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
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
    private static final List<String> COMPILERS = List.of("cc", "gcc", "clang");
    private static final List<String> SOURCES =
            List.of("helper.h", "main.c", "caller.c", "request.c", "record.c", "group.c", "process.c");
    private static final List<String> MEMORY_SOURCES = List.of("stage.c");
    private static final List<String> CHECKPOINT_SOURCES =
            List.of("broker.h", "userns.c", "mounts.c", "checkpoint.c", "broker.c");
    private static final List<String> FLAGS = List.of(
            "-std=gnu17", "-O2", "-Wall", "-Wextra", "-fPIE", "-pie", "-fstack-protector-strong",
            "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro,-z,now");
    /** For the programs that root runs here: a compiler looks for its parts on PATH and along many other variables. */
    private static final Map<String, String> CLEAN = Map.of("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL", "C");
    /** What versions before the compiled program kept in the store, or beside it. */
    private static final List<String> OLD_FOLDERS = List.of("view", "tmp", "last-error.txt");

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
                Path.of("/var/lib/preemptible"),
                Path.of("/etc/sudoers.d/preemptible"));
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
            rootsTool(tool).orElseThrow(() -> new RefusedInstall(
                    "There is no " + tool + ", through which the user would call the program; install sudo first"));
        }
        // Whoever can change them before they are used is root as soon as the program is called.
        for (Path jar : jars) {
            requireRoots(jar.toRealPath(), "the program");
            requireRootsSources(jar.toRealPath());
        }
        refuseOldStages();
        refuseOtherLevel(criu != null);
        long uid = criu == null ? 0 : requireUser(who);
        if (criu != null) {
            requireRoots(criu.toRealPath(), "CRIU");
            requireUserNamespaces();
        }
        folder(store, "rwx--x--x", "its store");
        folder(program.getParent(), "rwxr-xr-x", "it");
        requireRoots(rule.getParent(), "sudo's rules");
        compile(criu, uid);
        requireRoots(program, "it");
        if (criu == null) {
            StageFolder.delete(library());
        }
        putRule(rule(who));
        for (String old : OLD_FOLDERS) {
            StageFolder.delete(store.resolve(old));
        }
    }

    // Root runs it: the file, and the folder in which it was found, have to be root's. What lies on the way between them
    // (cc, /etc/alternatives/cc, gcc-12) is named by root's own links then.
    private static Optional<Path> rootsTool(String name) throws RefusedInstall, IOException {
        Optional<Path> found = HostTool.find(name);
        if (found.isEmpty()) {
            return found;
        }
        Path folder = found.get().getParent().toRealPath();
        requireRoots(folder, name);
        requireRoots(found.get().toRealPath(), name);
        return Optional.of(folder.resolve(name));
    }

    private static void requireKnown(String who) throws RefusedInstall, IOException {
        if (!WHO.matcher(who).matches() || who.equals("root")) {
            throw new RefusedInstall("'" + who + "' is no name of a user, or of a group with % in front");
        }
        boolean group = who.startsWith("%");
        String database = rootsTool("getent").map(Path::toString).orElse("/usr/bin/getent");
        HostTool.Answer found =
                HostTool.run(20, CLEAN, List.of(database, group ? "group" : "passwd", group ? who.substring(1) : who));
        if (!found.ok()) {
            throw new RefusedInstall("There is no " + (group ? "group " + who.substring(1) : "user " + who)
                    + " on this host; make it first");
        }
    }

    // A jar in a checkout was built from that as root, just before: whoever could change the one could choose the other.
    private static void requireRootsSources(Path jar) throws RefusedInstall, IOException {
        for (Path at = jar.getParent(); at != null; at = at.getParent()) {
            Path sources = at.resolve("src/main");
            if (!Files.isDirectory(sources) || !Files.exists(at.resolve("preempt"))) {
                continue;
            }
            requireRoots(at.resolve("preempt"), "the program");
            for (Path part : List.of(sources, at.resolve(".ci"))) {
                Optional<Path> changeable = RootsOwn.changeableIn(part);
                if (changeable.isPresent()) {
                    requireRoots(changeable.get(), "the program");
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
                        throw new RefusedInstall("Stages of the other level are left in " + user
                                + "; let their builds end, or kill and forget them, and install again");
                    }
                }
            }
        }
    }

    private static long requireUser(String who) throws RefusedInstall {
        if (who.startsWith("%")) {
            throw new RefusedInstall("Checkpoints are installed for a user, not for a group: the ids of each are looked at");
        }
        HostTool.Answer id = HostTool.run(20, CLEAN, List.of(HostTool.find("id").orElseThrow().toString(), "-u", who));
        if (!id.ok()) {
            throw new RefusedInstall("The id of " + who + " cannot be told");
        }
        return Long.parseLong(id.text().trim());
    }

    private static void requireUserNamespaces() throws RefusedInstall, IOException {
        Path most = Path.of("/proc/sys/user/max_user_namespaces");
        if (!Files.exists(Path.of("/proc/self/ns/user"))
                || (Files.exists(most) && Files.readString(most).trim().equals("0"))) {
            throw new RefusedInstall("This host allows no user namespaces, in which checkpoints are made; allow them"
                    + " (sysctl user.max_user_namespaces=10000), or install without --checkpoints");
        }
    }

    // The program as it will be installed, asked as sudo would ask it.
    private void requireWorking(Path built, long uid) throws RefusedInstall {
        HostTool.Answer answer = HostTool.run(60, CLEAN, List.of(
                HostTool.find("env").orElseThrow().toString(), "-i", "SUDO_UID=" + uid, built.toString(), "check"));
        if (!answer.text().startsWith("ok")) {
            throw new RefusedInstall("Checkpoints cannot be made on this host: "
                    + answer.firstLine().replaceFirst("refused [A-Z_]+ ", "")
                    + "; mend that, or install without --checkpoints");
        }
    }

    private void compile(Path criu, long uid) throws RefusedInstall, IOException {
        Path compiler = null;
        for (String name : COMPILERS) {
            compiler = compiler == null ? rootsTool(name).orElse(null) : compiler;
        }
        if (compiler == null) {
            throw new RefusedInstall("There is no C compiler, and the program is compiled where it is used; install one"
                    + " (apt-get install gcc libc6-dev) and call this again");
        }
        Path work = Files.createTempDirectory(
                store, ".build", PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        try {
            List<String> command = new ArrayList<>(List.of(compiler.toString()));
            command.addAll(FLAGS);
            command.add("-DSTORE=\"" + store + "\"");
            command.addAll(List.of("-o", work.resolve("program").toString()));
            List<String> sources = new ArrayList<>(SOURCES);
            sources.addAll(criu == null ? MEMORY_SOURCES : CHECKPOINT_SOURCES);
            if (criu != null) {
                command.addAll(List.of(
                        "-DCHECKPOINTS",
                        "-DCRIU=\"" + library().resolve("criu") + "\"",
                        "-DPRELOAD=\"" + library().resolve("preload.so") + "\"",
                        "-DHOOK=\"" + library().resolve("hook") + "\"",
                        "-DREADER=\"" + library().resolve("reader") + "\""));
            }
            for (String source : sources) {
                Path file = work.resolve(source);
                try (InputStream in = PrivilegedInstall.class.getResourceAsStream("helper/" + source)) {
                    Files.copy(in, file);
                }
                if (source.endsWith(".c")) {
                    command.add(file.toString());
                }
            }
            requireCompiled(HostTool.run(120, CLEAN, command));
            if (criu != null) {
                requireWorking(work.resolve("program"), uid);
                Path preload = work.resolve("preload.c");
                try (InputStream in = PrivilegedInstall.class.getResourceAsStream("helper/preload.c")) {
                    Files.copy(in, preload);
                }
                requireCompiled(HostTool.run(120, CLEAN, List.of(
                        compiler.toString(), "-std=gnu17", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC",
                        "-o", work.resolve("preload.so").toString(), preload.toString())));
                Path reader = work.resolve("reader.c");
                try (InputStream in = PrivilegedInstall.class.getResourceAsStream("helper/reader.c")) {
                    Files.copy(in, reader);
                }
                requireCompiled(HostTool.run(120, CLEAN, List.of(
                        compiler.toString(), "-std=gnu17", "-O2", "-Wall", "-Wextra",
                        "-o", work.resolve("reader").toString(), reader.toString())));
                folder(library(), "rwxr-xr-x", "CRIU's library");
                put(work.resolve("reader"), library().resolve("reader"), "rwxr-xr-x");
                put(criu.toRealPath(), library().resolve("criu"), "rwxr-xr-x");
                put(work.resolve("preload.so"), library().resolve("preload.so"), "rwxr-xr-x");
                write(library().resolve("hook"), text("helper/hook"), "rwxr-xr-x");
            }
            put(work.resolve("program"), program, "rwxr-xr-x");
        } finally {
            StageFolder.delete(work);
        }
    }

    private static void requireCompiled(HostTool.Answer answer) throws RefusedInstall {
        if (!answer.ok()) {
            throw new RefusedInstall("The program cannot be compiled here (" + answer.firstLine()
                    + "); install the C library's headers (apt-get install libc6-dev) and call this again");
        }
    }

    /** For this user or group, and for those that the program was installed for before. */
    private String rule(String who) throws IOException {
        Set<String> all = new LinkedHashSet<>();
        if (Files.exists(rule)) {
            Pattern one = Pattern.compile("(\\S+) ALL=\\(root\\) NOPASSWD: " + Pattern.quote(program.toString()));
            for (String line : Files.readAllLines(rule)) {
                Matcher known = one.matcher(line);
                if (known.matches()) {
                    all.add(known.group(1));
                }
            }
        }
        all.add(who);
        StringBuilder text = new StringBuilder(text("sudoers"));
        all.forEach(each -> text.append(each + " ALL=(root) NOPASSWD: " + program + "\n"));
        return text.toString();
    }

    // visudo first: a rule that sudo does not understand would lock everybody out.
    private void putRule(String text) throws RefusedInstall, IOException {
        Path aside = store.resolve(".rule");
        write(aside, text, "r--r-----");
        try {
            HostTool.Answer answer = HostTool.run(20, CLEAN, List.of(
                    rootsTool("visudo").orElseThrow().toString(), "-c", "-q", "-f", aside.toString()));
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
        StageFolder.delete(library());
        for (String old : OLD_FOLDERS) {
            StageFolder.delete(store.resolve(old));
        }
        return !deleteEmpty();
    }

    private boolean deleteEmpty() throws IOException {
        if (!Files.isDirectory(store)) {
            return true;
        }
        boolean empty = true;
        try (var users = Files.newDirectoryStream(store)) {
            for (Path user : users) {
                try {
                    Files.delete(user);
                } catch (DirectoryNotEmptyException e) {
                    empty = false;
                }
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

    private static void folder(Path folder, String mode, String what) throws RefusedInstall, IOException {
        // Before its mode is changed: it may be a link to another folder of root's.
        Path there = folder;
        while (!Files.exists(there, LinkOption.NOFOLLOW_LINKS)) {
            there = there.getParent();
        }
        requireRoots(there, what);
        Files.createDirectories(folder, PosixFilePermissions.asFileAttribute(
                PosixFilePermissions.fromString("rwxr-xr-x")));
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString(mode));
        requireRoots(folder, what);
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
