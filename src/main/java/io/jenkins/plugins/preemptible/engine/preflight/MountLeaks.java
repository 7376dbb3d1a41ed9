package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;

/**
 * Finds the host's mounts in a stage whose mount point this process cannot reach: a CRIU with the rights of this user could
 * not mount them again.
 *
 * <p>What is mounted there is not asked: it may not answer.
 */
final class MountLeaks {

    private MountLeaks() {}

    static List<Leak> of(List<String> mountPoints) {
        List<String> mounted = Proc.self("mountinfo").stream().map(RoomReader::mountPoint).toList();
        return mountPoints.stream()
                .filter(p -> !isReached(Path.of(p), mounted.contains(p)))
                .map(p -> new Leak(FailureReason.MOUNT_UNREACHABLE, 0, "", p))
                .toList();
    }

    private static boolean isReached(Path point, boolean mounted) {
        Path folder = point.getParent();
        return folder == null
                || (Files.isExecutable(folder) && (mounted || Files.exists(point, LinkOption.NOFOLLOW_LINKS)));
    }
}
