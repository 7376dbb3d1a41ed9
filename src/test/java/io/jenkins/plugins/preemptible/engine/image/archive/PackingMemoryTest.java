package io.jenkins.plugins.preemptible.engine.image.archive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import io.jenkins.plugins.preemptible.engine.image.WriteRequest;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Packing and reading in a JVM whose heap is much smaller than the image. */
class PackingMemoryTest {

    private static final int MEGABYTES = 200;

    @TempDir
    Path folder;

    /** Runs in the JVM with little memory: writes a full image, a difference, and reads both. */
    static final class Main {
        public static void main(String[] arguments) throws Exception {
            Path folder = Path.of(arguments[0]);
            Path images = folder.resolve("images");
            ImageKey key = ImageKey.generate();
            ImageManifest manifest = new ImageManifest(0, "s", null, null, null, null, null, 1, 0, List.of());
            Path full = folder.resolve("full.image");
            Path second = folder.resolve("second.image");
            Path index = folder.resolve("index");
            ImageArchive.write(WriteRequest.of(images, full, key, manifest).indexed(index));
            Files.writeString(images.resolve("core-1.img"), "other registers");
            ImageArchive.Written written = ImageArchive.write(
                    WriteRequest.of(images, second, key, manifest).against(index, null));
            ImageArchive.read(ReadRequest.of(second, key), folder.resolve("target"));
            long mismatch = Files.mismatch(
                    images.resolve("pages-1.img"), folder.resolve("target").resolve("pages-1.img"));
            System.out.println(written.difference() + " " + mismatch);
        }
    }

    @Test
    void aHeapOfFortyMegabytesIsEnough() throws Exception {
        Path images = Files.createDirectory(folder.resolve("images"));
        Random random = new Random(4);
        byte[] megabyte = new byte[1 << 20];
        try (OutputStream pages = Files.newOutputStream(images.resolve("pages-1.img"))) {
            for (int i = 0; i < MEGABYTES; i++) {
                random.nextBytes(megabyte);
                java.util.Arrays.fill(megabyte, 1 << 18, 1 << 20, (byte) i);
                pages.write(megabyte);
            }
        }
        Files.writeString(images.resolve("core-1.img"), "registers");
        Process java = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-Xmx40m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Main.class.getName(),
                        folder.toString())
                .redirectErrorStream(true)
                .start();
        java.getOutputStream().close();
        String said = new String(java.getInputStream().readAllBytes());
        assertEquals(0, java.waitFor(), said);
        assertTrue(said.contains("true -1"), said);
    }
}
