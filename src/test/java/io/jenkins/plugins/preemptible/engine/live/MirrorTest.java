package io.jenkins.plugins.preemptible.engine.live;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A copy that is brought up to date pass by pass. */
class MirrorTest {

    private static final FileTime LONG_AGO = FileTime.from(Instant.parse("2020-01-02T03:04:05.678901234Z"));

    @TempDir
    private Path temp;

    private Path work;
    private Mirror mirror;

    @BeforeEach
    void folders() throws IOException {
        work = Files.createDirectories(temp.resolve("work"));
        Path place = Files.createDirectory(temp.resolve("place"));
        mirror = new Mirror(place, List.of(work, temp.resolve("missing")), work.resolve("left"), 5000, 0, () -> false);
    }

    private Path copy(String name) {
        return mirror.copies().get(work).resolve(name);
    }

    private Path file(String name, String text) throws IOException {
        return Files.writeString(work.resolve(name), text);
    }

    private void pass() throws IOException {
        mirror.pass(Set.of(), Long.MAX_VALUE);
    }

    @Test
    void whatChangedIsCopiedAgainAndWhatIsGoneIsRemoved() throws IOException {
        Files.createDirectories(work.resolve("a/b"));
        file("a/b/one", "1");
        file("two", "22");
        file("turns", "file");
        pass();
        assertEquals("1", Files.readString(copy("a/b/one")));
        file("a/b/one", "2");
        Files.delete(work.resolve("two"));
        Files.delete(work.resolve("turns"));
        Files.createDirectory(work.resolve("turns"));
        file("turns/new", "3");
        Files.createSymbolicLink(work.resolve("link"), Path.of("turns/new"));
        pass();
        assertEquals("2", Files.readString(copy("a/b/one")));
        assertEquals("3", Files.readString(copy("turns/new")));
        assertTrue(Files.isSymbolicLink(copy("link")));
        assertFalse(Files.exists(copy("two")));
        assertEquals(2, mirror.bytes());
    }

    @Test
    void aChangeWithoutANewTimeOrSizeIsSeenByItsInodeOrByItsYouth() throws IOException {
        Path changed = file("changed", "old");
        pass();
        FileTime same = Files.getLastModifiedTime(changed);
        Files.writeString(changed, "new");
        Files.setLastModifiedTime(changed, same);
        pass();
        assertEquals("new", Files.readString(copy("changed")));
    }

    @Test
    void modesTimesAndLinksAreThose() throws IOException {
        Path file = file("file", "x");
        Files.setAttribute(file, "unix:mode", 0750);
        Files.setLastModifiedTime(file, LONG_AGO);
        Files.createLink(work.resolve("other"), file);
        Files.createDirectory(work.resolve("folder"));
        Files.setLastModifiedTime(work.resolve("folder"), LONG_AGO);
        HostTool.run(10, List.of("mkfifo", work.resolve("pipe").toString()));
        pass();
        pass();
        mirror.finish();
        assertEquals(Files.getLastModifiedTime(file), Files.getLastModifiedTime(copy("file")));
        assertEquals(0100750, Files.getAttribute(copy("file"), "unix:mode"));
        assertEquals(Files.getAttribute(copy("file"), "unix:ino"), Files.getAttribute(copy("other"), "unix:ino"));
        assertEquals(Files.getLastModifiedTime(work.resolve("folder")), Files.getLastModifiedTime(copy("folder")));
        assertTrue(Files.exists(copy("pipe"), LinkOption.NOFOLLOW_LINKS));
    }

    @Test
    void whatIsLeftOutAndWhatIsTooMuch() throws IOException {
        Files.createDirectory(work.resolve("left"));
        file("left/secret", "x");
        file("large", "x".repeat(1000));
        pass();
        assertFalse(Files.exists(copy("left")));
        file("large", "y".repeat(1000));
        SuspendFailedException why = assertThrows(SuspendFailedException.class, () -> mirror.pass(Set.of(), 999));
        assertEquals(FailureReason.STOP_TOO_LONG, why.reason());
        file("larger", "x".repeat(4001));
        assertEquals(
                FailureReason.UNPACKABLE_FILES,
                assertThrows(SuspendFailedException.class, this::pass).reason());
    }

    @Test
    void aFileThatIsWrittenAsMemoryIsCopiedEachTime() throws IOException {
        Path file = file("map", "x");
        Files.setLastModifiedTime(file, LONG_AGO);
        long inode = (long) Files.getAttribute(file, "unix:ino");
        pass();
        assertEquals(1, mirror.pass(Set.of(inode), Long.MAX_VALUE));
    }
}
