package io.jenkins.plugins.preemptible.engine.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Whether only root can change what a path leads to.
 *
 * <ol>
 *   <li>Every folder on the way, from {@code /} on, has to be root's and not writable for its group or for others; a
 *       sticky bit does not help, since the owner of an entry may still replace it.
 *   <li>A link is not followed: callers give real paths.
 *   <li>What cannot be read counts as not root's.
 * </ol>
 */
public final class RootsOwn {

    private static final int WRITABLE_FOR_OTHERS = 022;

    private RootsOwn() {}

    /** Whether all folders above this path are root's own. The path itself may be anything, and need not exist. */
    public static boolean above(Path path) {
        Path absolute = path.toAbsolutePath();
        for (Path at = absolute.getParent(); at != null; at = at.getParent()) {
            if (!Files.isDirectory(at, LinkOption.NOFOLLOW_LINKS) || !own(at)) {
                return false;
            }
        }
        return absolute.equals(absolute.normalize());
    }

    /** Whether the file or folder and all folders above it are root's own. */
    public static boolean whole(Path path) {
        return own(path) && above(path);
    }

    /** The first file in a folder, at any depth, that another user could change; links are followed. */
    public static Optional<Path> changeableIn(Path folder) throws IOException {
        try (Stream<Path> all = Files.walk(folder)) {
            for (Path file : (Iterable<Path>) all::iterator) {
                if (Files.exists(file) && !whole(file.toRealPath())) {
                    return Optional.of(file);
                }
            }
            return Optional.empty();
        }
    }

    private static boolean own(Path path) {
        try {
            Map<String, Object> seen = Files.readAttributes(path, "unix:uid,mode", LinkOption.NOFOLLOW_LINKS);
            boolean link = Files.isSymbolicLink(path);
            return !link
                    && ((Integer) seen.get("uid")) == 0
                    && (((Integer) seen.get("mode")) & WRITABLE_FOR_OTHERS) == 0;
        } catch (IOException | RuntimeException e) {
            return false;
        }
    }
}
