package io.jenkins.plugins.preemptible.engine.image;

import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.INPUT_OUTPUT;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.MISSING;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.NOT_AN_IMAGE;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.OTHER_VERSION;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.TRUNCATED;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.UNSAFE_ENTRY;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.WRONG_KEY_OR_TAMPERED;

import com.github.luben.zstd.ZstdInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.io.input.BoundedInputStream;

/**
 * Reads one archive to its end and believes nothing that was not authenticated.
 *
 * <ol>
 *   <li>Head and tail are looked at first: they tell a foreign, other or cut file without any cryptography.
 *   <li>The tar is read from the decrypting stream, which gives out no byte of a segment before it was checked.
 *   <li>Every entry is checked against the manifest's promise and the seal; then the streams are read to their ends.
 * </ol>
 */
final class ArchiveReader {

    private static final int BUFFER = 1 << 20;

    private final Path archive;
    private final ImageKey key;
    private final Target target;
    private final EntrySink sink;

    ArchiveReader(Path archive, ImageKey key, Target target) {
        this(archive, key, target, null);
    }

    /** @param sink sees the image files in the target's place; null to unpack them into the target */
    ArchiveReader(Path archive, ImageKey key, Target target, EntrySink sink) {
        this.archive = archive;
        this.key = key;
        this.target = target;
        this.sink = sink;
    }

    /** Where the image files go. */
    interface Target {
        /** Keeps nothing. */
        Target NONE = new Target() {
            @Override
            public void expect(long bytes) {}

            @Override
            public OutputStream create(String name) {
                return OutputStream.nullOutputStream();
            }

            @Override
            public ImageException failed(String name, IOException e) {
                return new ImageException(INPUT_OUTPUT, name, ImageArchive.words(e), e);
            }
        };

        void expect(long bytes) throws ImageException;

        OutputStream create(String name) throws ImageException;

        ImageException failed(String name, IOException e);
    }

    ImageInspection read() throws ImageException {
        return open(image -> {
            ImageManifest manifest = manifest(image.tar());
            target.expect(manifest.imageBytes());
            List<ImageInspection.Entry> entries = entries(image.tar(), manifest.imageBytes());
            // A cut of the stream is noticed only where its end is read, and tar stops before that.
            image.plain().transferTo(OutputStream.nullOutputStream());
            image.decrypted().transferTo(OutputStream.nullOutputStream());
            return new ImageInspection(manifest, image.fileBytes(), entries);
        });
    }

    ImageManifest readManifest() throws ImageException {
        return open(image -> manifest(image.tar()));
    }

    /** The chain of streams over an archive, outermost first. */
    private record Opened(TarArchiveInputStream tar, InputStream plain, InputStream decrypted, long fileBytes) {}

    private interface Use<T> {
        T of(Opened image) throws IOException;
    }

    private <T> T open(Use<T> use) throws ImageException {
        if (!Files.isReadable(archive)) {
            throw new ImageException(MISSING, archive, null, null);
        }
        if (Files.isDirectory(archive)) {
            throw new ImageException(NOT_AN_IMAGE, archive, "it is a folder", null);
        }
        try (FileChannel channel = FileChannel.open(archive, StandardOpenOption.READ)) {
            long fileBytes = channel.size();
            checkEnds(channel, fileBytes);
            channel.position(ArchiveFormat.HEAD_BYTES);
            InputStream body = BoundedInputStream.builder()
                    .setInputStream(Channels.newInputStream(channel))
                    .setMaxCount(fileBytes - ArchiveFormat.HEAD_BYTES - ArchiveFormat.TAIL_BYTES)
                    .get();
            try (InputStream decrypted = key.cipher().newDecryptingStream(body, ArchiveFormat.head());
                    InputStream plain = new ZstdInputStream(decrypted);
                    TarArchiveInputStream tar = new TarArchiveInputStream(plain, "UTF-8")) {
                return use.of(new Opened(tar, plain, decrypted, fileBytes));
            } catch (ImageException e) {
                throw e;
            } catch (IOException | GeneralSecurityException | RuntimeException e) {
                // Parsers of tar and zstd see authenticated bytes only, so their complaints mean the same.
                throw new ImageException(WRONG_KEY_OR_TAMPERED, archive, null, e);
            }
        } catch (ImageException e) {
            throw e;
        } catch (IOException e) {
            throw new ImageException(INPUT_OUTPUT, archive, ImageArchive.words(e), e);
        }
    }

