package io.jenkins.plugins.preemptible.engine.fixup;

import com.google.protobuf.UnknownFieldSet;
import io.jenkins.plugins.preemptible.engine.content.format.ImageFile;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;

/**
 * Changes entries of image files.
 *
 * <ol>
 *   <li>Each entry is passed to the change, which returns the same entry or a changed one.
 *   <li>A file none of whose entries changed is not written.
 *   <li>Otherwise it is replaced by renaming, so it is never half written.
 * </ol>
 */
final class EntryRewrite {

    private EntryRewrite() {}

    /** What is done to one entry. */
    interface Change {
        UnknownFieldSet of(UnknownFieldSet entry) throws IOException;
    }

    /** What is done to the entries of one file. */
    interface ChangeOfFile {
        Change of(Path file);
    }

    /** Rewrites every file of a folder whose name fits; returns whether anything changed. */
    static boolean rewriteAll(Path imageFolder, String names, ChangeOfFile change) throws IOException {
        boolean changed = false;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(imageFolder, names)) {
            for (Path file : files) {
                changed |= rewrite(file, change.of(file));
            }
        }
        return changed;
    }

    /** Returns whether anything changed. */
    static boolean rewrite(Path file, Change change) throws IOException {
        ImageFile image = ImageFile.parse(file.getFileName().toString(), Files.readAllBytes(file));
        List<UnknownFieldSet> fixed = new ArrayList<>();
        for (UnknownFieldSet entry : image.entries()) {
            fixed.add(change.of(entry));
        }
        if (fixed.equals(image.entries())) {
            return false;
        }
        replace(file, image.withEntries(fixed).bytes());
        return true;
    }

    // A name that no image has: should this end half-way, the folder is no image any more, and is not packed.
    private static void replace(Path file, byte[] content) throws IOException {
        Path next = Files.createTempFile(
                file.getParent(),
                "fixup",
                null,
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        try {
            Files.write(next, content);
            Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(next);
        }
    }
}
