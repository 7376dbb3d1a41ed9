package io.jenkins.plugins.preemptible.engine.resume;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/**
 * Empty folders in place of mount points that the host does not have any more, during a restore.
 *
 * <ol>
 *   <li>A stage's mount namespace has every mount that the host had when the stage began. Of those that are gone since
 *       (a user's session folder, a medium, a container's), the folder is often gone as well, and CRIU, which binds
 *       each one again, would refuse the whole restore.
 *   <li>A mount whose folder is there but empty needs nothing: the folder itself is bound.
 *   <li>{@link #close} removes what was made. The kernel then takes the mount out of the stage too, so that both see
 *       the same: nothing (mount_namespaces(7), "a file or directory that is a mount point in another namespace").
 * </ol>
 *
 * A file of the stage that lay on such a mount is missing, which CRIU tells by its name.
 */
public final class MountStandIns implements AutoCloseable {

    private final Deque<Path> made = new ArrayDeque<>();

    private MountStandIns() {}

    /** Makes a folder for every mount point that does not exist. */
    public static MountStandIns make(List<String> mountPoints) throws IOException {
        MountStandIns standIns = new MountStandIns();
        try {
            for (String mountPoint : mountPoints) {
                standIns.make(Path.of(mountPoint));
            }
            return standIns;
        } catch (IOException | RuntimeException e) {
            standIns.close();
            throw e;
        }
    }

    private void make(Path folder) throws IOException {
        if (folder == null || Files.exists(folder, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        make(folder.getParent());
        Files.createDirectory(folder);
        made.push(folder);
    }

    /** The deepest folders first; a folder that is in use by now stays. */
    @Override
    public void close() {
        while (!made.isEmpty()) {
            try {
                Files.deleteIfExists(made.pop());
            } catch (IOException e) {
                // Not empty: others use it now.
            }
        }
    }
}
