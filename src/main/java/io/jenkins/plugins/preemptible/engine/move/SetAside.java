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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What was in the place of folders that are made anew.
 *
 * <ol>
 *   <li>Each folder is renamed, beside itself, to a name that only this stage uses, and an empty one takes its place: a step of
 *       the stage that looks for its workspace at that moment would end at once without one.
 *   <li>{@link #drop} says that the new ones stay; otherwise {@link #close} removes them and the old ones come back.
 *   <li>One that an attempt before left there, since its process was killed, is the old one still: what is in its place
 *       is half made and goes.
 * </ol>
 *
 * For one thread.
 */
final class SetAside implements AutoCloseable {

    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
    private static final String PREFIX = ".preemptible-aside-";

    private final Map<Path, Path> asides = new LinkedHashMap<>();
    private boolean dropped;

    private SetAside() {}

    /** @throws IOException when one cannot be renamed; all are as they were then */
    static SetAside of(StageId id, List<Path> folders) throws IOException {
        SetAside all = new SetAside();
        try {
            for (Path folder : folders) {
                Path aside = folder.resolveSibling(PREFIX + id + "-" + folder.getFileName());
                if (Files.exists(aside, LinkOption.NOFOLLOW_LINKS)) {
                    StageFolder.delete(folder);
                } else if (Files.exists(folder, LinkOption.NOFOLLOW_LINKS)) {
                    boolean isFolder = Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS);
                    Files.move(folder, aside, StandardCopyOption.ATOMIC_MOVE);
                    if (isFolder) {
                        Files.createDirectory(folder, OWNER_ONLY);
                    }
                }
                all.asides.put(folder, aside);
            }
            return all;
        } catch (IOException | RuntimeException e) {
            all.close();
            throw e;
        }
    }

    /** Has what was set aside deleted in the background: the stage must not wait for that. */
    void drop() {
        dropped = true;
        asides.values().forEach(aside -> OldImages.discard(aside, PREFIX));
    }

    @Override
    public void close() throws IOException {
        if (dropped) {
            return;
        }
        for (Path folder : new ArrayList<>(asides.keySet())) {
            StageFolder.delete(folder);
            if (Files.exists(asides.get(folder), LinkOption.NOFOLLOW_LINKS)) {
                Files.move(asides.get(folder), folder, StandardCopyOption.ATOMIC_MOVE);
            }
        }
    }
}
