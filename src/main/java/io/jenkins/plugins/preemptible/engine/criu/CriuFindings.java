package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import io.jenkins.plugins.preemptible.engine.text.Script;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;

/**
 * Where CRIU keeps what it has found out about the kernel, {@code /run/criu.kdat}.
 *
 * <ol>
 *   <li>CRIU keeps it on a tmpfs only: it must not outlive the boot. Where /run is none, as in most containers, each start of
 *       CRIU finds it out again, which takes 60 ms.
 *   <li>There a folder on /dev/shm, of root's own, is bound over /run for CRIU alone.
 *   <li>Not where something is mounted at or below /run, which CRIU would not see then.
 * </ol>
 *
 * Safe for any thread. Source: CRIU 4.2.1, {@code criu/kerndat.c}, {@code kerndat_save_cache}.
 */
public final class CriuFindings {

    private static final Logger LOG = Logger.getLogger(CriuFindings.class.getName());
    private static final Path RUN = Path.of("/run");
    private static final Path MEMORY = Path.of("/dev/shm");
    private static final String TMPFS = "tmpfs";
    private static final Set<PosixFilePermission> OWNER_ONLY = PosixFilePermissions.fromString("rwx------");

    /** A CRIU that was killed leaves it, and no other one keeps anything as long as it is there. */
    private static final String UNFINISHED = "criu.kdat.tmp";

    private static final Duration FINISHED = Duration.ofMinutes(1);

    private CriuFindings() {}

    /**
     * The folder that is to be bound over /run.
     *
     * @param home that CRIU has to see
     * @param mounts likewise; some may be gone, and stood in for
     * @return empty where none is needed, or none can be had
     */
    public static Optional<Path> folder(Path home, Collection<String> mounts) {
        try {
            boolean needed = HostProcess.isRoot()
                    && Files.isDirectory(RUN)
                    && !isTmpfs(RUN)
                    && isTmpfs(MEMORY)
                    && !home.toAbsolutePath().startsWith(RUN)
                    && Stream.concat(
                                    mounts.stream(),
                                    Proc.self("mountinfo").stream().map(Mounts::pointOf))
                            .noneMatch(point -> point.equals(RUN.toString()) || point.startsWith(RUN + "/"));
            return needed ? own(MEMORY.resolve("preemptible_criu")) : Optional.empty();
        } catch (IOException e) {
            LOG.log(Level.FINE, "CRIU finds out about the kernel at each start", e);
            return Optional.empty();
        }
    }

    private static boolean isTmpfs(Path folder) throws IOException {
        return Files.isDirectory(folder) && Files.getFileStore(folder).type().equals(TMPFS);
    }

    /** All users may write to the folder around it: one of another user's, or a link, is not taken. */
    static Optional<Path> own(Path folder) throws IOException {
        try {
            Files.createDirectory(folder, PosixFilePermissions.asFileAttribute(OWNER_ONLY));
        } catch (FileAlreadyExistsException e) {
            boolean own = Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)
                    && Files.getAttribute(folder, "unix:uid", LinkOption.NOFOLLOW_LINKS)
                            .equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"))
                    && Files.getPosixFilePermissions(folder, LinkOption.NOFOLLOW_LINKS)
                            .equals(OWNER_ONLY);
            if (!own) {
                return Optional.empty();
            }
        }
        Path unfinished = folder.resolve(UNFINISHED);
        FileTime old = FileTime.from(Instant.now().minus(FINISHED));
        if (Files.exists(unfinished) && Files.getLastModifiedTime(unfinished).compareTo(old) < 0) {
            Files.deleteIfExists(unfinished);
        }
        return Optional.of(folder);
    }

    /** What stands in front of a CRIU that runs in the host's mounts and opens none; nothing where no folder is needed. */
    static List<String> prefix(Path home) {
        Optional<Path> unshare = HostTool.find("unshare");
        Optional<Path> folder = unshare.isEmpty() ? Optional.empty() : folder(home, List.of());
        return folder.isEmpty()
                ? List.of()
                : List.of(
                        unshare.get().toString(),
                        "--mount",
                        "--propagation",
                        "private",
                        "--",
                        "/bin/sh",
                        "-c",
                        Script.text(CriuFindings.class, "findings.sh"),
                        "preemptible-findings",
                        folder.get().toString());
    }
}
