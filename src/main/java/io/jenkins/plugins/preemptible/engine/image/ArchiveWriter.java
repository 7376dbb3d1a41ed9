package io.jenkins.plugins.preemptible.engine.image;

import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.INPUT_OUTPUT;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.TARGET_IN_USE;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.UNSAFE_ENTRY;

import com.github.luben.zstd.ZstdOutputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.io.output.CloseShieldOutputStream;

/**
 * Writes one archive.
 *
 * <ol>
 *   <li>The folder is looked through first: what may not be in an image stops it before a byte is written.
 *   <li>tar, zstd and encryption are one chain of streams into a file with {@code .partial} at its end.
 *   <li>That file is forced to disk and renamed; on any failure it is removed.
 * </ol>
 */
final class ArchiveWriter {

    // At level 1 and with two threads zstd keeps up with the encryption, which is one thread's work.
    private static final int ZSTD_LEVEL = 1;
    private static final int ZSTD_WORKERS = 2;
    private static final int BUFFER = 1 << 20;

    private final Path imageDir;
    private final Path archive;
    private final Path partial;
    private final ImageKey key;
    private final ImageManifest manifest;

    ArchiveWriter(Path imageDir, Path archive, ImageKey key, ImageManifest manifest) {
        this.imageDir = imageDir;
        this.archive = archive.toAbsolutePath();
        this.partial = this.archive.resolveSibling(this.archive.getFileName() + ".partial");
        this.key = key;
        this.manifest = manifest;
    }

    private record ImageFile(Path path, String name, long bytes) {}

    ImageArchive.Written write() throws ImageException {
        long began = System.nanoTime();
        List<ImageFile> files = imageFiles();
        long imageBytes = files.stream().mapToLong(ImageFile::bytes).sum();
        if (Files.isDirectory(archive)) {
            throw new ImageException(TARGET_IN_USE, archive, "it is a folder", null);
        }
        if (!Files.isDirectory(archive.getParent())) {
            throw new ImageException(INPUT_OUTPUT, archive, "its folder does not exist", null);
        }
        boolean whole = false;
        try {
            Files.deleteIfExists(partial);
            long archiveBytes = writePartial(files, manifest.measured(imageBytes));
            Files.move(partial, archive, StandardCopyOption.ATOMIC_MOVE);
            whole = true;
            forceFolder();
            return new ImageArchive.Written(
                    imageBytes, archiveBytes, (System.nanoTime() - began) / 1_000_000);
        } catch (GeneralSecurityException e) {
            throw new ImageException(ImageException.Reason.BAD_KEY, "The key", null, e);
        } catch (IOException e) {
            throw ImageArchive.writeFailed(archive, e);
        } finally {
            if (!whole) {
                removePartial();
            }
        }
    }

    private List<ImageFile> imageFiles() throws ImageException {
        try (Stream<Path> paths = Files.list(imageDir)) {
            List<ImageFile> files = new java.util.ArrayList<>();
            for (Path path : (Iterable<Path>) paths.sorted()::iterator) {
                String name = path.getFileName().toString();
                if (!Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)) {
                    throw new ImageException(UNSAFE_ENTRY, path, "it is no plain file", null);
                }
                if (!ArchiveFormat.isSafeName(name)) {
                    throw new ImageException(UNSAFE_ENTRY, path, "its name is not one of an image file", null);
                }
                files.add(new ImageFile(path, name, Files.size(path)));
            }
            if (files.isEmpty()) {
                throw new ImageException(UNSAFE_ENTRY, imageDir, "it has no files, so there is nothing to seal", null);
            }
            if (files.size() > ArchiveFormat.MOST_ENTRIES) {
                throw new ImageException(UNSAFE_ENTRY, imageDir, files.size() + " files", null);
            }
            return files;
        } catch (ImageException e) {
            throw e;
        } catch (IOException e) {
            throw new ImageException(INPUT_OUTPUT, imageDir, ImageArchive.words(e), e);
        }
    }

    private long writePartial(List<ImageFile> files, ImageManifest measured)
            throws IOException, GeneralSecurityException {
        try (FileChannel channel = FileChannel.open(
                partial,
                Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
            OutputStream file = CloseShieldOutputStream.wrap(Channels.newOutputStream(channel));
            byte[] head = ArchiveFormat.head();
            file.write(head);
            try (OutputStream sealed = key.cipher().newEncryptingStream(file, head);
                    ZstdOutputStream zstd =
                            new ZstdOutputStream(sealed, ZSTD_LEVEL).setWorkers(ZSTD_WORKERS);
                    // tar writes in blocks of 512 bytes, each of which would be a call into native code
                    OutputStream buffer = new BufferedOutputStream(zstd, BUFFER);
                    TarArchiveOutputStream tar = new TarArchiveOutputStream(buffer, "UTF-8")) {
                tar.setBigNumberMode(TarArchiveOutputStream.BIGNUMBER_POSIX);
                tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
                put(tar, ArchiveFormat.MANIFEST, ArchiveFormat.json().writeValueAsBytes(measured));
                for (ImageFile each : files) {
                    put(tar, each);
                }
                ArchiveFormat.Seal seal = new ArchiveFormat.Seal(files.size(), measured.imageBytes());
                put(tar, ArchiveFormat.SEAL, ArchiveFormat.json().writeValueAsBytes(seal));
            }
            long bytes = channel.position() + ArchiveFormat.TAIL_BYTES;
            ByteBuffer tail = ByteBuffer.wrap(ArchiveFormat.tail(bytes));
            while (tail.hasRemaining()) {
                channel.write(tail);
            }
            channel.force(true);
            return bytes;
        }
    }

    private static void put(TarArchiveOutputStream tar, String name, byte[] content) throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry(name);
        entry.setSize(content.length);
        tar.putArchiveEntry(entry);
        tar.write(content);
        tar.closeArchiveEntry();
    }

    private void put(TarArchiveOutputStream tar, ImageFile file) throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry(file.name());
        entry.setSize(file.bytes());
        entry.setMode(0600);
        tar.putArchiveEntry(entry);
        byte[] buffer = new byte[BUFFER];
        long left = file.bytes();
        try (InputStream in = Files.newInputStream(file.path(), LinkOption.NOFOLLOW_LINKS)) {
            while (left > 0) {
                int read = readSome(in, buffer, left, file.path());
                tar.write(buffer, 0, read);
                left -= read;
            }
        }
        tar.closeArchiveEntry();
    }

    private static int readSome(InputStream in, byte[] buffer, long left, Path path) throws ImageException {
        int read;
        try {
            read = in.read(buffer, 0, (int) Math.min(buffer.length, left));
        } catch (IOException e) {
            throw new ImageException(INPUT_OUTPUT, path, ImageArchive.words(e), e);
        }
        if (read < 0) {
            throw new ImageException(INPUT_OUTPUT, path, "it became shorter while it was packed", null);
        }
        return read;
    }

    // Without it a crash of the machine right after the tree was killed could lose the name, and so the stage.
    private void forceFolder() {
        try (FileChannel folder = FileChannel.open(archive.getParent(), StandardOpenOption.READ)) {
            folder.force(true);
        } catch (IOException e) {
            // Some file systems cannot sync a folder; the file itself is on disk.
        }
    }

    private void removePartial() {
        try {
            Files.deleteIfExists(partial);
        } catch (IOException e) {
            // What stopped the writing is thrown already and says more.
        }
    }
}
