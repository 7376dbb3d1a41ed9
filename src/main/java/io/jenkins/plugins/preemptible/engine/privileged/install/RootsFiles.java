package io.jenkins.plugins.preemptible.engine.privileged.install;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.RootsOwn;
import io.jenkins.plugins.preemptible.engine.privileged.install.PrivilegedInstall.RefusedInstall;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Files, folders and programs that only root can change, for an installation. */
public final class RootsFiles {

    /** For the programs that root runs here: a compiler searches its parts on PATH and along many other variables. */
    private static final Map<String, String> CLEAN = Map.of("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL", "C");

    private RootsFiles() {}

    static void require(Path path, String what) throws RefusedInstall {
        if (!RootsOwn.whole(path)) {
            throw new RefusedInstall(
                    "Another user than root could change " + path + ", which " + what
                            + " comes from; let it and every folder above it be root's, and writable for root alone (chown root:root, chmod go-w)");
        }
    }

    /**
     * A program that root runs: the file, and the folder in which it was found, have to be root's. What lies on the way
     * between them (cc, /etc/alternatives/cc, gcc-12) is named by root's own links then.
     */
    static Optional<Path> tool(String name) throws RefusedInstall, IOException {
        Optional<Path> found = HostTool.find(name);
        if (found.isEmpty()) {
            return found;
        }
        Path folder = found.get().getParent().toRealPath();
        require(folder, name);
        require(found.get().toRealPath(), name);
        return Optional.of(folder.resolve(name));
    }

    static HostTool.Answer run(long seconds, List<String> command) {
        return HostTool.run(seconds, CLEAN, command);
    }

    static void folder(Path folder, String mode, String what) throws RefusedInstall, IOException {
        // Before its mode is changed: it may be a link to another folder of root's.
        Path there = folder;
        while (!Files.exists(there, LinkOption.NOFOLLOW_LINKS)) {
            there = there.getParent();
        }
        require(there, what);
        Files.createDirectories(
                folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-xr-x")));
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString(mode));
        require(folder, what);
    }

    /** Copies a file; a process that has the old one open keeps the old one. */
    public static void put(Path from, Path to, String mode) throws IOException {
        put(Files.readAllBytes(from), to, mode);
    }

    public static void put(byte[] content, Path to, String mode) throws IOException {
        // sudo leaves out files of its folder that have a dot in their names.
        Path next = to.resolveSibling(to.getFileName() + ".new");
        Files.deleteIfExists(next);
        Files.write(next, content);
        Files.setAttribute(next, "unix:uid", 0, LinkOption.NOFOLLOW_LINKS);
        Files.setAttribute(next, "unix:gid", 0, LinkOption.NOFOLLOW_LINKS);
        Files.setPosixFilePermissions(next, PosixFilePermissions.fromString(mode));
        Files.move(next, to, StandardCopyOption.ATOMIC_MOVE);
    }
}
