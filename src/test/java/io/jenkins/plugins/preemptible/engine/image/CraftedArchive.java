package io.jenkins.plugins.preemptible.engine.image;

import com.github.luben.zstd.ZstdOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.io.output.CloseShieldOutputStream;

/** An archive that is sealed with the right key and holds whatever a test puts into it. */
final class CraftedArchive implements AutoCloseable {

    private final Path file;
    private final OutputStream out;
    private final TarArchiveOutputStream tar;

    CraftedArchive(Path file, ImageKey key) throws Exception {
        this.file = file;
        this.out = Files.newOutputStream(file);
        out.write(ArchiveFormat.head());
        OutputStream sealed = key.cipher().newEncryptingStream(CloseShieldOutputStream.wrap(out), ArchiveFormat.head());
        this.tar = new TarArchiveOutputStream(new ZstdOutputStream(sealed), "UTF-8");
        tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
    }

    CraftedArchive manifest(int version, long imageBytes) throws IOException {
        return file(
                ArchiveFormat.MANIFEST,
                "{\"format_version\":" + version + ",\"stage_id\":\"s\",\"image_bytes\":" + imageBytes + "}");
    }

    CraftedArchive seal(int entries, long bytes) throws IOException {
        return file(ArchiveFormat.SEAL, "{\"entries\":" + entries + ",\"bytes\":" + bytes + "}");
    }

    CraftedArchive file(String name, String content) throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry(name, true);
        byte[] bytes = content.getBytes(StandardCharsets.UTF_8);
        entry.setSize(bytes.length);
        tar.putArchiveEntry(entry);
        tar.write(bytes);
        tar.closeArchiveEntry();
        return this;
    }

    CraftedArchive special(String name, byte type, String linkTarget) throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry(name, type, true);
        entry.setLinkName(linkTarget);
        tar.putArchiveEntry(entry);
        tar.closeArchiveEntry();
        return this;
    }

    @Override
    public void close() throws IOException {
        tar.close();
        out.write(ArchiveFormat.tail(Files.size(file) + ArchiveFormat.TAIL_BYTES));
        out.close();
    }
}
