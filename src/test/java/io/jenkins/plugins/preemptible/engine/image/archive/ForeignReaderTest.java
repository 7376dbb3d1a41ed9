package io.jenkins.plugins.preemptible.engine.image.archive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.WriteRequest;
import io.jenkins.plugins.preemptible.engine.image.block.BlockHash;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A reader in another language, written from docs/image-format.md alone. */
class ForeignReaderTest {

    @TempDir
    Path folder;

    private static String run(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String text = new String(process.getInputStream().readAllBytes());
        return process.waitFor() == 0 ? text : "failed: " + text;
    }

    private static boolean works(String... command) throws InterruptedException {
        try {
            return !run(command).startsWith("failed: ");
        } catch (IOException e) {
            return false;
        }
    }

    @Test
    void theDescriptionIsEnoughToReadAnImage() throws Exception {
        assumeTrue(works("python3", "-c", "import cryptography"), "there is no python3 with the module cryptography");
        assumeTrue(works("zstd", "--version"), "there is no zstd program");
        Path images = Files.createDirectory(folder.resolve("images"));
        byte[] pages = new byte[2_500_000];
        new Random(9).nextBytes(pages);
        Files.write(images.resolve("pages-1.img"), pages);
        Files.writeString(images.resolve("core-1.img"), "registers");
        Path ws = Files.createDirectory(folder.resolve("ws"));
        Files.writeString(ws.resolve("file"), "preserved");
        Path keyFile = folder.resolve("key");
        Path archive = folder.resolve("stage.image");
        ImageArchive.write(WriteRequest.of(
                        images,
                        archive,
                        ImageKey.ofFile(keyFile),
                        new ImageManifest(0, "s", null, null, null, null, null, 1, 0, List.of()))
                .preserving(List.of(ws)));
        Path script = folder.resolve("read_image.py");
        try (var in = getClass().getResourceAsStream("read_image.py")) {
            Files.write(script, in.readAllBytes());
        }
        String expected = "core-1.img 9 " + sha256("registers".getBytes()) + "\n"
                + "pages-1.img 2500000 " + sha256(pages) + "\n"
                + "preserved/1 9 " + sha256("preserved".getBytes()) + "\n";
        assertEquals(expected, run("python3", script.toString(), keyFile.toString(), archive.toString()));
    }

    private static String sha256(byte[] bytes) {
        return ArchiveFormat.hex(BlockHash.sha256().digest(bytes));
    }
}
