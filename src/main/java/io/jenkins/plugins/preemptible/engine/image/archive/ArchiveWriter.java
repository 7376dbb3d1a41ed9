package io.jenkins.plugins.preemptible.engine.image.archive;

import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.INPUT_OUTPUT;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.TARGET_IN_USE;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.EntryInfo;
import io.jenkins.plugins.preemptible.engine.image.WriteRequest;
import io.jenkins.plugins.preemptible.engine.image.block.BlockHash;
import io.jenkins.plugins.preemptible.engine.image.block.BlockIndex;
import io.jenkins.plugins.preemptible.engine.image.block.BlockRuns;
import io.jenkins.plugins.preemptible.engine.image.preserved.PreservedScan;
import io.jenkins.plugins.preemptible.engine.image.preserved.Sources;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.DigestOutputStream;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HashSet;
import java.util.Set;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.io.output.CloseShieldOutputStream;
import org.apache.commons.io.output.CountingOutputStream;

/**
 * Writes one archive.
 *
 * <ol>
 *   <li>A first pass finds out what is to be packed and its digests, so that the manifest can be the first entry.
 *   <li>A second one sends the contents through tar, zstd and encryption into a file with {@code .partial} at its end.
 *   <li>Where the request wants that, all preserved files and folders are looked at again.
 *   <li>That file is forced to disk and renamed; on any failure it is removed.
 * </ol>
 */
final class ArchiveWriter {

    private static final int TAR_RECORD = 20 * ArchiveFormat.TAR_BLOCK;

    private final WriteRequest request;
    private final Path archive;
    private final Path partial;
    private DigestPass survey;
    private Sources sources;
    private Workers workers;

    ArchiveWriter(WriteRequest request) {
        this.request = request;
        this.archive = request.archive().toAbsolutePath();
        this.partial = ImageArchive.partialOf(archive);
    }

    ImageArchive.Written write() throws ImageException {
        long began = System.nanoTime();
        if (Files.isDirectory(archive)) {
            throw new ImageException(TARGET_IN_USE, archive, "it is a folder", null);
        }
        if (!Files.isDirectory(archive.getParent())) {
            throw new ImageException(INPUT_OUTPUT, archive, "its folder does not exist", null);
        }
        ParentChoice parent = ParentChoice.of(request, archive);
        PreservedScan scan = new PreservedScan(ownPaths(parent), request.leftOut());
        for (Path each : request.preserved()) {
            scan.add(each, request.places().getOrDefault(each, each));
        }
        try (Sources opened = new Sources(request.imageDir(), scan);
                Workers threads = new Workers(request.workers(), archive, request.cancelled())) {
            sources = opened;
            workers = threads;
            if (sources.bytes() >= CipherWarmUp.WORTH_BYTES) {
                CipherWarmUp.begin();
            }
            return write(scan, parent, began);
        } catch (GeneralSecurityException e) {
            throw new ImageException(ImageException.Reason.BAD_KEY, "The key", null, e);
        } catch (IOException e) {
            throw ImageException.writeFailed(archive, e);
        }
    }

    // A workspace may hold the folder in which stages are kept, and so the very file that is being written.
    private Set<Path> ownPaths(ParentChoice parent) throws ImageException {
        Set<Path> own = new HashSet<>();
        try {
            Path folder = archive.getParent().toRealPath();
            own.add(folder.resolve(archive.getFileName()));
            own.add(folder.resolve(partial.getFileName()));
            own.add(request.imageDir().toRealPath());
            if (parent.named() != null) {
                own.add(folder.resolve(parent.named().file()));
            }
            if (request.index() != null
                    && Files.isDirectory(request.index().toAbsolutePath().getParent())) {
                Path index = request.index().toAbsolutePath();
                Path real = index.getParent().toRealPath().resolve(index.getFileName());
                own.add(real);
                own.add(real.resolveSibling(real.getFileName() + ".partial"));
            }
            return own;
        } catch (IOException e) {
            throw new ImageException(INPUT_OUTPUT, request.imageDir(), ImageException.words(e), e);
        }
    }

    private ImageArchive.Written write(PreservedScan scan, ParentChoice parent, long began)
            throws IOException, GeneralSecurityException {
        String imageId = ArchiveFormat.newId();
        boolean whole = false;
        try (BlockIndex.Writer index = request.index() == null
                ? null
                : new BlockIndex.Writer(request.index(), request.key(), imageId, archive)) {
            survey = new DigestPass(sources, workers, parent.blocks(), index);
            survey.run();
            boolean difference = parent.isWorthIt(survey.ownBytes(), sources.bytes());
            ImageManifest manifest = request.manifest()
                    .sealed(
                            imageId,
                            difference ? parent.named() : null,
                            survey.entries(difference),
                            scan.roots(),
                            scan.files());
            Files.deleteIfExists(partial);
            long archiveBytes = writePartial(manifest);
            workers.checkCancelled();
            if (request.touched() != null) {
                scan.checkUnchanged(request.touched());
            }
            Files.move(partial, archive, StandardCopyOption.ATOMIC_MOVE);
            whole = true;
            forceFolder();
            if (index != null && !difference) {
                keep(index);
            }
            return new ImageArchive.Written(
                    imageId,
                    manifest.isDifference() ? manifest.parent().imageId() : null,
                    manifest.imageBytes(),
                    manifest.storedBytes(),
                    manifest.allBytes(),
                    archiveBytes,
                    (System.nanoTime() - began) / 1_000_000,
                    scan.skipped());
        } finally {
            if (!whole) {
                removePartial();
            }
        }
    }

