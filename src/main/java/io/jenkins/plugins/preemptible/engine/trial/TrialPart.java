package io.jenkins.plugins.preemptible.engine.trial;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;

/**
 * One more file of an image: what a trial needs in place of the files with the content of memory and files.
 *
 * <ol>
 *   <li>It is a tar of the {@link StrippedImage}, and of the small files with content as they are.
 *   <li>With the files that lie in front of an archive it makes an image that can be tried on another host, before the
 *       rest is brought there.
 *   <li>CRIU does not know the file and leaves it alone.
 * </ol>
 *
 * Some 10 KB for each process, most of which compress.
 */
public final class TrialPart {

    /** Its name in the image. */
    static final String NAME = "trial.tar";

    /** More than a tree of a thousand processes has; larger ones are tried on their own host only. */
    private static final long MOST_BYTES = 32L << 20;

    private TrialPart() {}

    /**
     * Adds it to an image, unless some content can neither be stripped nor is small.
     *
     * @param images of this process's own CRIU
     * @param scratch a folder that does not exist yet; gone again afterwards
     * @throws IOException when it could not be made; it is not there then
     */
    public static void add(Path images, Path scratch) throws IOException {
        Path part = images.resolve(NAME);
        boolean whole = false;
        try {
            StrippedImage.make(images, Files.createDirectory(scratch));
            List<Path> files = files(images, scratch);
            if (!files.isEmpty()) {
                write(files, part);
                whole = true;
            }
        } finally {
            StageFolder.delete(scratch);
            if (!whole) {
                Files.deleteIfExists(part);
            }
        }
    }

    /** Empty when it cannot be had. */
    private static List<Path> files(Path images, Path stripped) throws IOException {
        List<Path> files = new ArrayList<>();
        try (var all = Files.list(stripped)) {
            all.forEach(files::add);
        }
        try (var all = Files.list(images)) {
            for (Path each : (Iterable<Path>) all::iterator) {
                String name = each.getFileName().toString();
                if (ArchiveFormat.isContent(name) && !Files.exists(stripped.resolve(name))) {
                    if (Files.size(each) > StrippedImage.SMALL) {
                        return List.of();
                    }
                    files.add(each);
                }
            }
        }
        long bytes = 0;
        for (Path each : files) {
            bytes += Files.size(each);
        }
        files.sort(null);
        return bytes > MOST_BYTES ? List.of() : files;
    }

    private static void write(List<Path> files, Path part) throws IOException {
        try (OutputStream out = Files.newOutputStream(part, StandardOpenOption.CREATE_NEW);
                TarArchiveOutputStream tar = new TarArchiveOutputStream(out)) {
            for (Path each : files) {
                TarArchiveEntry entry =
                        ArchiveFormat.tarEntry(each.getFileName().toString(), Files.size(each));
                tar.putArchiveEntry(entry);
                Files.copy(each, tar);
                tar.closeArchiveEntry();
            }
        }
    }

    /**
     * Lays its files into a folder that has the files in front of the same image, in the place of itself.
     *
     * @return false when the folder has none, and is as it was
     * @throws IOException when it is none, or a disk fails
     */
    static boolean lay(Path images) throws IOException {
        Path part = images.resolve(NAME);
        if (!Files.exists(part)) {
            return false;
        }
        long left = MOST_BYTES;
        try (InputStream in = Files.newInputStream(part);
                TarArchiveInputStream tar = new TarArchiveInputStream(in)) {
            TarArchiveEntry entry;
            while ((entry = tar.getNextEntry()) != null) {
                left -= entry.getSize();
                // Authentic, so only a mistake of the writer's; but never a write to somewhere else.
                if (!ArchiveFormat.isSafeName(entry.getName()) || !entry.isFile() || left < 0) {
                    throw new IOException(NAME + " has an entry that does not belong there");
                }
                Path file = images.resolve(entry.getName());
                Files.deleteIfExists(file);
                Files.copy(tar, file);
            }
        }
        Files.delete(part);
        return true;
    }
}
