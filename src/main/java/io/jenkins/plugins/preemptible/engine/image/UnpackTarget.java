package io.jenkins.plugins.preemptible.engine.image;

import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.NO_SPACE;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.TARGET_IN_USE;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The folder into which an archive is unpacked, emptied again unless it is to be kept.
 *
 * <ol>
 *   <li>It must be empty or new; a new one is the owner's only.
 *   <li>Files are created, never opened: nothing that lies there can be written through.
 *   <li>Closing without {@link #keep} removes what was created.
 * </ol>
 */
final class UnpackTarget implements ArchiveReader.Target, AutoCloseable {

    private final Path folder;
    private final boolean created;
    private final List<Path> files = new ArrayList<>();
    private boolean kept;

    private UnpackTarget(Path folder, boolean created) {
        this.folder = folder;
        this.created = created;
    }

    static UnpackTarget in(Path folder) throws ImageException {
        try {
            if (!Files.exists(folder)) {
                Files.createDirectory(
                        folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
                return new UnpackTarget(folder, true);
            }
            if (!Files.isDirectory(folder)) {
                throw new ImageException(TARGET_IN_USE, folder, "it is no folder", null);
            }
            try (Stream<Path> content = Files.list(folder)) {
                if (content.findAny().isPresent()) {
                    throw new ImageException(TARGET_IN_USE, folder, "it is not empty", null);
                }
            }
            return new UnpackTarget(folder, false);
        } catch (ImageException e) {
            throw e;
        } catch (IOException e) {
            throw ImageArchive.writeFailed(folder, e);
        }
    }

    @Override
    public void expect(long bytes) throws ImageException {
        try {
            long free = Files.getFileStore(folder).getUsableSpace();
            if (bytes > free) {
                throw new ImageException(
                        NO_SPACE, folder, "the image has " + bytes + " bytes, " + free + " are free", null);
            }
        } catch (ImageException e) {
            throw e;
        } catch (IOException e) {
            // A file system that cannot tell its room will tell when it is full.
        }
    }

    @Override
    public OutputStream create(String name) throws ImageException {
        Path file = folder.resolve(name);
        try {
            OutputStream stream = Channels.newOutputStream(Files.newByteChannel(
                    file,
                    Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW),
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))));
            files.add(file);
            return stream;
        } catch (IOException e) {
            throw ImageArchive.writeFailed(file, e);
        }
    }

    @Override
    public ImageException failed(String name, IOException e) {
        return ImageArchive.writeFailed(folder.resolve(name), e);
    }

    void keep() {
        kept = true;
    }

    @Override
    public void close() throws ImageException {
        if (kept) {
            return;
        }
        try {
            for (Path file : files) {
                Files.deleteIfExists(file);
            }
            if (created) {
                Files.deleteIfExists(folder);
            }
        } catch (IOException e) {
            throw ImageArchive.writeFailed(folder, e);
        }
    }
}
