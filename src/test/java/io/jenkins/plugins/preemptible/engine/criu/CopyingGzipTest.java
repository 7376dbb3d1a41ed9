package io.jenkins.plugins.preemptible.engine.criu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CopyingGzipTest {

    @TempDir
    Path folder;

    private final Map<String, String> environment = new HashMap<>();
    private Path data;

    @BeforeEach
    void use() throws IOException {
        assumeTrue(HostTool.find("gzip").isPresent() && HostTool.find("tar").isPresent(), "gzip and tar are needed");
        environment.put("PATH", System.getenv("PATH"));
        CopyingGzip.use(environment, folder.resolve("a 'quoted' folder"));
        data = Files.writeString(Files.createDirectory(folder.resolve("data")).resolve("file"), "x".repeat(100_000));
    }

    private void tar(String... words) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(words).redirectErrorStream(true);
        builder.environment().putAll(environment);
        Process process = builder.start();
        String said = new String(process.getInputStream().readAllBytes());
        assertEquals(0, process.waitFor(), said);
    }

    @Test
    void nothingIsCompressedAndAllComesBack() throws Exception {
        Path made = folder.resolve("made.tar.gz");
        tar(
                "tar",
                "--create",
                "--gzip",
                "--file",
                made.toString(),
                "--directory",
                data.getParent().toString(),
                ".");
        assertTrue(Files.size(made) > 100_000, "copied");
        Files.delete(data);
        tar(
                "tar",
                "--extract",
                "--gzip",
                "--file",
                made.toString(),
                "--directory",
                data.getParent().toString());
        assertEquals(100_000, Files.size(data));
    }

    @Test
    void whatARealGzipMadeIsReadToo() throws Exception {
        Path plain = folder.resolve("plain.tar");
        tar(
                "tar",
                "--create",
                "--file",
                plain.toString(),
                "--directory",
                data.getParent().toString(),
                ".");
        byte[] before = Files.readAllBytes(data);
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
            Files.copy(plain, out);
        }
        Path made = Files.write(folder.resolve("made.tar.gz"), packed.toByteArray());
        Files.delete(data);
        tar(
                "tar",
                "--extract",
                "--gzip",
                "--file",
                made.toString(),
                "--directory",
                data.getParent().toString());
        assertArrayEquals(before, Files.readAllBytes(data));
    }

    @Test
    void anEmptyEnvironmentKeepsTheSystemsFolders() throws Exception {
        Map<String, String> empty = new HashMap<>();
        CopyingGzip.use(empty, folder);
        assertEquals(
                List.of(folder.toString(), "/usr/sbin", "/usr/bin", "/sbin", "/bin"),
                List.of(empty.get("PATH").split(":")));
    }
}
