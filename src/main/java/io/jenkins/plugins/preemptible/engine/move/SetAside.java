package io.jenkins.plugins.preemptible.engine.move;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.home.OldImages;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;

/**
 * What was in the place of folders that are made anew.
 *
 * <ol>
 *   <li>Each folder is renamed, beside itself, to a name that only this stage uses, and an empty one takes its place: a step of
 *       the stage that looks for its workspace at that moment would end at once without one.
 *   <li>Where there was no folder, an empty file of another such name says so.
 *   <li>{@link #drop} says that the new ones stay; otherwise {@link #close} removes them and the old ones come back.
 *   <li>What an attempt before left there, since its process was killed, tells of the old one still: what is in its place
 *       is half made and goes, with the next attempt or with {@link #putBack}.
 * </ol>
 *
 * For one thread.
 */
final class SetAside implements AutoCloseable {

    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
    private static final String PREFIX = ".preemptible-aside-";
    private static final String NOTHING = ".preemptible-nothing-";

    private final StageId id;
    private final List<Path> folders = new ArrayList<>();
    private boolean dropped;

    private SetAside(StageId id) {
        this.id = id;
    }

    private static Path aside(StageId id, Path folder) {
        return folder.resolveSibling(PREFIX + id + "-" + folder.getFileName());
    }

    private static Path nothing(StageId id, Path folder) {
        return folder.resolveSibling(NOTHING + id + "-" + folder.getFileName());
    }

    private static boolean exists(Path path) {
        return Files.exists(path, LinkOption.NOFOLLOW_LINKS);
    }

    /** @throws IOException when one cannot be renamed; all are as they were then */
    static SetAside of(StageId id, List<Path> folders) throws IOException {
        SetAside all = new SetAside(id);
        try {
            for (Path folder : folders) {
                all.folders.add(folder);
                if (exists(aside(id, folder)) || exists(nothing(id, folder))) {
                    StageFolder.delete(folder);
                } else if (exists(folder)) {
                    boolean isFolder = Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS);
                    Files.move(folder, aside(id, folder), StandardCopyOption.ATOMIC_MOVE);
                    if (isFolder) {
                        Files.createDirectory(folder, OWNER_ONLY);
                    }
                } else {
                    Files.createDirectories(folder.getParent());
                    Files.createFile(nothing(id, folder));
                }
            }
            return all;
        } catch (IOException | RuntimeException e) {
            all.close();
            throw e;
        }
    }

    /** Has what was set aside deleted in the background: the stage must not wait for that. */
    void drop() throws IOException {
        dropped = true;
        for (Path folder : folders) {
            OldImages.discard(aside(id, folder), PREFIX);
            Files.deleteIfExists(nothing(id, folder));
        }
    }

    /**
     * Has everything be as it was before an attempt whose process was killed. Without effect on folders of which no attempt
     * was cut off: those stay, whatever is in them.
     */
    static void putBack(StageId id, List<Path> folders) throws IOException {
        for (Path folder : folders) {
            putBack(id, folder);
        }
        // What was dropped, and not deleted by then.
        folders.stream().map(Path::getParent).distinct().forEach(parent -> OldImages.deleteLeft(parent, PREFIX));
    }

    private static void putBack(StageId id, Path folder) throws IOException {
        if (exists(aside(id, folder))) {
            StageFolder.delete(folder);
            Files.move(aside(id, folder), folder, StandardCopyOption.ATOMIC_MOVE);
        } else if (exists(nothing(id, folder))) {
            StageFolder.delete(folder);
            Files.delete(nothing(id, folder));
        }
    }

    @Override
    public void close() throws IOException {
        if (dropped) {
            return;
        }
        for (Path folder : folders) {
            putBack(id, folder);
        }
    }
}
