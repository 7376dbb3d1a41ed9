package io.jenkins.plugins.preemptible.engine.home;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StageNotesTest {

    private static final StageId FIRST = StageId.parse("first-1");
    private static final StageId SECOND = StageId.parse("second-2");

    private record Word(String word, int times) {}

    /** Jackson fails on it. */
    private record Unwritable(Object self) {
        public Object getAnother() {
            throw new IllegalStateException("cannot be written");
        }
    }

    @TempDir
    private Path home;

    private StageNotes<Word> notes;

    @BeforeEach
    void open() {
        notes = new StageNotes<>(home, "words", Word.class);
    }

    private Path folder() {
        return home.resolve("words");
    }

    private Set<String> files() throws IOException {
        try (Stream<Path> files = Files.list(folder())) {
            return files.map(file -> file.getFileName().toString()).collect(Collectors.toSet());
        }
    }

    @Test
    void eachStageHasItsOwnNote() throws Exception {
        assertEquals(List.of(), notes.ids());
        assertEquals(Optional.empty(), notes.read(FIRST));
        notes.write(FIRST, new Word("one", 1));
        notes.write(SECOND, new Word("two", 2));
        notes.write(FIRST, new Word("three", 3));
        assertEquals(Optional.of(new Word("three", 3)), notes.read(FIRST));
        assertEquals(Optional.of(new Word("two", 2)), new StageNotes<>(home, "words", Word.class).read(SECOND));
        assertEquals(Set.of(FIRST, SECOND), Set.copyOf(notes.ids()));
        assertEquals(Set.of("first-1.json", "second-2.json"), files());
        notes.delete(FIRST);
        notes.delete(FIRST);
        assertEquals(Optional.empty(), notes.read(FIRST));
        assertEquals(List.of(SECOND), notes.ids());
    }

    @Test
    void kindsDoNotMeet() throws Exception {
        notes.write(FIRST, new Word("one", 1));
        assertEquals(List.of(), new StageNotes<>(home, "others", Word.class).ids());
    }

    @Test
    void onlyTheOwnerMayRead() throws Exception {
        notes.write(FIRST, new Word("one", 1));
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(folder())));
        assertEquals(
                "rw-------",
                PosixFilePermissions.toString(Files.getPosixFilePermissions(folder().resolve("first-1.json"))));
    }

    /** As earlier versions have written it. */
    @Test
    void theFileIsPlainJson() throws Exception {
        notes.write(FIRST, new Word("one", 1));
        assertEquals("{\"word\":\"one\",\"times\":1}", Files.readString(folder().resolve("first-1.json")));
    }

    @Test
    void whatIsNoNoteIsNotTakenForNone() throws Exception {
        Files.createDirectory(folder());
        for (String text : List.of("", "{\"word\":", "null", "[]", "{\"other\":1}")) {
            Files.writeString(folder().resolve("first-1.json"), text);
            assertThrows(IOException.class, () -> notes.read(FIRST), text);
        }
    }

    @Test
    void whatCannotBeWrittenLeavesTheOldNoteAndNothingElse() throws Exception {
        notes.write(FIRST, new Word("one", 1));
        StageNotes<Unwritable> unwritable = new StageNotes<>(home, "words", Unwritable.class);
        assertThrows(IOException.class, () -> unwritable.write(FIRST, new Unwritable(null)));
        assertEquals(Optional.of(new Word("one", 1)), notes.read(FIRST));
        assertEquals(Set.of("first-1.json"), files());
    }

    /** A writer that was cut off leaves a file beside. */
    @Test
    void whatWasWrittenHalfIsNoNote() throws Exception {
        notes.write(FIRST, new Word("one", 1));
        Files.writeString(folder().resolve("second-2123.tmp"), "{\"wo");
        assertEquals(List.of(FIRST), notes.ids());
        assertEquals(Optional.empty(), notes.read(SECOND));
    }

    @Test
    void aFileThatIsNamedAfterNoStageIsRefused() throws Exception {
        Files.createDirectory(folder());
        Files.writeString(folder().resolve("No Stage.json"), "{}");
        assertThrows(IllegalArgumentException.class, notes::ids);
    }

    @Test
    void aReaderSeesAnOldNoteOrANewOne() throws Exception {
        String longWord = "x".repeat(200_000);
        notes.write(FIRST, new Word(longWord, 0));
        AtomicBoolean done = new AtomicBoolean();
        List<Throwable> failures = new ArrayList<>();
        Thread writer = new Thread(() -> {
            try {
                for (int i = 0; i < 200; i++) {
                    notes.write(FIRST, new Word(longWord, i));
                }
            } catch (IOException e) {
                failures.add(e);
            } finally {
                done.set(true);
            }
        });
        writer.start();
        int last = 0;
        while (!done.get()) {
            Word seen = notes.read(FIRST).orElseThrow();
            assertEquals(longWord, seen.word());
            assertEquals(Math.max(last, seen.times()), seen.times());
            last = seen.times();
        }
        writer.join();
        assertEquals(List.of(), failures);
    }
}
