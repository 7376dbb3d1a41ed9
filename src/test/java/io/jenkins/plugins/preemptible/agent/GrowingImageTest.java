package io.jenkins.plugins.preemptible.agent;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GrowingImageTest {

    private static final int PIECE = 1000;

    @TempDir
    Path exchange;

    private final byte[] content = new byte[2 * PIECE + 1];
    private Path image;
    private Path growing;

    @BeforeEach
    void names() {
        new Random(1).nextBytes(content);
        image = exchange.resolve(AgentStage.IMAGE_FILE);
        growing = ImageArchive.partialOf(image);
    }

    private byte[] read(long offset) throws IOException {
        return new GrowingImage(offset, PIECE).invoke(exchange.toFile(), null);
    }

    @Test
    void nothingIsReadBeforeTheImageIsBegun() throws Exception {
        assertEquals(0, read(0).length);
    }

    @Test
    void wholePiecesAreReadWhileItIsSealed() throws Exception {
        Files.write(growing, Arrays.copyOf(content, PIECE + 1));
        assertArrayEquals(Arrays.copyOf(content, PIECE), read(0));
        assertEquals(0, read(PIECE).length, "the rest of it is not there yet");
    }

    /** Its trial may take longer than its sealing. */
    @Test
    void theyAreReadWhenItIsSealedToo() throws Exception {
        Files.write(growing, content);
        Files.move(growing, image);
        assertArrayEquals(Arrays.copyOfRange(content, PIECE, 2 * PIECE), read(PIECE));
        assertEquals(0, read(2 * PIECE).length, "less than a piece");
    }

    @Test
    void aLinkIsNotFollowed() throws Exception {
        Files.createSymbolicLink(image, Files.write(exchange.resolve("other"), content));
        assertThrows(IOException.class, () -> read(0));
    }
}
