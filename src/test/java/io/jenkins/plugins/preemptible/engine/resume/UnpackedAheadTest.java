package io.jenkins.plugins.preemptible.engine.resume;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.home.Stages;
import io.jenkins.plugins.preemptible.engine.image.Arrival;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the test of a whole move, MovedStageTest, cannot do: a process that has loaded its classes anew, other keys. */
class UnpackedAheadTest {

    @TempDir
    private Path home;

    private Stages stages;
    private Path archive;
    private Path note;

    @BeforeEach
    void exchange() throws Exception {
        stages = new Stages(home, null, null, null, false);
        archive = Files.createDirectories(home.resolve("exchange/stage")).resolve("image.preempt");
        note = archive.resolveSibling("image.preempt.unpacked");
    }

    @Test
    void whatOtherClassesHaveUnpackedIsRemoved() throws Exception {
        Path left = stages.incoming().folder(1);
        Files.writeString(left.resolve("pages-1.img"), "memory");
        Files.writeString(note, left.toString());
        UnpackedAhead.drop(stages, archive);
        assertFalse(Files.exists(left));
        assertFalse(Files.exists(note));
    }

    @Test
    void aNoteThatNamesAnotherFolderRemovesNothing() throws Exception {
        Path other = Files.createDirectory(home.resolve("other"));
        Files.writeString(note, other.toString());
        UnpackedAhead.drop(stages, archive);
        assertTrue(Files.exists(other));
    }

    /** Each resume from the agent's own image drops, also where nothing could be brought. */
    @Test
    void aFileInThePlaceOfTheFolderDoesNotHinderTheResume() throws Exception {
        Path file = Files.createFile(home.resolve("file"));
        assertDoesNotThrow(() -> UnpackedAhead.drop(stages, file.resolve("stage/image.preempt")));
    }

    private Path unpacked(ImageKey key) throws Exception {
        Path images = Files.createDirectory(home.resolve("images"));
        Files.writeString(images.resolve("core-1.img"), "registers");
        ImageManifest manifest = new ImageManifest(0, "stage", null, null, null, null, null, 1, 0, List.of());
        ImageArchive.write(images, archive, key, manifest);
        UnpackedAhead.unpack(stages, archive, key, new Arrival(Duration.ofMinutes(1)), () -> false);
        return Path.of(Files.readString(note));
    }

    @Test
    void itServesTheKeyThatHasOpenedIt() throws Exception {
        ImageKey key = ImageKey.generate();
        Path folder = unpacked(key);
        UnpackedAhead taken =
                UnpackedAhead.take(archive, ImageKey.parse(key.export())).orElseThrow();
        assertEquals(folder, taken.folder());
        assertEquals("registers", Files.readString(folder.resolve("core-1.img")));
        assertTrue(UnpackedAhead.take(archive, key).isEmpty());
    }

    @Test
    void anotherKeyHasNothingOfIt() throws Exception {
        Path folder = unpacked(ImageKey.generate());
        assertTrue(UnpackedAhead.take(archive, ImageKey.generate()).isEmpty());
        assertFalse(Files.exists(folder));
    }

    @Test
    void anArchiveThatWasTouchedIsReadAnew() throws Exception {
        ImageKey key = ImageKey.generate();
        Path folder = unpacked(key);
        Files.write(archive, new byte[1], StandardOpenOption.APPEND);
        assertTrue(UnpackedAhead.take(archive, key).isEmpty());
        assertFalse(Files.exists(folder));
    }
}
