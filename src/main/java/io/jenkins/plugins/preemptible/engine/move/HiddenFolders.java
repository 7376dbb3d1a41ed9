package io.jenkins.plugins.preemptible.engine.move;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.image.preserved.OpenFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.regex.Pattern;

/**
 * The hidden folders of {@link FreshFolders} beside their places: their names, and how they are taken away from an attempt that was
 * cut off, and deleted.
 *
 * <p>Without state. Of folders that have such a name only those are touched that this process's user alone may enter; no link is
 * followed.
 */
final class HiddenFolders {

    private static final String PREFIX = ".preemptible-aside-";
    static final String NEW = "new";
    static final String OLD = "old";

    /** Any attempt, where one is asked for. */
    static final String ANY = "[0-9a-f]{16}";

    private static final Logger LOG = Logger.getLogger(HiddenFolders.class.getName());
    /** What is being deleted: nobody takes it into a place half deleted. */
    private static final String GONE = "gone-";

    private static final SecureRandom RANDOM = new SecureRandom();

    private HiddenFolders() {}

    static String name(StageId id, String attempt, Path place) {
        return PREFIX + id + "-" + attempt + "-" + place.getFileName();
    }

    static String randomName() {
        return String.format("%016x", RANDOM.nextLong());
    }

    interface OnPlace {
        void run(Path place) throws IOException;
    }

    /** @return false when it could not be done for one of them */
    static boolean ofAll(List<Path> places, OnPlace what) {
        boolean all = true;
        for (Path place : places) {
            try {
                what.run(place);
            } catch (IOException | RuntimeException e) {
                LOG.log(Level.WARNING, e, () -> "cannot delete what is hidden beside " + place + " yet");
                all = false;
            }
        }
        return all;
    }

    private interface OnHidden {
        void run(OpenFolder parent, String hidden, OpenFolder opened) throws IOException;
    }

    /** @param attempt whose, as a regular expression: those of another may be in use */
    private static void ofHidden(StageId id, String attempt, Path place, OnHidden what) throws IOException {
        Pattern ours =
                Pattern.compile(Pattern.quote(PREFIX + id + "-") + attempt + Pattern.quote("-" + place.getFileName()));
        try (OpenFolder parent = OpenFolder.of(place.getParent())) {
            for (String name : names(parent)) {
                if (!ours.matcher(name).matches() || !Files.isDirectory(parent.at(name), LinkOption.NOFOLLOW_LINKS)) {
                    continue;
                }
                try (OpenFolder opened = parent.child(name)) {
                    if (opened.isPrivate()) {
                        what.run(parent, name, opened);
                    }
                } catch (NoSuchFileException e) {
                    LOG.log(Level.FINE, e, () -> "another thread has deleted what is hidden beside " + place);
                }
            }
        } catch (NoSuchFileException e) {
            LOG.log(Level.FINE, e, () -> "nothing is beside " + place + " any more");
        }
    }

    private static List<String> names(OpenFolder folder) throws IOException {
        List<String> names = new ArrayList<>();
        try (DirectoryStream<Path> content = Files.newDirectoryStream(folder.itself())) {
            content.forEach(path -> names.add(path.getFileName().toString()));
            return names;
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }

    /** Gives everything another name, so that no attempt takes into its place what is being deleted. */
    static void clear(StageId id, String attempt, Path place) throws IOException {
        ofHidden(id, attempt, place, (parent, hidden, opened) -> {
            // Only between the two steps of a file system that cannot exchange are both there.
            if (exists(opened.at(NEW)) && Files.isDirectory(opened.at(OLD), LinkOption.NOFOLLOW_LINKS)) {
                giveBack(opened, parent.at(place.getFileName().toString()));
            }
            for (String name : List.of(NEW, OLD)) {
                if (exists(opened.at(name))) {
                    Files.move(opened.at(name), opened.at(GONE + randomName()), StandardCopyOption.ATOMIC_MOVE);
                }
            }
        });
    }

    /**
     * Leaves no attempt the folder that it has hidden: from a folder that was deleted the kernel moves nothing to a place, and
     * from a place nothing into it. What was in there is in another hidden folder then.
     */
    static void takeAway(StageId id, Path place) throws IOException {
        clear(id, ANY, place);
        ofHidden(id, ANY, place, (parent, hidden, opened) -> {
            List<String> cleared = names(opened);
            if (!cleared.isEmpty()) {
                try (OpenFolder own = parent.makePrivate(name(id, randomName(), place))) {
                    for (String name : cleared) {
                        Files.move(opened.at(name), own.at(name), StandardCopyOption.ATOMIC_MOVE);
                    }
                }
            }
            Files.deleteIfExists(parent.at(hidden));
        });
    }

    /** Deletes what was cleared. */
    static void delete(StageId id, String attempt, Path place) throws IOException {
        ofHidden(id, attempt, place, (parent, hidden, opened) -> {
            for (String name : names(opened)) {
                if (name.startsWith(GONE)) {
                    StageFolder.delete(opened.at(name));
                }
            }
            Files.deleteIfExists(parent.at(hidden));
        });
    }

    private static void giveBack(OpenFolder folder, Path place) throws IOException {
        try {
            Files.move(folder.at(OLD), place, StandardCopyOption.ATOMIC_MOVE);
        } catch (FileSystemException e) {
            if (!exists(place)) {
                throw e;
            }
            // Of a later build.
        }
    }

    static boolean exists(Path path) {
        return Files.exists(path, LinkOption.NOFOLLOW_LINKS);
    }
}
