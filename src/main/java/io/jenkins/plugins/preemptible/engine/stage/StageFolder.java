package io.jenkins.plugins.preemptible.engine.stage;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;

/**
 * The folder of one stage: its record, its output, its exit code and what CRIU leaves.
 *
 * <ol>
 *   <li>The record is replaced by renaming, so a reader sees an old or a new one, never half of one.
 *   <li>{@link #lock} is held during a suspension or a resume; it ends with the process that holds it.
 *   <li>Only the owner may read any of it.
 * </ol>
 *
 * Changes of the record are serialized by a lock of the record's own, held for a moment only: {@link #change} may be
 * called without {@link #lock}, in any process.
 */
public final class StageFolder {

    private static final ObjectMapper JSON = new ObjectMapper();
    /** The lock files that this JVM holds. */
    private static final Set<Path> HELD = ConcurrentHashMap.newKeySet();

    private final Path path;

    public StageFolder(Path path) {
        this.path = path;
    }

    public Path path() {
        return path;
    }

    /** Where CRIU's images are from the dump to the next resume, if they are kept so long; not there otherwise. */
    public Path images() {
        return path.resolve("images");
    }

    /** Asks a dump of the stage, in any process, to give up; or takes that back. */
    public void askToThaw(boolean asked) {
        try {
            if (asked) {
                Files.write(path.resolve("thaw"), new byte[0]);
            } else {
                Files.deleteIfExists(path.resolve("thaw"));
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the dump of the stage cannot be asked to give up", e);
        }
    }

    /** Whether a dump of the stage is asked to give up, so that the stage runs again. */
    public boolean thawAsked() {
        return Files.exists(path.resolve("thaw"));
    }

    /** The block hashes of the stage's last full image, by which a difference to it is found. */
    public Path imageIndex() {
        return path.resolve("image.index");
    }

    /** Folder of the indexes of full checkpoints, each named after its archive; sealed with the archive's key. */
    public Path checkpointIndexes() {
        return path.resolve("checkpoint-indexes");
    }

    /** What a checkpoint of the running stage makes for itself; not there otherwise. */
    public Path live() {
        return path.resolve("live");
    }

    /** There when the stage's memory can never be copied for a checkpoint while it runs; it says why. */
    public Path wholeDump() {
        return path.resolve("whole-dump");
    }

    /** There while the stage stands still for such a checkpoint, and its memory is copied. */
    public Path standing() {
        return live().resolve("standing");
    }

    /** CRIU's logs of the last dump and the last restore. */
    public Path logs() {
        return path.resolve("criu");
    }

    /** What a trial of the image makes for itself; not there otherwise. */
    public Path trial() {
        return path.resolve("trial");
    }

    /** Programs that come first on CRIU's PATH. */
    public Path tools() {
        return path.resolve("tools");
    }

    /** An empty folder on which a restore mounts the root that it builds the stage's mount namespace from. */
    public Path root() {
        return path.resolve("root");
    }

    /** What the stage's command writes; a sandbox writes none. */
    public Path output() {
        return path.resolve("output.log");
    }

    /** Makes the folder for its owner only. */
    public void create() throws IOException {
        Files.createDirectories(
                path.getParent(), PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Files.createDirectory(path, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    }

    public boolean exists() {
        return Files.isRegularFile(path.resolve("stage.json"));
    }

    /**
     * The record; empty when this is no stage's folder.
     *
     * @throws UncheckedIOException when it is there and cannot be read, or is none
     */
    public Optional<StageJson> read() {
        Path file = path.resolve("stage.json");
        try {
            StageJson record = JSON.readValue(Files.readAllBytes(file), StageJson.class);
            if (record == null || record.id() == null || record.state() == null) {
                throw new IOException("it names no stage or no state");
            }
            return Optional.of(record);
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            throw new UncheckedIOException(file + " cannot be read", e);
        }
    }

    /** Writes the first record of a folder, without the lock of its changes. */
    public void write(StageJson record) throws IOException {
        // Once the archive is sealed, a crash must not bring an older record back.
        write(record, record.dumped() != null || record.state() == StageStatus.State.SUSPENDED);
    }

    /** Writes a record beside CRIU's files, without forcing it to disk, as those: after a crash the archive is used. */
    public void writeBesideImages(StageJson record) throws IOException {
        write(record, false);
    }

    private void write(StageJson record, boolean synced) throws IOException {
        Path next = Files.createTempFile(path, "stage", ".tmp");
        try {
            // No channel: a thread that was interrupted has to write down what it leaves behind.
            try (FileOutputStream out = new FileOutputStream(next.toFile())) {
                out.write(JSON.writeValueAsBytes(record));
                if (synced) {
                    out.getFD().sync();
                }
            }
            Files.move(next, path.resolve("stage.json"), StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(next);
        }
    }

    /**
     * Changes the record and returns the new one; empty when the record is gone. Waits for changes of other
     * processes, which take no longer than to write it.
     *
     * @throws IOException when it cannot be written; it is as before then
     */
    public Optional<StageJson> change(UnaryOperator<StageJson> change) throws IOException {
        return RecordLock.hold(path, () -> {
            Optional<StageJson> next = read().map(change);
            if (next.isPresent()) {
                write(next.get());
            }
            return next;
        });
    }

    /** The exit code that the init left; empty when the command did not end. */
    public Optional<Integer> exitCode() {
        try {
            return Optional.of(
                    Integer.valueOf(Files.readString(path.resolve("exit")).trim()));
        } catch (IOException | NumberFormatException e) {
            return Optional.empty();
        }
    }

    /** Takes the stage's lock if it is free; empty when a suspension or a resume holds it, here or elsewhere. */
    public Optional<Held> lock() throws IOException {
        return lock("lock");
    }

    /** Takes the lock of checkpoints of the running stage if it is free: one is made at a time, here or elsewhere. */
    public Optional<Held> lockLive() throws IOException {
        return lock("live.lock");
    }

    private Optional<Held> lock(String name) throws IOException {
        Path file = path.resolve(name);
        // Never opened twice here: closing any descriptor of a file drops all locks of the process on it, see fcntl(2).
        if (!HELD.add(file)) {
            return Optional.empty();
        }
        boolean taken = false;
        try {
            FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            try {
                FileLock lock = channel.tryLock();
                taken = lock != null;
                return taken ? Optional.of(new Held(channel, file)) : Optional.empty();
            } catch (OverlappingFileLockException e) {
                // The engine was loaded twice into this JVM, and the other one holds it.
                return Optional.empty();
            } finally {
                if (!taken) {
                    channel.close();
                }
            }
        } finally {
            if (!taken) {
                HELD.remove(file);
            }
        }
    }

    /** The lock, until closed. */
    public static final class Held implements AutoCloseable {
        private final FileChannel channel;
        private final Path file;

        private Held(FileChannel channel, Path file) {
            this.channel = channel;
            this.file = file;
        }

        @Override
        public void close() {
            try {
                channel.close();
            } catch (IOException e) {
                throw new UncheckedIOException("the stage's lock cannot be released", e);
            } finally {
                HELD.remove(file);
            }
        }
    }

    /**
     * Removes a folder and everything in it, or a file; without effect when it is not there.
     *
     * <p>No link is followed, also not one that is put in the place of a folder meanwhile. The way to the folder is the
     * caller's: links there are followed.
     */
    public static void delete(Path folder) throws IOException {
        Object key;
        try {
            BasicFileAttributes is = Files.readAttributes(folder, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
            key = is.isDirectory() ? is.fileKey() : null;
        } catch (NoSuchFileException e) {
            return;
        }
        if (key != null) {
            try (DirectoryStream<Path> stream = Files.newDirectoryStream(folder)) {
                SecureDirectoryStream<Path> content = secure(stream);
                BasicFileAttributes opened = content.getFileAttributeView(BasicFileAttributeView.class)
                        .readAttributes();
                if (!key.equals(opened.fileKey())) {
                    throw new FileSystemException(folder.toString(), null, "was replaced while it was removed");
                }
                deleteContent(content);
            } catch (NoSuchFileException e) {
                // Another process deletes there too.
            }
        }
        Files.deleteIfExists(folder);
    }

    private static SecureDirectoryStream<Path> secure(DirectoryStream<Path> stream) throws IOException {
        if (stream instanceof SecureDirectoryStream<Path> secure) {
            return secure;
        }
        throw new IOException("this Java cannot open folders by descriptors");
    }

    private static void deleteContent(SecureDirectoryStream<Path> folder) throws IOException {
        try {
            List<Path> names = new ArrayList<>();
            folder.forEach(path -> names.add(path.getFileName()));
            // In an order that is always the same: one that stops half-way leaves the same behind.
            names.sort(Comparator.reverseOrder());
            for (Path name : names) {
                try {
                    BasicFileAttributes is = folder.getFileAttributeView(
                                    name, BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                            .readAttributes();
                    if (is.isDirectory()) {
                        try (SecureDirectoryStream<Path> below =
                                folder.newDirectoryStream(name, LinkOption.NOFOLLOW_LINKS)) {
                            deleteContent(below);
                        }
                        folder.deleteDirectory(name);
                    } else {
                        folder.deleteFile(name);
                    }
                } catch (NoSuchFileException e) {
                    // Another process deletes there too.
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }
}