    // The image is safe by now; without its index the next one is in full, which is no reason to fail.
    private static void keep(BlockIndex.Writer index) {
        try {
            index.keep();
        } catch (IOException e) {
            // closed and removed by its owner
        }
    }

    private long writePartial(ImageManifest manifest) throws IOException, GeneralSecurityException {
        if (sources.bytes() >= CipherWarmUp.WORTH_BYTES) {
            CipherWarmUp.await();
        }
        try (FileChannel channel = FileChannel.open(
                partial,
                Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
            OutputStream file = CloseShieldOutputStream.wrap(Channels.newOutputStream(channel));
            byte[] head = ArchiveFormat.head();
            file.write(head);
            try (OutputStream sealed = request.key().cipher().newEncryptingStream(file, head);
                    OutputStream frames = new FrameOutput(sealed, workers);
                    TarArchiveOutputStream tar = new TarArchiveOutputStream(frames, TAR_RECORD, "UTF-8")) {
                tar.setBigNumberMode(TarArchiveOutputStream.BIGNUMBER_STAR);
                putAll(tar, manifest);
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

    private void putAll(TarArchiveOutputStream tar, ImageManifest manifest) throws IOException {
        String manifestSha256 = putManifest(tar, manifest);
        int entries = manifest.entries().size();
        long bytes = manifest.storedBytes();
        if (manifest.isDifference()) {
            bytes += putReferences(tar, manifest);
            entries++;
        }
        for (int i = 0; i < manifest.entries().size(); i++) {
            put(tar, manifest.entries().get(i), i);
        }
        byte[] seal = ArchiveFormat.json()
                .writeValueAsBytes(new ArchiveFormat.Seal(manifest.imageId(), entries, bytes, manifestSha256));
        tar.putArchiveEntry(ArchiveFormat.tarEntry(ArchiveFormat.SEAL, seal.length));
        tar.write(seal);
        tar.closeArchiveEntry();
    }

    // Written twice, first to nowhere: tar wants the size beforehand, and a large one is not held in memory as text.
    private String putManifest(TarArchiveOutputStream tar, ImageManifest manifest) throws IOException {
        CountingOutputStream counted = new CountingOutputStream(OutputStream.nullOutputStream());
        ArchiveFormat.json().writeValue(counted, manifest);
        if (counted.getByteCount() > ArchiveFormat.LARGEST_JSON) {
            throw new ImageException(
                    ImageException.Reason.TOO_LARGE,
                    archive,
                    "its manifest has " + counted.getByteCount() + " bytes",
                    null);
        }
        MessageDigest hash = BlockHash.sha256();
        tar.putArchiveEntry(ArchiveFormat.tarEntry(ArchiveFormat.MANIFEST, counted.getByteCount()));
        ArchiveFormat.json().writeValue(new DigestOutputStream(tar, hash), manifest);
        tar.closeArchiveEntry();
        return ArchiveFormat.hex(hash.digest());
    }

    private long putReferences(TarArchiveOutputStream tar, ImageManifest manifest) throws IOException {
        long bytes = manifest.entries().stream().mapToLong(EntryInfo::runs).sum() * BlockRuns.BYTES;
        tar.putArchiveEntry(ArchiveFormat.tarEntry(ArchiveFormat.REFERENCES, bytes));
        DataOutputStream out = new DataOutputStream(tar);
        for (int i = 0; i < manifest.entries().size(); i++) {
            if (manifest.entries().get(i).runs() > 0) {
                survey.references(i).write(out);
            }
        }
        tar.closeArchiveEntry();
        return bytes;
    }

    private void put(TarArchiveOutputStream tar, EntryInfo entry, int number) throws IOException {
        Sources.Source source = sources.all().get(number);
        tar.putArchiveEntry(ArchiveFormat.tarEntry(entry.name(), entry.stored()));
        if (entry.stored() > 0) {
            try (FileChannel channel = sources.open(source)) {
                if (entry.runs() == 0) {
                    copy(channel, 0, entry.bytes(), tar, sources.shown(source));
                } else {
                    copyOwn(channel, entry, survey.references(number), tar, sources.shown(source));
                }
                sources.check(source);
            }
        }
        tar.closeArchiveEntry();
    }

    private static void copyOwn(FileChannel channel, EntryInfo entry, BlockRuns runs, OutputStream out, Path shown)
            throws IOException {
        long at = 0;
        for (int run = 0; run < runs.size(); run++) {
            long length = Math.min((long) runs.length(run) * BlockHash.BLOCK, entry.bytes() - at);
            if (runs.source(run) == BlockRuns.OWN) {
                copy(channel, at, length, out, shown);
            }
            at += length;
        }
    }

    private static void copy(FileChannel channel, long from, long bytes, OutputStream out, Path shown)
            throws IOException {
        byte[] buffer = new byte[(int) Math.min(ArchiveFormat.CHUNK, Math.max(1, bytes))];
        for (long at = 0; at < bytes; at += buffer.length) {
            int length = (int) Math.min(buffer.length, bytes - at);
            Sources.read(channel, buffer, length, from + at, shown);
            out.write(buffer, 0, length);
        }
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
