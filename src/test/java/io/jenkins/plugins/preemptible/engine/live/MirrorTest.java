package io.jenkins.plugins.preemptible.engine.live;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.image.preserved.OpenFolder;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
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
        mirror.pass(Set.of(), Long.MAX_VALUE, () -> false);
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
        SuspendFailedException why =
                assertThrows(SuspendFailedException.class, () -> mirror.pass(Set.of(), 999, () -> false));
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
        assertEquals(1, mirror.pass(Set.of(inode), Long.MAX_VALUE, () -> false));
    }

    @Test
    void nothingIsDeletedThroughALinkThatTookAFoldersPlace() throws IOException {
        Path outside = Files.createDirectories(temp.resolve("outside"));
        Files.createDirectories(work.resolve("out/sub"));
        file("out/sub/kept", "precious");
        file("out/changed", "1");
        pass();
        Files.move(work.resolve("out"), outside.resolve("out"));
        Files.createSymbolicLink(work.resolve("out"), outside.resolve("out"));
        pass();
        assertTrue(Files.isSymbolicLink(copy("out")));
        Files.delete(work.resolve("out"));
        Files.createDirectory(work.resolve("out"));
        file("out/changed", "2");
        pass();
        mirror.finish();
        assertEquals("2", Files.readString(copy("out/changed")));
        assertFalse(Files.exists(copy("out/sub")));
        assertEquals("precious", Files.readString(outside.resolve("out/sub/kept")));
        assertEquals("1", Files.readString(outside.resolve("out/changed")));
    }

    @Test
    void aFolderThatIsGoneAsAWholeIsRemoved() throws IOException {
        file("one", "1");
        pass();
        Files.move(work, temp.resolve("elsewhere"));
        Files.createSymbolicLink(work, temp.resolve("elsewhere"));
        pass();
        assertTrue(Files.isSymbolicLink(mirror.copies().get(work)));
        Files.delete(work);
        pass();
        assertFalse(Files.exists(mirror.copies().get(work), LinkOption.NOFOLLOW_LINKS));
        assertEquals("1", Files.readString(temp.resolve("elsewhere/one")));
    }

    @Test
    void aNameThatCannotBeSaidRefuses() throws Exception {
        HostTool.run(10, List.of("bash", "-c", "echo x > $'" + work + "/f\\xff'"));
        SuspendFailedException why = assertThrows(SuspendFailedException.class, this::pass);
        assertEquals(FailureReason.UNPACKABLE_FILES, why.reason());
        assertTrue(why.getMessage().contains("character set"), why.getMessage());
    }

    @Test
    void attributesAreThoseOfFilesAndOfFolders() throws IOException {
        Path folder = Files.createDirectory(work.resolve("folder"));
        Path file = file("folder/file", "x");
        for (Path each : List.of(folder, file)) {
            Files.setAttribute(each, "user:name", ByteBuffer.wrap(new byte[] {7}));
        }
        pass();
        mirror.finish();
        for (Path each : List.of(copy("folder"), copy("folder/file"))) {
            assertEquals(Set.of("name"), Files.readAttributes(each, "user:*").keySet());
        }
    }

    @Test
    void holesStayHoles() throws Exception {
        int size = 64 << 20;
        Mirror large = new Mirror(
                Files.createDirectory(temp.resolve("large")),
                List.of(work),
                work.resolve("left"),
                1L << 30,
                0,
                () -> false);
        try (FileChannel channel =
                FileChannel.open(work.resolve("sparse"), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(new byte[] {1}), 0);
            channel.write(ByteBuffer.wrap(new byte[] {2}), size / 2);
            channel.write(ByteBuffer.wrap(new byte[] {3}), size - 100_000);
        }
        HostTool.run(
                10,
                List.of(
                        "truncate",
                        "-s",
                        Integer.toString(size),
                        work.resolve("sparse").toString()));
        large.pass(Set.of(), 1 << 20, () -> false);
        Path copy = large.copies().get(work).resolve("sparse");
        assertEquals(-1, Files.mismatch(work.resolve("sparse"), copy));
        long blocks = Long.parseLong(
                HostTool.run(10, List.of("stat", "-c", "%b", copy.toString())).firstLine());
        assertTrue(blocks < 2048, blocks + " blocks");
    }

    @Test
    void timesBefore1970AreKept() throws Exception {
        file("old", "x");
        Files.createDirectory(work.resolve("older"));
        for (String each : List.of("old", "older")) {
            HostTool.run(
                    10,
                    List.of(
                            "touch",
                            "-d",
                            "1969-12-31 23:59:58.5 UTC",
                            work.resolve(each).toString()));
        }
        pass();
        mirror.finish();
        for (String each : List.of("old", "older")) {
            assertEquals(
                    Instant.parse("1969-12-31T23:59:58.5Z"),
                    Files.getLastModifiedTime(copy(each)).toInstant());
        }
    }

    @Test
    void itIsGivenUpWhenItIsTooLate() throws IOException {
        file("one", "1");
        file("two", "2");
        int[] asked = {0};
        pass();
        assertTrue(mirror.isWhole());
        SuspendFailedException why = assertThrows(
                SuspendFailedException.class, () -> mirror.pass(Set.of(), Long.MAX_VALUE, () -> ++asked[0] > 2));
        assertEquals(FailureReason.STOP_TOO_LONG, why.reason());
        assertFalse(mirror.isWhole(), "no checkpoint is made of it");
    }

    @Test
    void aFileThatGrowsIsCopiedAsFarAsItWas() throws IOException {
        Path grows = file("grows", "x".repeat(1000));
        Path copy = Files.createDirectory(temp.resolve("copies"));
        try (OpenFolder from = OpenFolder.of(work.toRealPath());
                OpenFolder to = OpenFolder.of(copy.toRealPath());
                PinnedFile file = PinnedFile.of(from, "grows");
                PinnedFile made = PinnedFile.make(to, "grows")) {
            Files.writeString(grows, "y".repeat(5000));
            file.copyTo(made, file.parts(1000), 1000, bytes -> {});
        }
        assertEquals("y".repeat(1000), Files.readString(copy.resolve("grows")));
    }

    @Test
    void theFloorIsLookedAtWhileItIsWritten() throws IOException {
        mirror = new Mirror(
                Files.createDirectory(temp.resolve("floor")),
                List.of(work),
                work.resolve("left"),
                1L << 30,
                Long.MAX_VALUE,
                () -> false);
        file("one", "1");
        SuspendFailedException why = assertThrows(SuspendFailedException.class, this::pass);
        assertEquals(FailureReason.NO_SPACE, why.reason());
        assertTrue(why.getMessage().contains("this agent's disk"), why.getMessage());
    }
}
