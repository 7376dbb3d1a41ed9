package io.jenkins.plugins.preemptible.engine.resume;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.home.Stages;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the test of a whole move, MovedStageTest, cannot do: a process that has loaded its classes anew. */
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
}
