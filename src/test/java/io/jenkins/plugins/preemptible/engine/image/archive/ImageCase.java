package io.jenkins.plugins.preemptible.engine.image.archive;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A small image, its archive and a folder to unpack it into, for the tests of both ways. */
abstract class ImageCase {

    static final ImageKey KEY = ImageKey.generate();

    @TempDir
    Path folder;

    Path images;
    Path archive;
    Path target;

    @BeforeEach
    void someImage() throws IOException {
        images = Files.createDirectory(folder.resolve("images"));
        archive = folder.resolve("stage.image");
        target = folder.resolve("target");
        Random random = new Random(1);
        byte[] pages = new byte[3_000_000];
        random.nextBytes(pages);
        Files.write(images.resolve("pages-1.img"), pages);
        Files.writeString(images.resolve("core-1.img"), "registers");
        Files.createFile(images.resolve("empty.img"));
    }

    static ImageManifest manifest() {
        return new ImageManifest(
                0,
                "afl-1234",
                "AFL",
                "2026-11-21T12:00:00Z",
                "4.2.1",
                "6.18",
                "x86_64",
                2,
                0,
                List.of(
                        new ImageManifest.ProcessInfo(1, 0, "init", ""),
                        new ImageManifest.ProcessInfo(7, 1, "afl-fuzz", "afl-fuzz -i in -o out")));
    }

    ImageArchive.Written write() throws ImageException {
        return ImageArchive.write(images, archive, KEY, manifest());
    }

    static void assertOnlyFile(Path dir, Path... expected) throws IOException {
        try (Stream<Path> files = Files.list(dir)) {
            assertEquals(Stream.of(expected).sorted().toList(), files.sorted().toList());
        }
    }
}
