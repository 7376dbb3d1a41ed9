package io.jenkins.plugins.preemptible.agent;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * A folder on the agent that nobody but the agent's user may look into.
 *
 * <ol>
 *   <li>{@link #make} creates it with mode 0700, or sets that mode.
 *   <li>It holds one sealed image on its way to or from the controller.
 *   <li>{@link #remove} takes it and what is in it away; links in it are removed, not followed.
 * </ol>
 */
final class PrivateFolder {

    private PrivateFolder() {}

    static Path make(Path folder) throws IOException {
        Files.createDirectories(folder);
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx------"));
        return folder;
    }

    static void remove(Path folder) throws IOException {
        if (!Files.isDirectory(folder, java.nio.file.LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        List<Path> entries;
        try (Stream<Path> walk = Files.walk(folder)) {
            entries = walk.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path entry : entries) {
            Files.deleteIfExists(entry);
        }
    }
}
