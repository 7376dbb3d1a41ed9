package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;

/**
 * Finds mounts that CRIU could not make again.
 *
 * <ol>
 *   <li>The host's, whose mount point this process cannot reach: a CRIU with its rights could not mount them. The
 *       mounted file system is not asked: it may not answer.
 *   <li>The stage's own one of the kernel's binary formats: what was registered there is in no image of CRIU 4.2.1, and
 *       a new mount is empty when no process outside holds it.
 * </ol>
 */
final class MountObstacles {

    private MountObstacles() {}

    static List<Obstacle> of(List<String> mountPoints) {
        List<String> mounted =
                Proc.self("mountinfo").stream().map(RoomReader::mountPoint).toList();
        return mountPoints.stream()
                .filter(p -> !isReached(Path.of(p), mounted.contains(p)))
                .map(p -> new Obstacle(FailureReason.MOUNT_UNREACHABLE, 0, "", p))
                .toList();
    }

    /**
     * @param own the lines of the init's mountinfo
     * @param host those of this process's
     */
    static List<Obstacle> ofFormats(List<String> own, List<String> host) {
        return host.stream().anyMatch(MountObstacles::isFormats)
                ? List.of()
                : own.stream()
                        .filter(MountObstacles::isFormats)
                        .map(l -> new Obstacle(
                                FailureReason.UNSUPPORTED,
                                0,
                                "",
                                "binary formats, binfmt_misc at " + RoomReader.mountPoint(l)))
                        .toList();
    }

    private static boolean isFormats(String line) {
        return line.contains(" - binfmt_misc ");
    }

    private static boolean isReached(Path point, boolean mounted) {
        Path folder = point.getParent();
        return folder == null
                || (Files.isExecutable(folder) && (mounted || Files.exists(point, LinkOption.NOFOLLOW_LINKS)));
    }
}
