package io.jenkins.plugins.preemptible.acceptance.faults;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A file system in memory that can be filled. */
final class FullDisk implements AutoCloseable {

    private final Path folder;

    /** Mounts it. */
    FullDisk(Path folder, String size) throws IOException {
        this.folder = Files.createDirectories(folder);
        HostTool.Answer mounted = HostTool.run(
                10, List.of("mount", "-t", "tmpfs", "-o", "size=" + size + ",mode=755", "none", folder.toString()));
        assertTrue(mounted.ok(), mounted::text);
    }

    Path folder() {
        return folder;
    }

    void fill() throws IOException {
        byte[] piece = new byte[1 << 16];
        try (OutputStream out = Files.newOutputStream(filler())) {
            while (true) {
                out.write(piece);
            }
        } catch (IOException full) {
            // That is what was wanted; a few bytes that are left, by a file of single bytes.
            try (OutputStream out = Files.newOutputStream(filler().resolveSibling("filler-2"))) {
                while (true) {
                    out.write(piece, 0, 4096);
                }
            } catch (IOException x) {
                assertTrue(x.getMessage().contains("space"), x::getMessage);
            }
        }
    }

    void empty() throws IOException {
        Files.deleteIfExists(filler());
        Files.deleteIfExists(filler().resolveSibling("filler-2"));
    }

    private Path filler() {
        return folder.resolve("filler");
    }

    @Override
    public void close() throws IOException {
        HostTool.run(10, List.of("umount", "--lazy", folder.toString()));
        Files.deleteIfExists(folder);
    }
}
