package io.jenkins.plugins.preemptible.lifecycle.image;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GrowingArchiveTest {

    private static final int PIECE = 1000;

    @TempDir
    Path folder;

    private Path file;
    private byte[] whole;

    @BeforeEach
    void archive() throws Exception {
        file = Files.createFile(folder.resolve("image"));
        byte[] body = new byte[2500];
        new Random(1).nextBytes(body);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(body);
        out.write(ArchiveFormat.tail(body.length + ArchiveFormat.TAIL_BYTES));
        whole = out.toByteArray();
    }

    private void grow(int from, int to) throws IOException {
        Files.write(file, Arrays.copyOfRange(whole, from, to), StandardOpenOption.APPEND);
    }

    @Test
    void piecesComeAsSoonAsTheyAreThereAndTheLastOneWithTheTail() throws Exception {
        try (GrowingArchive archive = new GrowingArchive(file)) {
            assertNull(archive.next(PIECE));
            grow(0, 999);
            assertNull(archive.next(PIECE));
            grow(999, 2400);
            assertArrayEquals(Arrays.copyOf(whole, 1000), archive.next(PIECE));
            grow(2400, whole.length - 1);
            assertArrayEquals(Arrays.copyOfRange(whole, 1000, 2000), archive.next(PIECE));
            assertNull(archive.next(PIECE), "the tail is not whole");
            grow(whole.length - 1, whole.length);
            assertArrayEquals(Arrays.copyOfRange(whole, 2000, whole.length), archive.next(PIECE));
            assertEquals(0, archive.next(PIECE).length);
        }
    }

    @Test
    void oneThatIsMadeAnewIsGivenUp() throws Exception {
        try (GrowingArchive archive = new GrowingArchive(file)) {
            assertNull(archive.next(PIECE));
            Path other = Files.write(folder.resolve("other"), whole);
            Files.move(other, file, StandardCopyOption.REPLACE_EXISTING);
            assertThrows(IOException.class, () -> archive.next(PIECE));
        }
    }

    @Test
    void oneThatIsRemovedIsGivenUp() throws Exception {
        try (GrowingArchive archive = new GrowingArchive(file)) {
            assertNull(archive.next(PIECE));
            Files.delete(file);
            assertThrows(IOException.class, () -> archive.next(PIECE));
        }
    }

    @Test
    void aLinkIsNotFollowed() throws Exception {
        Path link = Files.createSymbolicLink(folder.resolve("link"), file);
        try (GrowingArchive archive = new GrowingArchive(link)) {
            assertThrows(IOException.class, () -> archive.next(PIECE));
        }
    }

    @Test
    void itNeedNotBeThereYet() throws Exception {
        Files.delete(file);
        try (GrowingArchive archive = new GrowingArchive(file)) {
            assertNull(archive.next(PIECE));
            Files.write(file, whole);
            assertArrayEquals(Arrays.copyOf(whole, 1000), archive.next(PIECE));
        }
    }
}
