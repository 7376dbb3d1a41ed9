package io.jenkins.plugins.preemptible.engine.privileged.install;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The files that an installation replaces, kept in memory: some megabytes. */
final class InstalledFiles {

    private record Kept(byte[] content, String mode) {}

    private final List<Path> paths;
    private final Map<Path, Kept> kept = new HashMap<>();

    /** Reads these files; those that are not there are removed by {@link #putBack}. */
    InstalledFiles(List<Path> paths) throws IOException {
        this.paths = List.copyOf(paths);
        for (Path path : paths) {
            if (Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)) {
                kept.put(
                        path,
                        new Kept(
                                Files.readAllBytes(path),
                                PosixFilePermissions.toString(Files.getPosixFilePermissions(path))));
            }
        }
    }

    /** In the reverse order of the list, so that what comes last is gone first. */
    void putBack() throws IOException {
        for (int at = paths.size() - 1; at >= 0; at--) {
            Path path = paths.get(at);
            Kept before = kept.get(path);
            if (before != null) {
                RootsFiles.put(before.content(), path, before.mode());
            } else {
                Files.deleteIfExists(path);
            }
        }
    }
}
