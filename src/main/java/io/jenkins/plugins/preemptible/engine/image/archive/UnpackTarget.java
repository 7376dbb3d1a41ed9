package io.jenkins.plugins.preemptible.engine.image.archive;

import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.NO_SPACE;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.TARGET_IN_USE;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.block.SparseWrite;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
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
 *   <li>Files are created, never opened over: nothing that lies there can be written through. Long stretches of zeros
 *       stay holes.
 *   <li>Closing without {@link #keep} removes what was created.
 * </ol>
 *
 * For one thread.
 */
final class UnpackTarget implements AutoCloseable {

    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    private static final FileAttribute<?> FOLDER_OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

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
                Files.createDirectory(folder, FOLDER_OWNER_ONLY);
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
            throw ImageException.writeFailed(folder, e);
        }
    }

    /** Refuses early what cannot fit. */
    void expect(long bytes) throws ImageException {
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

    /** Where an entry of this name lies. */
    Path path(String name) {
        return folder.resolve(name);
    }

    /** Creates the file of an entry. */
    FileChannel create(String name) throws ImageException {
        Path file = path(name);
        try {
            if (name.startsWith(ArchiveFormat.PRESERVED) && !Files.exists(file.getParent())) {
                Files.createDirectory(file.getParent(), FOLDER_OWNER_ONLY);
                files.add(file.getParent());
            }
            FileChannel channel = FileChannel.open(
                    file,
                    Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW),
                    OWNER_ONLY);
            files.add(file);
            return channel;
        } catch (IOException e) {
            throw ImageException.writeFailed(file, e);
        }
    }

    /** Opens a file that this target created. */
    FileChannel open(String name) throws ImageException {
        try {
            return FileChannel.open(path(name), StandardOpenOption.READ, StandardOpenOption.WRITE);
        } catch (IOException e) {
            throw ImageException.writeFailed(path(name), e);
        }
    }

    /** Writes a piece of one of its files, see {@link SparseWrite}. */
    void write(FileChannel channel, String name, byte[] bytes, int offset, int length, long position, long fileBytes)
            throws ImageException {
        try {
            SparseWrite.write(channel, bytes, offset, length, position, fileBytes);
        } catch (IOException e) {
            throw ImageException.writeFailed(path(name), e);
        }
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
            for (int i = files.size() - 1; i >= 0; i--) {
                Files.deleteIfExists(files.get(i));
            }
            if (created) {
                Files.deleteIfExists(folder);
            }
        } catch (IOException e) {
            throw ImageException.writeFailed(folder, e);
        }
    }
}
