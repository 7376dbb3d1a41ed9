package io.jenkins.plugins.preemptible.engine.image;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ImageKeyTest {

    @TempDir
    Path folder;

    @Test
    void whatIsExportedIsReadAgain() {
        String text = ImageKey.generate().export();
        assertEquals(text, ImageKey.parse(text).export());
    }

    @Test
    void everyKeyIsAnother() {
        assertNotEquals(ImageKey.generate().export(), ImageKey.generate().export());
    }

    @Test
    void itIsKnownAgainByItsDigest() {
        ImageKey key = ImageKey.generate();
        assertArrayEquals(key.digest(), ImageKey.parse(key.export()).digest());
        assertFalse(Arrays.equals(key.digest(), ImageKey.generate().digest()));
    }

    @Test
    void itsTextIsNotShown() {
        ImageKey key = ImageKey.generate();
        assertEquals("image key", key.toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "secret-word", "{}", "[]", "{\"key\":[]}", "{\"primaryKeyId\":1,\"key\":[{}]}"})
    void whatIsNoKeyIsRefusedWithoutShowingIt(String text) {
        String message = assertThrows(IllegalArgumentException.class, () -> ImageKey.parse(text))
                .getMessage();
        assertTrue(message.contains("no image key"), message);
        assertFalse(message.contains("secret-word"), message);
    }

    @Test
    void aKeyFileIsMadeOnFirstUseForItsOwnerOnlyAndReadLater() throws Exception {
        Path file = folder.resolve("new").resolve("image.key");
        String first = ImageKey.ofFile(file).export();
        assertEquals(first, ImageKey.ofFile(file).export());
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
        try (var content = Files.list(file.getParent())) {
            assertEquals(List.of(file), content.toList());
        }
    }

    @Test
    void manyWhoMakeTheSameFileAtOnceUseOneKey() throws Exception {
        Path file = folder.resolve("image.key");
        Set<String> keys = ConcurrentHashMap.newKeySet();
        ExecutorService pool = Executors.newFixedThreadPool(8);
        try {
            List<Callable<Boolean>> makers = IntStream.range(0, 16)
                    .<Callable<Boolean>>mapToObj(
                            i -> () -> keys.add(ImageKey.ofFile(file).export()))
                    .toList();
            for (Future<Boolean> made : pool.invokeAll(makers)) {
                made.get();
            }
        } finally {
            pool.shutdownNow();
        }
        assertEquals(1, keys.size());
    }

    @Test
    void aFileThatHoldsSomethingElseIsRefusedAndLeftAsItIs() throws Exception {
        Path file = Files.writeString(folder.resolve("notes.txt"), "my notes");
        ImageException e = assertThrows(ImageException.class, () -> ImageKey.ofFile(file));
        assertEquals(ImageException.Reason.BAD_KEY, e.reason());
        assertTrue(e.getMessage().contains("notes.txt"), e.getMessage());
        assertEquals("my notes", Files.readString(file));
    }

    @Test
    void aFolderInPlaceOfTheFileIsRefused() {
        ImageException e = assertThrows(ImageException.class, () -> ImageKey.ofFile(folder));
        assertTrue(e.getMessage().contains(folder.toString()), e.getMessage());
    }
}
