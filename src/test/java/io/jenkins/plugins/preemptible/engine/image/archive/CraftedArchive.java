package io.jenkins.plugins.preemptible.engine.image.archive;

import com.github.luben.zstd.ZstdOutputStream;
import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.EntryInfo;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.PreservedFile;
import io.jenkins.plugins.preemptible.engine.image.block.BlockHash;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;

/** An archive that is sealed with the right key and holds whatever a test puts into it. */
public final class CraftedArchive implements AutoCloseable {

    static final String ID = "00112233445566778899aabbccddeeff";

    private final Path file;
    private final ImageKey key;
    private final ByteArrayOutputStream tarBytes = new ByteArrayOutputStream();
    private final TarArchiveOutputStream tar;
    private String manifestSha256 = "";

    CraftedArchive(Path file, ImageKey key) {
        this.file = file;
        this.key = key;
        this.tar = new TarArchiveOutputStream(tarBytes, 10240, "UTF-8");
        tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
        tar.setBigNumberMode(TarArchiveOutputStream.BIGNUMBER_STAR);
    }

    static EntryInfo info(String name, String content) {
        byte[] bytes = content.getBytes(StandardCharsets.UTF_8);
        return new EntryInfo(name, bytes.length, digest(bytes), 0, bytes.length);
    }

    public static String digest(byte[] bytes) {
        BlockHash hash = new BlockHash();
        hash.add(BlockHash.leaves(bytes, bytes.length));
        return ArchiveFormat.hex(hash.digest());
    }

    static ImageManifest saying(ImageManifest.Parent parent, EntryInfo... entries) {
        return saying(parent, List.of(), List.of(), entries);
    }

    static ImageManifest saying(
            ImageManifest.Parent parent, List<String> roots, List<PreservedFile> preserved, EntryInfo... entries) {
        return new ImageManifest(0, "s", null, null, null, null, null, 1, 0, List.of())
                .sealed(ID, parent, List.of(entries), roots, preserved);
    }

    CraftedArchive manifest(EntryInfo... entries) throws IOException {
        return manifest(saying(null, entries));
    }

    CraftedArchive manifest(ImageManifest manifest) throws IOException {
        return manifest(ArchiveFormat.json().writeValueAsBytes(manifest));
    }

    CraftedArchive manifest(byte[] json) throws IOException {
        manifestSha256 = ArchiveFormat.hex(BlockHash.sha256().digest(json));
        return raw(ArchiveFormat.MANIFEST, json);
    }

    CraftedArchive seal(int entries, long bytes) throws IOException {
        return raw(
                ArchiveFormat.SEAL,
                ArchiveFormat.json().writeValueAsBytes(new ArchiveFormat.Seal(ID, entries, bytes, manifestSha256)));
    }

    CraftedArchive file(String name, String content) throws IOException {
        return raw(name, content.getBytes(StandardCharsets.UTF_8));
    }

    CraftedArchive raw(String name, byte[] content) throws IOException {
        return entry(plain(name, content.length), content);
    }

    static TarArchiveEntry plain(String name, long bytes) {
        return ArchiveFormat.tarEntry(name, bytes);
    }

    CraftedArchive entry(TarArchiveEntry entry, byte[] content) throws IOException {
        tar.putArchiveEntry(entry);
        tar.write(content);
        tar.closeArchiveEntry();
        return this;
    }

    CraftedArchive special(String name, byte type, String linkTarget) throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry(name, type, true);
        entry.setLinkName(linkTarget);
        return entry(entry, new byte[0]);
    }

    /** The sealed bytes of a stream that need not be tar, nor even zstd. */
    static byte[] seal(ImageKey key, byte[] compressed) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(ArchiveFormat.head());
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        try (OutputStream sealed = key.cipher().newEncryptingStream(body, ArchiveFormat.head())) {
            sealed.write(compressed);
        }
        body.writeTo(out);
        out.write(ArchiveFormat.tail(out.size() + ArchiveFormat.TAIL_BYTES));
        return out.toByteArray();
    }

    static byte[] zstd(byte[] plain) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (ZstdOutputStream zstd = new ZstdOutputStream(out)) {
            zstd.write(plain);
        }
        return out.toByteArray();
    }

    /** The tar so far, as a list of its blocks of 512 bytes. */
    List<byte[]> blocks() throws IOException {
        tar.finish();
        byte[] bytes = tarBytes.toByteArray();
        List<byte[]> blocks = new ArrayList<>();
        for (int at = 0; at < bytes.length; at += 512) {
            blocks.add(Arrays.copyOfRange(bytes, at, at + 512));
        }
        return blocks;
    }

    @Override
    public void close() throws Exception {
        tar.close();
        Files.write(file, seal(key, zstd(tarBytes.toByteArray())));
    }
}