    private void checkEnds(FileChannel channel, long fileBytes) throws IOException {
        byte[] head = bytesAt(channel, 0, (int) Math.min(ArchiveFormat.HEAD_BYTES, fileBytes));
        int magicBytes = Math.min(head.length, ArchiveFormat.MAGIC.length);
        if (!Arrays.equals(head, 0, magicBytes, ArchiveFormat.MAGIC, 0, magicBytes)) {
            throw new ImageException(NOT_AN_IMAGE, archive, null, null);
        }
        if (head.length < ArchiveFormat.HEAD_BYTES) {
            throw new ImageException(TRUNCATED, archive, "it has " + fileBytes + " bytes", null);
        }
        int version = Short.toUnsignedInt(ByteBuffer.wrap(head).getShort(ArchiveFormat.MAGIC.length));
        if (version != ImageArchive.FORMAT_VERSION) {
            throw new ImageException(
                    OTHER_VERSION, archive, "it has " + version + ", known is " + ImageArchive.FORMAT_VERSION, null);
        }
        if (fileBytes < ArchiveFormat.HEAD_BYTES + ArchiveFormat.TAIL_BYTES
                || !Arrays.equals(
                        bytesAt(channel, fileBytes - ArchiveFormat.TAIL_BYTES, ArchiveFormat.TAIL_BYTES),
                        ArchiveFormat.tail(fileBytes))) {
            throw new ImageException(TRUNCATED, archive, "it has " + fileBytes + " bytes", null);
        }
    }

    private static byte[] bytesAt(FileChannel channel, long position, int length) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(length);
        while (buffer.hasRemaining() && channel.read(buffer, position + buffer.position()) >= 0) {}
        return Arrays.copyOf(buffer.array(), buffer.position());
    }

    private ImageManifest manifest(TarArchiveInputStream tar) throws IOException {
        TarArchiveEntry entry = tar.getNextEntry();
        if (entry == null || !entry.getName().equals(ArchiveFormat.MANIFEST)) {
            throw new ImageException(UNSAFE_ENTRY, archive, "its manifest is not where it belongs", null);
        }
        ImageManifest manifest = json(tar, entry, ImageManifest.class);
        if (manifest.formatVersion() != ImageArchive.FORMAT_VERSION) {
            throw new ImageException(OTHER_VERSION, archive, "its manifest has " + manifest.formatVersion(), null);
        }
        return manifest;
    }

    private List<ImageInspection.Entry> entries(TarArchiveInputStream tar, long promised) throws IOException {
        List<ImageInspection.Entry> entries = new ArrayList<>();
        Set<String> names = new HashSet<>();
        long bytes = 0;
        TarArchiveEntry entry;
        while ((entry = tar.getNextEntry()) != null && !entry.getName().equals(ArchiveFormat.SEAL)) {
            checkEntry(entry);
            bytes += entry.getSize();
            if (!names.add(entry.getName()) || bytes > promised || names.size() > ArchiveFormat.MOST_ENTRIES) {
                throw new ImageException(
                        UNSAFE_ENTRY, archive, "'" + entry.getName() + "' is more than its manifest says", null);
            }
            if (sink == null) {
                unpack(tar, entry);
            } else {
                show(tar, entry);
            }
            entries.add(new ImageInspection.Entry(entry.getName(), entry.getSize()));
        }
        if (entry == null) {
            throw new ImageException(TRUNCATED, archive, "its seal is missing", null);
        }
        ArchiveFormat.Seal seal = json(tar, entry, ArchiveFormat.Seal.class);
        if (seal.entries() != entries.size() || seal.bytes() != bytes || bytes != promised) {
            throw new ImageException(
                    TRUNCATED,
                    archive,
                    "its seal counts " + seal.entries() + " files, found are " + entries.size(),
                    null);
        }
        if (tar.getNextEntry() != null) {
            throw new ImageException(UNSAFE_ENTRY, archive, "something follows its seal", null);
        }
        return entries;
    }

    private void checkEntry(TarArchiveEntry entry) throws ImageException {
        boolean plain = entry.isFile()
                && !entry.isLink()
                && !entry.isSymbolicLink()
                && !entry.isSparse()
                && !entry.isCharacterDevice()
                && !entry.isBlockDevice()
                && !entry.isFIFO();
        if (!plain || entry.getSize() < 0 || !ArchiveFormat.isSafeName(entry.getName())) {
            throw new ImageException(UNSAFE_ENTRY, archive, "'" + printable(entry.getName()) + "'", null);
        }
    }

    private static String printable(String name) {
        String kept = name.length() > 80 ? name.substring(0, 80) + "…" : name;
        return kept.replaceAll("\\p{Cntrl}", "?");
    }

    private void unpack(TarArchiveInputStream tar, TarArchiveEntry entry) throws IOException {
        byte[] buffer = new byte[(int) Math.min(BUFFER, Math.max(1, entry.getSize()))];
        long left = entry.getSize();
        try (Output out = new Output(entry.getName())) {
            while (left > 0) {
                int read = tar.read(buffer, 0, (int) Math.min(buffer.length, left));
                if (read <= 0) {
                    throw new ImageException(TRUNCATED, archive, "'" + entry.getName() + "' is not whole", null);
                }
                out.write(buffer, read);
                left -= read;
            }
        }
    }

    private void show(TarArchiveInputStream tar, TarArchiveEntry entry) throws IOException {
        EntryContent content = new EntryContent(tar, entry.getSize());
        try {
            sink.entry(entry.getName(), entry.getSize(), content);
        } catch (IOException | RuntimeException e) {
            if (content.failure != null) {
                throw content.failure;
            }
            throw new ImageException(INPUT_OUTPUT, archive, "'" + entry.getName() + "': " + e.getMessage(), e);
        }
        content.transferTo(OutputStream.nullOutputStream());
        if (content.left > 0) {
            throw new ImageException(TRUNCATED, archive, "'" + entry.getName() + "' is not whole", null);
        }
    }

    /** One entry's bytes; remembers a failure of the archive, which the sink's own must not hide. */
    private static final class EntryContent extends InputStream {
        private final InputStream in;
        private long left;
        private IOException failure;

        EntryContent(InputStream in, long bytes) {
            this.in = in;
            this.left = bytes;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] buffer, int offset, int length) throws IOException {
            if (length == 0) {
                return 0;
            }
            try {
                int read = left == 0 ? -1 : in.read(buffer, offset, (int) Math.min(length, left));
                left -= Math.max(0, read);
                return read;
            } catch (IOException e) {
                failure = e;
                throw e;
            }
        }
    }

    /** Keeps failures of the target's disk apart from those of the archive. */
    private final class Output implements AutoCloseable {
        private final String name;
        private final OutputStream stream;

        Output(String name) throws ImageException {
            this.name = name;
            this.stream = target.create(name);
        }

        void write(byte[] bytes, int length) throws ImageException {
            try {
                stream.write(bytes, 0, length);
            } catch (IOException e) {
                throw target.failed(name, e);
            }
        }

        @Override
        public void close() throws ImageException {
            try {
                stream.close();
            } catch (IOException e) {
                throw target.failed(name, e);
            }
        }
    }

    private <T> T json(TarArchiveInputStream tar, TarArchiveEntry entry, Class<T> type) throws IOException {
        if (!entry.isFile() || entry.getSize() < 0 || entry.getSize() > ArchiveFormat.LARGEST_JSON) {
            throw new ImageException(UNSAFE_ENTRY, archive, "'" + entry.getName() + "' is too large", null);
        }
        byte[] content = tar.readNBytes((int) entry.getSize());
        T value = ArchiveFormat.json().readValue(content, type);
        if (value == null) {
            throw new ImageException(UNSAFE_ENTRY, archive, "'" + entry.getName() + "' is empty", null);
        }
        return value;
    }
}
